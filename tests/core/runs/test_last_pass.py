"""Of a step that was done again the last time counts."""

from __future__ import annotations

import numpy as np

from pytscope.runs.last_pass import counting, last_pass
from pytscope.testing import make_run


def test_a_column_has_the_values_of_the_last_pass_and_keeps_its_type():
    run = make_run(
        {"forward": 1}, attempts=[(0, 5), (3, 3)], scalars={"n": [0, 1, 2, 3, 4, 30, 40, 50]}
    )
    steps, values = counting(run.shown, "n")
    assert steps.tolist() == [0, 1, 2, 3, 4, 5]
    assert values.tolist() == [0, 1, 2, 30, 40, 50]
    assert values.dtype.kind == "i"
    assert run.series("n")[1].tolist() == values.tolist()
    assert run.series("forward")[0].tolist() == steps.tolist()


def test_rows_out_of_order_are_put_in_order_and_a_step_counts_once():
    run = make_run({"forward": 1}, steps=5)
    rows = np.array([3, 1, 1, 4])
    steps, values = last_pass(run.shown, rows, np.array([30.0, 10.0, 11.0, 40.0]))
    assert steps.tolist() == [1, 3, 4]
    assert values.tolist() == [11.0, 30.0, 40.0]

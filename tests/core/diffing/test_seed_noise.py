"""Repeats of real training runs: how often chance is called a regression.

218 final losses of six configurations, each run many times with nothing changed:
every difference between two arms of one configuration is noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import attrs
import numpy as np
import pytest

from pytscope.diffing.noise import NoiseStore
from pytscope.diffing.outcomes import outcomes
from pytscope.model.comparison import Verdict
from pytscope.runs.run import Run
from tests.core.diffing.corpus import rows_of, told_run

TABLE = "nanogpt__seed_groups.csv"


@pytest.fixture(scope="module")
def groups() -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for row in rows_of(TABLE):
        run = told_run(float(row["final_val_loss"]), row["run"], recipe=row["config"])
        found.setdefault(row["config"], []).append(run)
    assert sum(map(len, found.values())) == 218
    return found


def drawn(groups: dict[str, list[Run]], size: int, times: int, seed: int) -> Iterator[list[Run]]:
    """Runs of one configuration, drawn without putting any back."""
    rng = np.random.default_rng(seed)
    for runs in groups.values():
        if len(runs) >= size:
            for _ in range(times):
                yield [runs[i] for i in rng.choice(len(runs), size, replace=False)]


def verdicts(groups, size, times, *, shift=0.0):
    found: Counter[Verdict] = Counter()
    for runs in drawn(groups, 2 * size, times, size):
        moved = [
            told_run(float(r.series("val_loss")[1][0]) + shift, r.name) if shift else r
            for r in runs[size:]
        ]
        (measured,) = outcomes([*runs[:size], *moved], [0] * size + [1] * size)
        found[measured.verdict] += 1
    return found


@pytest.mark.parametrize("size", [3, 5, 10])
def test_chance_is_rarely_called_a_difference(groups, size):
    found = verdicts(groups, size, 180)
    wrong = found[Verdict.REGRESSION] + found[Verdict.IMPROVEMENT]
    assert found.total() >= 1000
    assert wrong <= 0.06 * found.total()  # 5 %, and three standard errors of that many draws
    assert found[Verdict.REGRESSION] <= 0.05 * found.total()


@pytest.mark.parametrize("size", [1, 2])
def test_single_runs_and_pairs_are_never_called_one(groups, size):
    found = verdicts(groups, size, 180)
    assert found == {Verdict.UNDECIDED: found.total()}
    assert found.total() == 1080


@pytest.mark.parametrize("size", [3, 5, 10])
def test_what_is_called_smallest_is_found_about_four_times_in_five(groups, size):
    largest = {"": max(groups.values(), key=len)}
    arms = [0] * size + [1] * size
    told = [outcomes(runs, arms)[0].smallest for runs in drawn(largest, 2 * size, 100, 7)]
    shift = float(np.mean(np.array(told, np.float64)))
    found = verdicts(largest, size, 150, shift=shift)
    assert 0.65 <= found[Verdict.REGRESSION] / found.total() <= 0.92, (shift, found)
    assert not found[Verdict.IMPROVEMENT]


def test_single_runs_are_within_what_a_store_says_of_repeats_as_often_as_it_says(groups):
    held: Counter[bool] = Counter()
    for runs in drawn(groups, 12, 100, 1):
        store = NoiseStore()
        for run in runs[:10]:
            store = store.add(run)
        (measured,) = outcomes([runs[10], runs[11]], [0, 1], store)
        assert measured.verdict is Verdict.UNDECIDED
        held[measured.low <= 0 <= measured.high] += 1
    assert 0.93 <= held[True] / held.total() <= 0.99
    far = attrs.evolve(told_run(4.0, "far"), config=runs[0].config)
    (measured,) = outcomes([runs[10], far], [0, 1], store)
    assert measured.verdict is Verdict.UNDECIDED
    assert measured.low > 0

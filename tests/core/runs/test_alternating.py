"""Steps of different stamps may have the same columns; each keeps its own values all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import pytscope


@pytest.mark.parametrize("first", [0, 1])
def test_alternating_steps_with_the_same_columns_keep_their_values(
    tmp_path: Path, first: int
) -> None:
    now = 0
    profiler = pytscope.Profiler(tmp_path / "run", clock=lambda: now, inline=True).start()
    for step in range(9):
        profiler.begin_step()
        if step % 2 == first:
            profiler.log(loss=float(step))
        now += 100 + step
        profiler.mark("forward")
        if step % 2 != first:
            profiler.log(loss=float(step))
        profiler.end_step()
    profiler.finish()
    timeline = pytscope.open(tmp_path / "run").rank(0)
    assert timeline.phase_ns("forward").tolist() == [100 + step for step in range(9)]
    assert [record.scalars["loss"] for record in timeline.records()] == list(range(9))
    assert [record.segments for record in timeline.records()] == [
        (("forward", 100 + step),) for step in range(9)
    ]

"""Files of the real recorder, read back: every nanosecond of its clock is accounted for."""

import random
import time

import pytest

from pytscope.recording.profiler import Profiler
from pytscope.runs.sources.run_directory import open_run_directory
from tests.core.runs.reading import attempt_wall_ns

TICK = 1000


class Clock:
    """A clock that advances by what it is told, and by one tick at each look."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += TICK
        return self.now


def train(profiler: Profiler, clock: Clock, steps: range, seed: int = 0) -> None:
    chance = random.Random(seed)
    profiler.start(step=steps.start)
    clock.now += 12_345
    for i in steps:
        profiler.begin_step()
        for phase in ("data", "forward", "backward")[: chance.randint(1, 3)]:
            clock.now += chance.randint(1, 10**6)
            profiler.mark(phase)
        if i % 5 == 4:
            with profiler.phase("eval"):
                clock.now += 3_000_000
        if i % 3 == 0:
            profiler.log(loss=1 / (i + 1), tokens=10 * i, accuracy=0.5)
        profiler.end_step()
    profiler.log(final=1.0)


@pytest.mark.parametrize("inline", [True, False])
def test_a_whole_run(tmp_path, inline, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(time, "time_ns", lambda: 10**18 + clock.now)  # on a slow machine, too
    profiler = Profiler(tmp_path / "r", clock=clock, inline=inline, flush_every=7, config={"a": 1})
    begun = clock.now
    train(profiler, clock, range(100))
    profiler.finish()
    run = open_run_directory(tmp_path / "r")
    timeline = run.timelines[0]
    first = timeline.attempts[0]
    assert (first.finished, first.lost_ns, first.lost_steps, run.notes) == (True, 0, 0, ())
    assert begun < attempt_wall_ns(timeline, first) <= clock.now - begun
    assert timeline.step.tolist() == list(range(100))
    records = list(timeline.records())
    ends = [r.start_ns + r.wall_ns for r in records]
    assert [r.start_ns for r in records[1:]] == ends[:-1]
    assert all(r.wall_ns == sum(ns for _, ns in r.segments) for r in records)
    rows, values = timeline.column("scalar", "tokens")
    assert (timeline.step[rows].tolist(), values.tolist()) == (
        list(range(0, 100, 3)),
        [10 * i for i in range(0, 100, 3)],
    )
    assert (timeline.phase_ns("eval") >= 3_000_000).sum() == 20
    assert timeline.column("scalar", "final")[0].tolist() == [99]
    assert run.config == {"a": 1}


def test_a_resume_and_a_fresh_run(tmp_path):
    for steps in (range(20), range(15, 30), range(10)):
        clock = Clock()
        profiler = Profiler(tmp_path / "r", clock=clock, inline=True)
        train(profiler, clock, steps)
        profiler.finish()
        run = open_run_directory(tmp_path / "r")
        if steps.start == 15:
            assert run.timelines[0].step.tolist() == [*range(20), *range(15, 30)]
    assert run.other_attempts == (0, 1)
    assert run.timelines[0].step.tolist() == list(range(10))


def test_a_run_that_goes_on_is_live_and_then_unfinished(tmp_path):
    clock = Clock()
    profiler = Profiler(tmp_path / "r", clock=clock, inline=True, flush_every=5)
    train(profiler, clock, range(20))
    live = open_run_directory(tmp_path / "r")
    assert live.live
    assert not live.timelines[0].attempts[0].finished
    seen = live.timelines[0].step.tolist()
    assert 0 < len(seen) <= 20
    profiler.finish()
    run = open_run_directory(tmp_path / "r")
    assert (run.live, len(run.timelines[0])) == (False, 20)
    for row, step in enumerate(seen):
        assert step == run.timelines[0].step[row]
        assert live.timelines[0].segments(row) == run.timelines[0].segments(row)

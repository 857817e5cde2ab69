"""From a Profiler's calls to the budget's lines: every nanosecond is somewhere, once."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pytscope
from pytscope.recording.profiler import Profiler

NAMES = ["data", "forward", "backward", "eval", "checkpoint", "mine"]
CALL = st.one_of(
    st.tuples(st.just("turn"), st.integers(1, 10**10)),
    st.tuples(st.just("step"), st.sampled_from([1, 2, 3])),
    st.tuples(st.just("fail"), st.just(0)),
    st.tuples(st.just("mark"), st.sampled_from(NAMES)),
    st.tuples(st.just("phase"), st.sampled_from(NAMES)),
    st.tuples(st.just("fetch"), st.integers(0, 2)),
    st.tuples(st.just("log"), st.one_of(st.floats(), st.integers(-9, 9))),
    st.tuples(st.just("thread"), st.sampled_from(NAMES)),
    st.tuples(st.just("begin"), st.just(0)),
    st.tuples(st.just("end"), st.booleans()),
)


class Clock:
    def __init__(self) -> None:
        self.now = 10**9

    def __call__(self) -> int:
        self.now += 7  # a stamp never comes at the time of the one before
        return self.now


def perform(prof: Profiler, clock: Clock, calls: list[tuple[str, Any]]) -> None:
    """Do drawn calls as a training script would."""
    for i, (call, value) in enumerate(calls):
        if call == "turn":
            clock.now += value
        elif call == "step":
            for k in range(value):
                with prof.step(update=k == value - 1):
                    perform(prof, clock, [("turn", 5), ("mark", "forward"), ("turn", 3)])
        elif call == "fail":
            with pytest.raises(KeyError), prof.step():
                clock.now += 11
                raise KeyError
        elif call == "mark":
            prof.mark(value)
        elif call == "phase":
            with prof.phase(value):
                perform(prof, clock, calls[i + 1 : i + 3])
        elif call == "fetch":
            for _ in prof.iter_data(range(value)):
                clock.now += 2
        elif call == "log":
            prof.log(loss=value, extra=value)
        elif call == "thread":
            thread = threading.Thread(target=in_thread, args=(prof, value))
            thread.start()
            thread.join()
        elif call == "begin":
            prof.begin_step()
        elif call == "end":
            prof.end_step(value)


def in_thread(prof: Profiler, name: str) -> None:
    with prof.phase(name):
        prof.mark("forward")


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.lists(CALL, max_size=25)), min_size=1, max_size=3))
def test_lines_sum_to_the_wall(attempts: list[tuple[int, list[tuple[str, Any]]]]) -> None:
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        walls = []
        for first, calls in attempts:
            prof = Profiler(folder, clock=clock, inline=True, flush_every=2)
            began = clock.now + 7
            prof.start(step=first)
            perform(prof, clock, calls)
            prof.finish()
            finish = clock_at_finish(Path(folder))
            walls.append(finish)
            assert finish <= clock.now - began
        for number, wall in enumerate(walls):
            run = pytscope.open(folder, attempt=number)
            (timeline,) = run.timelines
            (attempt,) = timeline.attempts
            assert timeline.measured_ns == wall
            assert attempt.lost_ns == 0
            assert attempt.lost_steps == 0
            for row in range(len(timeline)):
                parts = timeline.segments(row)
                assert sum(ns for _, ns in parts) == timeline.wall_ns[row]
                assert all(ns > 0 for _, ns in parts)
            starts = (timeline.start_ns + timeline.wall_ns).tolist()
            assert timeline.start_ns.tolist()[1:] == starts[:-1]
        report = pytscope.analyze(folder)
        budget = report.analyses["budget"]
        run = pytscope.open(folder)
        assert sum(line.ns for line in budget.lines) == budget.wall_ns
        assert budget.wall_ns == run.shown.measured_ns
        assert not report.problems


def clock_at_finish(folder: Path) -> int:
    """Wall of the last attempt as its end record gives it."""
    import json

    last = [ln for ln in (folder / "rank00000.pts").read_bytes().split(b"\n") if b'"b":"end"' in ln]
    wall: int = json.loads(last[-1])["wall_ns"]
    return wall

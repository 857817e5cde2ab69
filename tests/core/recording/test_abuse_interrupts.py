"""Ctrl-C at any moment: nothing hangs, and what follows is recorded as it is."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

from pytscope.recording.drain import Drain
from pytscope.recording.keys import (
    BEGIN,
    CLOSE,
    CLOSED,
    DROPPED,
    END,
    FAIL,
    FETCH,
    FINISH,
    LOG,
    START,
    Open,
)
from pytscope.recording.prefix import given_up, moved, paired
from pytscope.recording.profiler import Profiler
from pytscope.recording.tile import tile

from .decode import attempt
from .truth import child, only

STORM = """
import random, signal, sys, time
from pytscope import Profiler
folder, way, seed = sys.argv[1:]
random.seed(int(seed))
prof = Profiler(folder, flush_every=20, inline=way == "inline").start()

def loop():
    if way == "steps":
        for _ in prof.steps(range(400)):
            with prof.phase("eval"): prof.mark("inner")
            prof.mark("forward"); prof.log(loss=1.5)
    else:
        for _ in prof.iter_data(range(400)):
            with prof.step():
                with prof.phase("eval"): prof.mark("inner")
                prof.mark("forward"); prof.log(loss=1.5, other=2.5)

signal.signal(signal.SIGALRM, signal.default_int_handler)
until = time.monotonic() + 1.2
while time.monotonic() < until:
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(2e-5, 1e-3))
        loop()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        pass
signal.signal(signal.SIGALRM, signal.SIG_IGN)
for _ in prof.iter_data(range(200)):
    with prof.step():
        prof.mark("clean"); prof.log(loss=9.0)
prof.finish()
"""


@pytest.mark.parametrize("way", ["step", "steps", "inline"])
def test_a_storm_of_interrupts_leaves_no_trace_in_later_steps(tmp_path: Path, way: str) -> None:
    child(STORM, tmp_path, way, 7)
    timeline = only(tmp_path)
    assert timeline.attempts[0].finished
    steps = timeline.step.tolist()
    assert steps == sorted(set(steps))
    late = range(len(timeline) - 199, len(timeline))  # the first may hold the end of the storm
    assert {name for row in late for name, _ in timeline.segments(row)} <= {
        "data",
        "clean",
        "other",
    }
    rows, loss = timeline.column("scalar", "loss")
    assert loss[rows >= len(timeline) - 200].tolist() == [9.0] * 200


EVAL = Open("eval")


@pytest.mark.parametrize(
    ("events", "pairs", "rest"),
    [
        ([BEGIN, 1, "a", 2], [BEGIN, 1, "a", 2], []),
        ([BEGIN, 1, "a"], [BEGIN, 1], ["a"]),
        ([BEGIN, BEGIN, 1], [BEGIN, 1], []),
        (["a", END, 1], [END, 1], []),
        ([LOG, BEGIN, 3, END, 4], [BEGIN, 3, END, 4], []),
        ([END, 1, LOG, BEGIN, 3], [END, 1, BEGIN, 3], []),
        ([EVAL, 1, CLOSE, FAIL, 3], [EVAL, 1, CLOSE, 3, FAIL, 3], []),
        ([END, LOG, (1.0,), "a", 2], [LOG, (1.0,), END, 2, "a", 2], []),
        ([BEGIN, 1, END], [BEGIN, 1], [END]),
        ([BEGIN, 1, END, "a"], [BEGIN, 1], [END, "a"]),
    ],
)
def test_a_key_without_its_value(events: list[Any], pairs: list[Any], rest: list[Any]) -> None:
    assert paired(events) == (pairs, rest)


def segments(*events: tuple[object, int]) -> list[tuple[tuple[str, int], ...]]:
    return [region.segments for region in tile([(START, 0), *events])][1:]


def test_an_exception_that_leaves_a_step_leaves_the_blocks_in_it() -> None:
    around = segments(
        (EVAL, 1), (BEGIN, 2), (Open("deep"), 3), (FAIL, 4), (BEGIN, 5), (END, 6), (FINISH, 9)
    )
    assert around == [(("failed", 2), ("eval", 2)), (("eval", 3),)]


def test_an_iterator_closed_in_mid_step_leaves_the_blocks_in_it() -> None:
    after = segments((BEGIN, 2), (EVAL, 3), (CLOSED, 4), (BEGIN, 6), (END, 8), (FINISH, 9))
    assert after == [(("other", 1), ("eval", 1)), (("other", 4),), (("other", 1),)]


@pytest.mark.parametrize("key", [BEGIN, END])
def test_no_step_begins_or_ends_in_a_fetch(key: Any) -> None:
    after = segments((FETCH, 1), (key, 3), ("forward", 5), (END, 6), (FINISH, 9))
    assert after[-2] == ((("data", 2),) if key is BEGIN else ()) + (("forward", 2), ("other", 1))


def test_a_block_of_the_user_goes_on_over_a_step_end() -> None:
    goes_on = segments((BEGIN, 1), (Open("data"), 2), (END, 3), (BEGIN, 4), (FINISH, 9))
    assert goes_on[1] == (("data", 6),)


def test_events_given_up_keep_the_open_blocks() -> None:
    first = [CLOSE, 1, EVAL, 2, BEGIN, 3, END, 4, Open("deep"), 5]
    assert given_up(first) == (1, 5, 1, ("eval", "deep"))
    again = [DROPPED, given_up(first), CLOSE, 6, CLOSE, 7, CLOSE, 8, CLOSED, 9]
    assert given_up(again) == (2, 9, 2, ())
    assert moved(("x", "y", "z"), 2, ("eval",)) == ("x", "eval")


def test_steps_that_cannot_be_packed_are_given_up_and_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    packing = Drain._write  # stands for any fault of the recorder's own
    calls = []

    def faulty(drain: Drain, batch: list[Any]) -> None:
        calls.append(batch)
        if len(calls) == 2:
            raise ArithmeticError
        packing(drain, batch)

    monkeypatch.setattr(Drain, "_write", faulty)
    with Profiler(tmp_path, inline=True, flush_every=1) as prof, prof.phase("epoch"):
        for _ in range(40):
            with prof.step():
                prof.mark("forward")
                prof.log(loss=1.0)
    timeline = only(tmp_path)
    last = timeline.attempts[0]
    assert last.dropped_steps == last.lost_steps > 0
    assert len(timeline) + last.lost_steps == 40
    assert timeline.step[-1] == 39
    assert set(timeline.phases) == {"forward", "epoch"}


def interrupted(*_: object) -> Any:
    raise KeyboardInterrupt


def test_an_interrupted_end_is_made_up_for_at_the_next(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    prof = Profiler(tmp_path).start()
    for again in (prof.finish, prof.start):
        with prof.step():
            prof.mark("forward")
        with monkeypatch.context() as patch:
            patch.setattr("pytscope.recording.writer.Writer.stop", interrupted)
            with pytest.raises(KeyboardInterrupt):
                prof.finish()
        assert not prof.recording
        again()
        if not prof.recording:
            prof.start()
    prof.finish()
    assert [file.name for file in tmp_path.iterdir()] == ["rank00000.pts"]
    assert (tmp_path / "rank00000.pts").read_bytes().count(b'{"b":"end"') == 3


def test_an_interrupted_end_is_made_up_for_at_exit(tmp_path: Path) -> None:
    code = """
import sys
from pytscope import Profiler
from pytscope.recording.writer import Writer
prof = Profiler(sys.argv[1]).start()
for _ in range(50):
    with prof.step(): prof.mark("forward")
stop, Writer.stop = Writer.stop, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
try: prof.finish()
except KeyboardInterrupt: Writer.stop = stop
"""
    assert child(code, tmp_path).stderr == ""
    assert len(only(tmp_path)) == 50


def test_an_interrupted_start_keeps_neither_the_file_nor_a_thread(tmp_path: Path) -> None:
    class Collector:
        name = "mine"
        start = sample = stop = staticmethod(interrupted)

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            Profiler(tmp_path, collectors=[Collector()]).start()
    with Profiler(tmp_path) as prof, prof.step():
        prof.mark("forward")
    assert [file.name for file in tmp_path.iterdir()] == ["rank00000.pts"]
    assert len(only(tmp_path)) == 1


def test_a_generator_collected_late_ends_no_step(tmp_path: Path) -> None:
    with Profiler(tmp_path) as prof:
        left = prof.steps(range(3))
        next(left)
        next(left)
        for _ in range(2):
            with prof.step():
                prof.mark("forward")
        with prof.step():
            prof.mark("forward")
            del left
            gc.collect()
            prof.mark("backward")
    steps = attempt((tmp_path / "rank00000.pts").read_bytes())["steps"]
    assert len(steps) == 4  # what was left open goes on in the next step
    assert {name for name, _ in steps[-1]["segments"]} >= {"forward", "backward"}

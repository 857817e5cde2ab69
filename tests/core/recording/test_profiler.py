"""The Profiler's interface, on a clock that the test turns."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytscope.recording import provenance
from pytscope.recording.profiler import Profiler
from pytscope.recording.writer import Writer

from .decode import attempt, records

MS = 1_000_000


class Clock:
    """A clock that stands still until it is turned."""

    def __init__(self) -> None:
        self.now = 5_000_000_000

    def __call__(self) -> int:
        return self.now

    def turn(self, ms: float) -> None:
        self.now += int(ms * MS)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def profiler(folder: Path, clock: Clock, **kwargs: Any) -> Profiler:
    return Profiler(folder, clock=clock, inline=True, **kwargs)


def read(folder: Path, rank: int = 0) -> dict[str, Any]:
    return attempt((folder / f"rank{rank:05d}.pts").read_bytes())


def phases(row: dict[str, Any]) -> dict[str, float]:
    out: dict[str, float] = {}
    for name, ns in row["segments"]:
        if ns:
            out[name] = out.get(name, 0) + ns / MS
    return out


def loader(clock: Clock, n: int, ms: float = 3) -> Iterator[int]:
    for i in range(n):
        clock.turn(ms)
        yield i
    clock.turn(1)


def test_the_loop_of_the_readme(tmp_path: Path, clock: Clock) -> None:
    prof = profiler(tmp_path, clock, warmup=1)
    prof.start()
    clock.turn(10)
    for _ in prof.iter_data(loader(clock, 3)):
        with prof.step():
            clock.turn(5)
            prof.mark("forward")
            clock.turn(7)
            prof.mark("backward")
            clock.turn(2)
            prof.log(loss=0.5, tokens=128)
    with prof.phase("eval"):
        clock.turn(20)
    prof.log(val_loss=0.25)
    clock.turn(4)
    prof.finish()
    run = read(tmp_path)
    assert run["startup"] == [("other", 10 * MS)]
    assert [phases(r) for r in run["steps"]] == [
        {"data": 3, "forward": 5, "backward": 7, "other": 2},
    ] * 3
    assert run["steps"][0]["scalars"] == {"loss": 0.5, "tokens": 128}
    assert run["steps"][2]["scalars"] == {"loss": 0.5, "tokens": 128, "val_loss": 0.25}
    assert run["end"]["shutdown"] == [["data", 1 * MS], ["eval", 20 * MS], ["other", 4 * MS]]
    assert run["end"]["wall_ns"] == (10 + 3 * 17 + 25) * MS
    assert run["run"]["warmup"] == 1
    assert run["run"]["name"] == tmp_path.name


def test_blocks_split_phases_and_nest(tmp_path: Path, clock: Clock) -> None:
    with profiler(tmp_path, clock) as prof:
        with prof.step():
            clock.turn(1)
            with prof.comm():
                clock.turn(2)
                with prof.phase("mine"):
                    clock.turn(4)
            clock.turn(8)
            prof.mark("backward")
        clock.turn(1)
    segments = [s for s in read(tmp_path)["steps"][0]["segments"] if s[1]]
    want = [("backward", 1), ("comm", 2), ("mine", 4), ("backward", 8)]
    assert segments == [(name, ms * MS) for name, ms in want]


def test_micro_batches_make_one_step(tmp_path: Path, clock: Clock) -> None:
    with profiler(tmp_path, clock) as prof:
        for i, _ in enumerate(prof.iter_data(loader(clock, 8))):
            with prof.step(update=i % 4 == 3):
                clock.turn(5)
                prof.mark("forward")
    run = read(tmp_path)
    assert [phases(r) for r in run["steps"]] == [{"data": 12, "forward": 20}] * 2
    assert [r["meta"]["micro"] for r in run["steps"]] == [4, 4]


def test_a_failed_try_is_failed_time_of_the_step_that_completes(
    tmp_path: Path, clock: Clock
) -> None:
    with profiler(tmp_path, clock) as prof:
        with pytest.raises(ZeroDivisionError), prof.step():
            clock.turn(5)
            prof.mark("forward")
            1 / 0  # noqa: B018
        with prof.step():
            clock.turn(6)
            prof.mark("forward")
    run = read(tmp_path)
    assert [phases(r) for r in run["steps"]] == [{"failed": 5, "forward": 6}]
    assert run["steps"][0]["meta"]["flags"] == 4
    raised = [e for e in run["events"] if e["kind"] == "exception"]
    assert [e["type"] for e in raised] == ["ZeroDivisionError"]
    assert run["end"]["reason"] == "finish"


def test_steps_iterator_and_break(tmp_path: Path, clock: Clock) -> None:
    with profiler(tmp_path, clock) as prof:
        for i in prof.steps(loader(clock, 9)):
            clock.turn(5)
            prof.mark("compute")
            if i == 2:
                break
        clock.turn(2)
    run = read(tmp_path)
    assert [phases(r) for r in run["steps"]] == [{"data": 3, "compute": 5}] * 3
    assert run["end"]["shutdown"] == [["other", 2 * MS]]


def test_an_exception_in_steps_completes_no_step(tmp_path: Path, clock: Clock) -> None:
    def train() -> None:
        with profiler(tmp_path, clock) as prof:
            for i in prof.steps(loader(clock, 9)):
                clock.turn(5)
                if i == 2:
                    msg = "boom"
                    raise RuntimeError(msg)

    with pytest.raises(RuntimeError, match="boom"):
        train()
    run = read(tmp_path)
    assert len(run["steps"]) == 2
    assert run["end"]["reason"] == "exception"
    assert ["failed", 5 * MS] in run["end"]["shutdown"]
    assert [e["message"] for e in run["events"] if e["kind"] == "exception"] == ["boom"]


def test_late_logs_go_to_the_last_completed_step(tmp_path: Path, clock: Clock) -> None:
    with profiler(tmp_path, clock) as prof:
        prof.log(seed=7)
        for i in range(3):
            prof.begin_step()
            clock.turn(1)
            prof.end_step()
            with prof.phase("eval"):
                clock.turn(1)
            prof.log(val=float(i))
    run = read(tmp_path)
    assert [r["scalars"] for r in run["steps"]] == [{"val": 0.0}, {"val": 1.0}, {"val": 2.0}]
    to_run = [e for e in run["events"] if e["kind"] == "log"]
    assert [(e["step"], e["values"]) for e in to_run] == [(None, {"seed": 7})]


def test_integers_stay_integers_and_nan_stays_nan(tmp_path: Path, clock: Clock) -> None:
    big = 2**53 + 1
    with profiler(tmp_path, clock) as prof:
        for loss in (float("nan"), 1.5):
            with prof.step():
                clock.turn(1)
                prof.log(loss=loss, tokens=big)
        with prof.step():
            prof.log(tokens=None)
    rows = read(tmp_path)["steps"]
    assert rows[0]["scalars"]["loss"] != rows[0]["scalars"]["loss"]
    assert rows[1]["scalars"] == {"loss": 1.5, "tokens": big}
    assert rows[2]["scalars"] == {}


@pytest.mark.parametrize("bad", [[1.0, 2.0], "text", object(), {"a": 1}, 1j, 2**70])
def test_what_is_no_number_is_left_out_and_said(
    tmp_path: Path, clock: Clock, bad: object, caplog: pytest.LogCaptureFixture
) -> None:
    from pytscope.recording import harmless

    harmless._said.clear()
    with caplog.at_level(logging.WARNING, "pytscope"), profiler(tmp_path, clock) as prof:
        for _ in range(2):
            with prof.step():
                clock.turn(1)
                prof.log(loss=bad, lr=0.1, other=bad)
    assert [r["scalars"] for r in read(tmp_path)["steps"]] == [{"lr": 0.1}] * 2
    assert len(caplog.records) == 1


def test_marks_of_other_threads_are_spans(tmp_path: Path, clock: Clock) -> None:
    with profiler(tmp_path, clock) as prof, prof.step():
        clock.turn(1)

        def other() -> None:
            with prof.phase("checkpoint"):
                clock.turn(3)
            prof.mark("forward")
            prof.log(loss=1.0)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        prof.mark("compute")
    data = (tmp_path / "rank00000.pts").read_bytes()
    run = attempt(data)
    assert phases(run["steps"][0]) == {"compute": 4}
    spans = [row for h, _ in records(data) if h["b"] == "spans" for row in h["rows"]]
    assert [(s[1], s[3] - s[2]) for s in spans] == [("checkpoint", 3 * MS), ("forward", 0)]


def test_a_second_start_is_a_second_attempt(tmp_path: Path, clock: Clock) -> None:
    prof = profiler(tmp_path, clock)
    for first in (0, 2):
        prof.start(step=first)
        for _ in range(2):
            with prof.step():
                clock.turn(1)
        prof.finish()
    heads = [h for h, _ in records((tmp_path / "rank00000.pts").read_bytes()) if h["b"] == "run"]
    assert [(h["attempt"], h["step"]) for h in heads] == [(0, 0), (1, 2)]


def test_idle_before_start_and_after_finish(tmp_path: Path, clock: Clock) -> None:
    prof = profiler(tmp_path / "run", clock)
    for _ in prof.iter_data([1]):
        with prof.step(), prof.phase("x"):
            prof.mark("forward")
            prof.log(loss=1)
    assert list(prof.steps([1, 2])) == [1, 2]
    assert not prof.recording
    assert not (tmp_path / "run").exists()
    with prof:
        assert prof.recording
    prof.mark("late")
    prof.finish()
    assert read(tmp_path / "run")["steps"] == []


def test_other_ranks_record_only_when_asked(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")
    data = [1, 2]
    with profiler(tmp_path, clock) as prof:
        assert prof.iter_data(data) is data
    assert list(tmp_path.iterdir()) == []
    with profiler(tmp_path, clock, distributed=True) as prof:
        assert prof.recording
    assert read(tmp_path, rank=3)["run"]["world"] == 4


def test_the_loader_keeps_its_length_and_attributes(tmp_path: Path, clock: Clock) -> None:
    class Loader(list[int]):
        batch_size = 8

    with profiler(tmp_path, clock) as prof:
        timed: Any = prof.iter_data(Loader([1, 2, 3]))
        assert len(timed) == 3
        assert timed.batch_size == 8
        assert list(timed) == [1, 2, 3]
        assert list(timed) == [1, 2, 3]
        assert next(prof.iter_data(iter([9]))) == 9  # type: ignore[call-overload]


def test_a_second_process_with_the_rank_gets_a_file_of_its_own(
    tmp_path: Path, clock: Clock
) -> None:
    code = (
        "import sys; from pytscope.recording.profiler import Profiler\n"
        "with Profiler(sys.argv[1]) as p:\n"
        "    with p.step(): p.mark('compute')\n"
    )
    with profiler(tmp_path, clock):
        subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["rank00000.1.pts", "rank00000.pts"]
    second = attempt((tmp_path / "rank00000.1.pts").read_bytes())
    assert [e["message"] for e in second["events"] if e["kind"] == "warning"] == [
        "another live process records this rank"
    ]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_stops_recording(tmp_path: Path) -> None:
    code = """
import os, sys
from pytscope.recording.profiler import Profiler
prof = Profiler(sys.argv[1]).start()
with prof.step(): prof.mark("a")
pid = os.fork()
if not pid:
    assert not prof.recording
    with prof.step(): prof.mark("child")
    prof.finish()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
with prof.step(): prof.mark("b")
prof.finish()
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    run = read(tmp_path)
    assert [name for r in run["steps"] for name, ns in r["segments"] if name != "other"] == [
        "a",
        "b",
    ]
    assert run["end"]["steps"] == 2


def test_names_beyond_the_limit_are_other_and_said(tmp_path: Path, clock: Clock) -> None:
    with profiler(tmp_path, clock) as prof:
        for i in range(300):
            with prof.step():
                clock.turn(1)
                prof.mark(f"phase{i}")
    run = read(tmp_path)
    names = {name for r in run["steps"] for name, ns in r["segments"]}
    assert len(names) <= 257
    assert all(sum(ns for _, ns in r["segments"]) == MS for r in run["steps"])
    assert [e["limit"] for e in run["events"] if e["kind"] == "limit"] == [256]


def test_a_very_long_step_stays_exact(tmp_path: Path, clock: Clock) -> None:
    with profiler(tmp_path, clock) as prof:
        with prof.step():
            for _ in range(40_000):
                clock.turn(0.001)
                with prof.phase("x"):
                    clock.turn(0.002)
            prof.mark("forward")
        clock.turn(1)
    step = read(tmp_path)["steps"][0]
    assert {k: round(v, 6) for k, v in phases(step).items()} == {"forward": 40, "x": 80}


def test_an_interrupt_between_two_appends_costs_one_stamp(tmp_path: Path, clock: Clock) -> None:
    with profiler(tmp_path, clock) as prof:
        with prof.step():
            clock.turn(1)
            prof.mark("a")
        prof._events.append("torn")  # what an interrupt inside mark() leaves
        for _ in range(2):
            with prof.step():
                clock.turn(1)
                prof.mark("b")
    run = read(tmp_path)
    assert [phases(r) for r in run["steps"]] == [{"a": 1}, {"b": 1}, {"b": 1}]


def test_it_measures_itself(tmp_path: Path, clock: Clock) -> None:
    with profiler(tmp_path, clock) as prof:
        for _ in range(10):
            with prof.step():
                prof.mark("forward")
    assert read(tmp_path)["end"]["overhead_ns"] > 30  # thirty stamps, each over a nanosecond


class Slow:
    """A collector that takes its time, and knows how much."""

    name = "slow"
    slept_ns = 0

    def start(self, _info: Any) -> dict[str, str]:
        return {"slow.value": "s"}

    def sample(self) -> tuple[float]:
        self.slept_ns += sleep(0.003)
        return (1.0,)

    def stop(self) -> None:
        """Nothing to undo."""


def sleep(seconds: float) -> int:
    began = time.perf_counter_ns()
    time.sleep(seconds)
    return time.perf_counter_ns() - began


def test_what_samples_take_is_recordings(tmp_path: Path, clock: Clock) -> None:
    slow = Slow()
    with profiler(tmp_path, clock, collectors=[slow]) as prof:
        for _ in range(3):
            with prof.step():
                prof.mark("forward")
    end = read(tmp_path)["end"]
    assert end["overhead_ns"] - end["overhead_once_ns"] >= slow.slept_ns > 0


def test_what_the_start_and_the_end_take_is_recordings_once(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[int] = []

    def slowed(function: Any) -> Any:
        def slow(*args: Any) -> Any:
            slept.append(sleep(0.1))  # longer than all the rest
            return function(*args)

        return slow

    monkeypatch.setattr(provenance, "quick", slowed(provenance.quick))
    monkeypatch.setattr(Profiler, "_stop_stamps", slowed(Profiler._stop_stamps))
    with profiler(tmp_path, clock) as prof, prof.step():
        prof.mark("forward")
    end = read(tmp_path)["end"]
    assert end["overhead_once_ns"] >= sum(slept)
    assert len(slept) == 2


def test_what_writing_takes_the_training_thread_is_recordings(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[int] = []
    flush = Writer.flush

    def slow(writer: Writer, *, closing: bool = False) -> None:
        if not closing:
            slept.append(sleep(0.003))
        flush(writer, closing=closing)

    monkeypatch.setattr(Writer, "flush", slow)
    with profiler(tmp_path, clock, flush_every=2) as prof:
        for _ in range(100):
            with prof.step():
                prof.mark("forward")
    end = read(tmp_path)["end"]
    assert end["overhead_ns"] - end["overhead_once_ns"] >= sum(slept) > 0


def test_finish_without_start_is_said(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    from pytscope.recording import harmless

    harmless._said.clear()
    with caplog.at_level(logging.WARNING, "pytscope"):
        profiler(tmp_path, clock).finish()
        with profiler(tmp_path, clock) as prof:
            pass
        prof.finish()
    assert [r.getMessage() for r in caplog.records] == [
        "pytscope: finish() without start(): nothing was recorded"
    ]

"""A disk that does not answer: training goes on, memory is bounded, every loss is said."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytscope.recording import writer
from pytscope.recording.files import RunFile
from pytscope.recording.profiler import Profiler

from .truth import only, said

LIMIT = 4_000
STALLED = threading.Event()
"""Set once the writer waits for the disk."""


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Set: the disk answers. Cleared: every write waits."""
    event = threading.Event()
    event.set()
    STALLED.clear()
    write = RunFile.write

    def stalled(file: RunFile, data: bytes) -> None:
        if not event.is_set():
            STALLED.set()
        event.wait()
        write(file, data)

    monkeypatch.setattr(RunFile, "write", stalled)
    monkeypatch.setattr(writer, "HARD_LIMIT", LIMIT)
    monkeypatch.setattr(writer, "MAX_NOTES", 100)
    monkeypatch.setattr(writer, "JOIN_S", 0.2)
    yield event
    event.set()


def steps(prof: Profiler, count: int) -> None:
    for _ in prof.iter_data(range(count)):
        with prof.step():
            prof.mark("forward")


def stall(prof: Profiler, answers: threading.Event) -> None:
    """Stall the disk, with the writer waiting on it."""
    answers.clear()
    steps(prof, 10)
    prof._writer.wake()  # else it wakes within a second
    assert STALLED.wait(30)


@pytest.mark.parametrize("how", ["step", "in a block", "break"])
def test_steps_are_dropped_and_counted(tmp_path: Path, answers: threading.Event, how: str) -> None:
    prof = Profiler(tmp_path).start()
    steps(prof, 10)
    stall(prof, answers)
    done = 20
    block = prof.phase("eval")
    if how == "in a block":
        block.__enter__()
    for _ in range(1_000):
        if how == "break":
            for _ in prof.steps(range(3)):
                prof.mark("forward")
                break
        else:
            steps(prof, 1)
        done += 1
        assert len(prof._events) <= LIMIT + 100  # the bound
    if how == "in a block":
        block.__exit__()
    answers.set()
    steps(prof, 50)
    prof.finish()
    timeline = only(tmp_path)
    (last,) = timeline.attempts
    assert last.dropped_steps == last.lost_steps > 0
    assert len(timeline) + last.dropped_steps == done + 50
    assert timeline.step[-1] == done + 49
    assert {name for name, _ in timeline.segments(len(timeline) - 1)} <= {
        "data",
        "forward",
        "other",
    }


def test_an_open_step_is_bounded_too(tmp_path: Path, answers: threading.Event) -> None:
    prof = Profiler(tmp_path).start()
    steps(prof, 10)
    stall(prof, answers)
    for _ in range(3_000):
        with prof.step(update=False):
            prof.mark("forward")
        assert len(prof._events) <= LIMIT + 100  # the bound
    prof.end_step()
    answers.set()
    prof.finish()
    timeline = only(tmp_path)
    assert timeline.attempts[0].lost_ns > 0
    assert timeline.step[-1] == 20


def test_spans_of_other_threads_are_bounded_and_counted(
    tmp_path: Path, answers: threading.Event
) -> None:
    prof = Profiler(tmp_path).start()
    stall(prof, answers)

    def work() -> None:
        for _ in range(500):
            with prof.phase("load"):
                pass

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    answers.set()
    prof.finish()
    (last,) = only(tmp_path).attempts
    (limit,) = [e for e in last.events if e["kind"] == "limit"]
    assert limit["lost"] >= 400


def test_a_disk_that_answers_after_the_end(tmp_path: Path, answers: threading.Event) -> None:
    prof = Profiler(tmp_path).start()
    steps(prof, 10)
    stall(prof, answers)
    steps(prof, 200)
    prof.finish()
    answers.set()
    prof._writer._thread.join()  # type: ignore[union-attr]  # it was started
    timeline = only(tmp_path)
    assert timeline.attempts[0].finished
    assert timeline.step.tolist() == list(range(220))
    assert any("did not answer" in message for message in said(timeline))
    with Profiler(tmp_path) as prof:  # the file is free again
        steps(prof, 1)
    assert [file.name for file in tmp_path.iterdir()] == ["rank00000.pts"]

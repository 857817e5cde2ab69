"""What a call changes of the process is as before afterwards."""

from __future__ import annotations

import cProfile
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytscope.plugins.isolation import Failure, Guard
from pytscope.plugins.surroundings import SETTINGS, Aside, kept
from tests.core.plugins.made import ACME


def _state() -> list[Any]:
    return [setting.read() for setting in SETTINGS] + [
        np.geterr(),
        sys.stdout,
        sys.stderr,
        sys.gettrace(),
        sys.getprofile(),
    ]


def _lower_limit() -> None:
    sys.setrecursionlimit(sys.getrecursionlimit() - 100)


def _set_environment() -> None:
    os.environ["NO_COLOR"] = "1"
    os.environ["PYTSCOPE_RAISE_PLUGIN_ERRORS"] = "1"
    os.environ.pop("TERM", None)


def _alarm() -> None:
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.alarm(3600)


def _swallow_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _hook() -> None:
    sys.excepthook = lambda *_: None
    threading.excepthook = lambda *_: None


def _streams() -> None:
    sys.stdout = sys.stderr = io.StringIO()  # type: ignore[assignment]  # as careless as can be


CHANGES: dict[str, tuple[Callable[[], Any], str]] = {
    "folder": (lambda: os.chdir("/"), "the working directory"),
    "recursion limit": (_lower_limit, "the recursion limit"),
    "environment": (_set_environment, "environment variables that pytscope reads"),
    "alarm": (_alarm, "signal handlers or an alarm"),
    "interrupts": (_swallow_interrupts, "signal handlers or an alarm"),
    "hooks": (_hook, ""),
    "tracing": (lambda: sys.setprofile(lambda *_: None), ""),
    "trace": (lambda: sys.settrace(lambda *_: None), ""),
    "numpy": (lambda: np.seterr(all="raise"), ""),
    "streams": (_streams, ""),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("fails", [False, True])
def test_it_is_put_back_and_told(
    name: str, fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "xterm")
    change, said = CHANGES[name]
    before, guard = _state(), Guard()

    def call() -> int:
        change()
        return 1 // (not fails)

    result = guard(ACME, "load", call)
    assert _state() == before
    assert (type(result) is Failure) is fails
    assert fails or result == 1
    noted = [(p.plugin, p.stage, p.message) for p in guard.noted]
    assert noted == [("acme", "load", f"it changed {said}; that was put back")] * bool(said)


def test_what_does_not_change_is_not_told() -> None:
    guard = Guard()
    guard(ACME, "load", lambda: os.environ.update(ACME_CACHE="/tmp"))
    assert guard.noted == []
    assert os.environ.pop("ACME_CACHE") == "/tmp"


def test_a_folder_that_is_gone_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    guard = Guard()
    assert guard(ACME, "load", lambda: 3) == 3
    assert guard.noted == []


def test_a_handler_is_not_asked_whether_it_equals_another() -> None:
    class Hostile:
        def __call__(self, *_: Any) -> None: ...

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("eq")

        __hash__ = None  # type: ignore[assignment]  # as Python has it beside __eq__

    before = signal.getsignal(signal.SIGTERM)
    changed: list[str] = []
    with kept(changed):
        signal.signal(signal.SIGTERM, Hostile())
    assert changed == ["signal handlers or an alarm"]
    assert signal.getsignal(signal.SIGTERM) is before


def test_another_thread_has_no_say_over_signals() -> None:
    changed: list[str] = []

    def call() -> None:
        with kept(changed):
            changed.append("was here")

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert changed == ["was here"]


class TestAside:
    def test_closing_it_closes_nothing(self) -> None:
        stream = io.StringIO()
        with Aside(stream) as aside:
            aside.write("a")
        aside.close()
        assert aside.write("b") == 1
        assert stream.getvalue() == "ab"

    def test_nobody_who_reads_is_no_error(self) -> None:
        gone = io.StringIO()
        gone.close()
        for stream in (gone, None):
            aside = Aside(stream)
            print("lost", file=aside, flush=True)
            assert not aside.isatty()
            assert aside.encoding

    def test_it_can_be_written_to_as_standard_output_can(
        self, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        def call() -> None:
            sys.stdout.buffer.write(b"bytes ")
            sys.stdout.flush()
            wrapped = io.TextIOWrapper(sys.stdout.detach(), "utf-8")  # type: ignore[attr-defined]  # an old habit
            wrapped.write("wrapped ")
            wrapped.flush()
            wrapped.detach()
            print("text")  # noqa: T201

        assert Guard(reraise=True)(ACME, "load", call) is None
        out, err = capfdbinary.readouterr()
        assert out == b""
        assert err == b"bytes wrapped text\n"


def test_a_filter_of_warnings_does_not_stay() -> None:
    with warnings.catch_warnings():
        before = list(warnings.filters)
        Guard()(ACME, "load", lambda: warnings.simplefilter("error"))
        assert warnings.filters == before


def test_a_profiler_written_in_c_is_left_alone() -> None:
    """Setting it would have Python call an object that is no function."""
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        assert Guard()(ACME, "load", lambda: 1) == 1
    finally:
        profiler.disable()


@pytest.mark.parametrize("install", [sys.settrace, sys.setprofile])
def test_a_trace_function_that_raises_fails_its_plugin_at_most(install: Any) -> None:
    before = (sys.gettrace(), sys.getprofile())

    def raises(*_: Any) -> None:
        raise RuntimeError("traced")

    result = Guard()(ACME, "load", lambda: install(raises))
    assert (sys.gettrace(), sys.getprofile()) == before
    assert result is None or "RuntimeError: traced" in result.problem.message

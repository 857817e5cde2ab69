"""Collections are told of without running Python, so that no signal is lost in them."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from _thread import interrupt_main
from collections import deque
from collections.abc import Iterator
from itertools import starmap
from operator import call
from pathlib import Path
from typing import Any

import pytest

from tests.torch.auto.made import AutoProfiler, Case, check_count, torch


@pytest.fixture
def alone() -> Iterator[None]:
    """No callbacks of others, as test tools have them; the list is the interpreter's own."""
    others = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks[:] = others


def littered(rounds: int) -> None:
    for _ in range(rounds):
        cycle: list[Any] = []
        cycle.append(cycle)


@pytest.mark.usefixtures("alone")
def test_a_collection_runs_no_python(tmp_path: Path) -> None:
    called: list[str] = []

    def count(frame: Any, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_globals["__name__"].startswith("pytscope"):
            called.append(frame.f_code.co_qualname)

    with AutoProfiler(tmp_path):
        assert gc.callbacks
        sys.setprofile(count)
        gc.collect()
        sys.setprofile(None)
    assert not gc.callbacks
    assert called == []


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
def test_a_signal_before_a_collection_is_not_lost(
    tmp_path: Path, error: type[BaseException]
) -> None:
    """It comes while C code runs, and the first call after it is the collector's."""

    def raising(*_: Any) -> None:
        raise error

    before = signal.signal(signal.SIGINT, raising)
    try:
        with AutoProfiler(tmp_path):
            for _ in range(3):
                gc.collect()  # what has a finalizer in Python is gone: that would swallow it too
                with pytest.raises(error):
                    deque(starmap(call, [(interrupt_main,), (gc.collect, 0)]), maxlen=0)
    finally:
        signal.signal(signal.SIGINT, before)


def test_long_collections_are_blocks_of_their_steps(tmp_path: Path) -> None:
    case = Case(tmp_path, pace=0, count=10)
    batch = torch.ones(1, 4), torch.ones(1, 1)
    gc.disable()
    try:
        with case.recording():
            for index in range(case.count):
                if index % 3 == 0:
                    littered(20_000)
                    gc.collect()
                case.train(*batch)
    finally:
        gc.enable()
    check_count(case)
    collected = case.timeline().phase_ns("gc")
    assert (collected[3:] > 0).tolist() == [index % 3 == 0 for index in range(3, case.count)]


def test_collections_of_other_threads_are_left_out(tmp_path: Path) -> None:
    case = Case(tmp_path, pace=0, count=6)
    batch = torch.ones(1, 4), torch.ones(1, 1)
    gc.disable()
    try:
        with case.recording():
            for _ in range(case.count):
                littered(20_000)
                other = threading.Thread(target=gc.collect)
                other.start()
                other.join()
                case.train(*batch)
    finally:
        gc.enable()
    check_count(case)
    assert "gc" not in case.timeline().phases

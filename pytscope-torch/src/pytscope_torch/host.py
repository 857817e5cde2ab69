"""The `host_memory` collector: what this process and its workers hold in the machine's memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from time import perf_counter_ns
from typing import Any

import psutil

from pytscope_torch import footprint
from pytscope_torch.room import available_bytes

EVERY = 50
"""Readings of resident memory to one that walks page tables, at the least."""
DENSE = 128
"""Readings of resident memory, one after each step, of a run that has just begun;"""
PAUSE_NS = 5_000_000
"""nanoseconds from one to the next after that: a fast loop is not held up by them."""
PAUSE = 200
"""How many times as long as such a reading took passes before the next one."""
RESIDENT = ("rss", "anonymous")
NOTHING = (None,) * len(footprint.COLUMNS)
Bytes = int | None
Read = Callable[[], tuple[Bytes, ...]]


class HostMemory:
    """Samples the host memory of this process, and now and then of its workers.

    Columns, in bytes. After a step, but of a long run of short steps not more than
    once in 5 ms: `rss`, resident memory; `anonymous`, the part of it that no
    file and no shared memory is behind, on Linux. At most with every 50th of
    these, and in at most half a percent of the time, by a thread beside the
    training, for reading it walks page tables: `uss`, what only this process
    has; `pss`, the same with its part of what is shared; `workers_uss` and
    `workers_pss`, their sums over the processes that `multiprocessing` runs for
    this one, such as those of a DataLoader. A reading goes to the step after
    which it is there.

    The event `capacity` tells at the start and at the end what is left for
    growth (see `pytscope_torch.room`).

    Args:
        every: Readings of the first kind to one of the second, at the least.

    Attributes:
        pause_ns: Nanoseconds from a reading of the first kind to the next, at the least.
    """

    name = "host_memory"

    def __init__(self, every: int = EVERY) -> None:
        self.pause_ns = 0
        self._dense = DENSE
        self._every = every
        self._wait = 0
        self._resident: Read = _nothing
        self._reader: footprint.Reader | None = None
        self._undo: Callable[[], None] = _nothing
        self._note: Callable[[str, dict[str, Any]], object] | None = None
        self._not_before = 0

    def start(self, info: Mapping[str, Any]) -> Mapping[str, str]:
        """Open what is read, start the thread.

        Args:
            info: What the recorder knows; `note` takes an event.
        """
        self._note = info.get("note")
        self._resident, self._undo, columns = resident()
        self._reader = footprint.Reader()
        self._capacity()
        return dict.fromkeys((*columns, *footprint.COLUMNS), "b")

    def sample(self) -> tuple[Bytes, ...]:
        """One value a column; None for those of which there is no new reading."""
        if self._dense:
            self._dense -= 1
            self.pause_ns = 0 if self._dense else PAUSE_NS
        self._wait -= 1
        if self._wait > 0:
            return self._resident() + NOTHING
        return self._resident() + self._detail()

    def _detail(self) -> tuple[Bytes, ...]:
        """A finished reading, after which the next one waits its time; or ask for one."""
        reader = self._reader
        if reader is None:
            return NOTHING
        found, took = reader.take()
        if found is not None:
            self._wait = self._every
            self._not_before = perf_counter_ns() + PAUSE * took
            return found
        if perf_counter_ns() >= self._not_before:
            reader.ask()
        return NOTHING

    def _capacity(self) -> None:
        room = available_bytes()
        if self._note is not None and room is not None:
            rss = self._resident()[0]
            self._note("capacity", {"where": "host", "available_bytes": room, "rss_bytes": rss})

    def stop(self) -> None:
        """Say what is left, end the thread, close what was opened."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.stop()
            self._capacity()
        undo, self._undo, self._resident = self._undo, _nothing, _nothing
        undo()


def resident() -> tuple[Read, Callable[[], None], tuple[str, ...]]:
    """How to read resident memory, how to undo that, and its columns."""
    if footprint.LINUX:
        try:
            return statm()
        except (OSError, ValueError, IndexError):  # no /proc, or one of another form
            pass
    process = psutil.Process()
    return (lambda: (process.memory_info().rss,)), _nothing, RESIDENT[:1]


def statm() -> tuple[Read, Callable[[], None], tuple[str, ...]]:
    """Resident memory by a file that stays open: two microseconds a reading instead of fifteen.

    Raises:
        OSError: There is no such file.
    """
    page = os.sysconf("SC_PAGESIZE")
    file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    pread = os.pread

    def read() -> tuple[Bytes, ...]:
        told = pread(file, 128, 0).split()
        rss = int(told[1])
        return rss * page, (rss - int(told[2])) * page

    try:
        read()
    except (OSError, ValueError, IndexError):
        os.close(file)
        raise
    return read, (lambda: os.close(file)), RESIDENT


def _nothing() -> Any:
    return ()

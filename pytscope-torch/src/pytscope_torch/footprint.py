"""What a process has for itself in memory: readings that walk its page tables.

They take as long as the process is large (16 ms a GiB of small pages), so a
thread does them: it waits in system calls, which hold neither the interpreter
nor, once somebody else wants it, the kernel's lock on the memory map.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from queue import SimpleQueue
from time import perf_counter_ns

import psutil

COLUMNS = ("uss", "pss", "workers_uss", "workers_pss")
LINUX = sys.platform.startswith("linux")
MOST_WORKERS = 256
"""Processes looked at; more are left out of the sums, which are then absent."""
STOP_S = 2.0
"""Longest wait at the end for a reading that goes on."""
Bytes = int | None
Row = tuple[Bytes, ...]


class Reader:
    """A thread that reads `COLUMNS` when asked to."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[bool] = SimpleQueue()
        self._found: SimpleQueue[tuple[Row, int]] = SimpleQueue()
        self._pending = False
        self._thread = threading.Thread(target=self._run, name="pytscope-memory", daemon=True)
        with suppress(RuntimeError):  # no thread to be had: nothing is ever found
            self._thread.start()

    def ask(self) -> None:
        """Ask for a reading, unless one is on its way."""
        if not self._pending:
            self._pending = True
            self._asked.put(True)

    def take(self) -> tuple[Row | None, int]:
        """A finished reading or None, and how many nanoseconds it took."""
        if self._found.empty():
            return None, 0
        self._pending = False
        return self._found.get()

    def stop(self) -> None:
        """End the thread, after the reading it is in."""
        self._asked.put(False)
        if self._thread.ident is not None:
            self._thread.join(STOP_S)

    def _run(self) -> None:
        while self._asked.get():
            began = perf_counter_ns()
            self._found.put((reading(), perf_counter_ns() - began))


def reading() -> Row:
    """One value for each of `COLUMNS`; None for what cannot be read here."""
    own = footprint(os.getpid())
    pids = workers()
    if pids is None or len(pids) > MOST_WORKERS:
        return (*own, None, None)
    each = [footprint(pid) for pid in pids]
    there = [row for pid, row in zip(pids, each, strict=True) if row[0] or psutil.pid_exists(pid)]
    return (*own, _sum([uss for uss, _ in there]), _sum([pss for _, pss in there]))


def _sum(values: list[Bytes]) -> Bytes:
    """Sum over the workers that are there; None without any, or when one could not be read."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def workers() -> list[int] | None:
    """The processes that `multiprocessing` runs for this one; None when it does not say.

    Not `multiprocessing.active_children()`: that one waits for those that have
    ended, which is up to whoever started them.
    """
    module = sys.modules.get("multiprocessing.process")
    if module is None:
        return []
    children = getattr(module, "_children", None)
    if children is None:
        return None
    return [pid for process in tuple(children) if (pid := process.pid) is not None]


def footprint(pid: int) -> tuple[Bytes, Bytes]:
    """Bytes that only this process has, and those with its part of what is shared."""
    if LINUX:
        return rollup(pid)
    try:
        process = psutil.Process(pid)
        newer = getattr(process, "memory_footprint", None)
        told = process.memory_full_info() if newer is None else newer()
    except (psutil.Error, OSError):  # gone since, or not ours to look at
        return None, None
    return getattr(told, "uss", None), getattr(told, "pss", None)


def rollup(pid: int) -> tuple[Bytes, Bytes]:
    """The same from what the kernel adds up over all of the process's mappings."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:  # noqa: PTH123  # nothing but a read
            lines = file.read().splitlines()[1:]
    except OSError:  # gone since, not ours to look at, or a kernel before 4.14
        return None, None
    kib = {line.split(b":")[0]: int(line.split()[1]) for line in lines}
    private = [size for name, size in kib.items() if name.startswith(b"Private_")]
    return (sum(private) * 1024 if private else None), _bytes(kib.get(b"Pss"))


def _bytes(kib: int | None) -> Bytes:
    return None if kib is None else kib * 1024

"""Waits for other ranks on the accelerator's own clock.

On an accelerator the host only starts collectives; what the device waits for is
between two events of its stream. Not verified on a device: on a CPU only the
bookkeeping is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import torch

from pytscope.recording.harmless import tried
from pytscope.recording.keys import Sample

WAITS = Sample("x", ("dist.ready_ns", "dist.release_ns", "dist.blocked_ns"))
"""From a step's begin to the last wait's begin and end; the time in waits before it."""
UNKNOWN = (-1, -1, -1)
"""Values that no step has; readers pass them over."""


class Event(Protocol):
    """A stamp on the accelerator's clock, as `torch.cuda.Event` is one."""

    def record(self) -> None:
        """Take the stamp when the work queued so far is done."""

    def synchronize(self) -> None:
        """Block until it is taken."""

    def elapsed_time(self, end_event: Any, /) -> float:
        """Milliseconds from this stamp to another."""


def cuda_event() -> Event | None:
    """An event for the current device; None where the program does not use CUDA.

    None too while a graph is captured: an event in it tells no time.
    """
    if not torch.cuda.is_initialized() or torch.cuda.is_current_stream_capturing():
        return None
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-any-return]  # has no types


class DeviceWaits:
    """Keeps the events of a step's waits.

    Args:
        make: Makes an event, or None while there is no device to have one.
    """

    __slots__ = ("_begin", "_make", "_opened", "_pairs")

    def __init__(self, make: Callable[[], Event | None]) -> None:
        self._make = make
        self._begin: Event | None = None
        self._opened: Event | None = None
        self._pairs: list[tuple[Event, Event]] = []

    def open(self) -> None:
        """A wait begins."""
        self._opened = self._now()

    def close(self) -> None:
        """The wait is over."""
        opened, closed = self._opened, self._now()
        self._opened = None
        if opened is not None and closed is not None:
            self._pairs.append((opened, closed))

    def __call__(self, values: list[Any]) -> None:
        """A step ends: add its sample, if the device waited in it, to what is written.

        Args:
            values: Keys and values in turn.
        """
        begin, pairs = self._begin, self._pairs
        self._begin, self._pairs = self._now(), []
        if begin is not None and pairs:
            values += (WAITS, Elapsed(begin, pairs))

    def _now(self) -> Event | None:
        return tried(self._recorded, lambda _: None)

    def _recorded(self) -> Event | None:
        event = self._make()
        if event is not None:
            event.record()
        return event


class Elapsed:
    """The sample's values: read when they are written, by then the device is that far.

    Args:
        begin: The step's begin.
        pairs: Begin and end of each wait, in order.
    """

    __slots__ = ("_begin", "_pairs")

    def __init__(self, begin: Event, pairs: list[tuple[Event, Event]]) -> None:
        self._begin = begin
        self._pairs = pairs

    def __iter__(self) -> Iterator[int]:
        """Nanoseconds, one number a column; waits for the last event, not for the device.

        Events that tell nothing, such as those of two devices, give `UNKNOWN`.
        """
        return iter(tried(self._read, lambda _: UNKNOWN))

    def _read(self) -> tuple[int, ...]:
        *earlier, (ready, release) = self._pairs
        release.synchronize()
        blocked = sum(_ns(opened, closed) for opened, closed in earlier)
        return _ns(self._begin, ready), _ns(self._begin, release), blocked


def _ns(begin: Event, end: Event) -> int:
    return round(begin.elapsed_time(end) * 1e6)

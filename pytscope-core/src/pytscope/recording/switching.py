"""The class a recorder has while it records, and what one of its stamps takes."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TypeVar

from pytscope.recording.live import LiveMethods, Owned, SynchronizedMethods
from pytscope.recording.recorder import Recorder

CALIBRATION_STAMPS = 200
R = TypeVar("R", bound=Recorder)
_CLASSES: dict[tuple[type[Recorder], bool], type[Recorder]] = {}


def live_class(idle: type[R], root: type[Recorder], *, synchronized: bool) -> type[R]:
    """The class a recorder of class `idle` has while it records.

    The recording methods come behind those of a subclass of `root`, whose
    `super()` then reaches them.

    Args:
        idle: The recorder's class.
        root: The class whose methods recording replaces.
        synchronized: Whether stamps wait for the accelerator.
    """
    made = _CLASSES.get((idle, synchronized))
    if made is None:
        methods = SynchronizedMethods if synchronized else LiveMethods
        bases: tuple[type, ...] = (methods, idle)
        if idle is not root:
            bases = (idle, live_class(root, root, synchronized=synchronized))
        made = type(f"Live{idle.__name__}", bases, {"__slots__": (), "_idle": idle})
        _CLASSES[idle, synchronized] = made
    return made  # type: ignore[return-value]  # made above, of `idle`


def no_wait() -> None:
    """Nothing to wait for."""


def stamp_ns(live: type[Recorder], own: Owned) -> float:
    """Nanoseconds of one stamp, measured on a recorder that writes nothing.

    Args:
        live: Class of a recorder that records.
        own: The lock that its thread holds.
    """
    scratch = object.__new__(live)
    scratch._own, scratch._events = own, []  # a recorder, half made
    scratch._clock, scratch._synchronize = perf_counter_ns, no_wait  # as above
    began = perf_counter_ns()
    for _ in range(CALIBRATION_STAMPS):
        scratch.mark("calibration")
    return (perf_counter_ns() - began) / CALIBRATION_STAMPS

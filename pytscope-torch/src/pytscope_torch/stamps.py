"""Stamps that instrumentation places: a block's edges, before anyone can tell its name.

The hot path of `AutoProfiler`. What a stretch of time was is often known only
later: a forward pass was evaluation if no backward pass followed. So
`pytscope_torch.naming` puts placeholders in front of each block and turns them
into names in the writer's thread, once per shape of step.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

from pytscope.recording.keys import CLOSE, END, EXHAUSTED, FETCH, SKIPPED, Key, Open, Sample
from pytscope_torch.device_waits import DeviceWaits

GAP = Key("gap")
"""Names, later, what its level has unnamed."""
SLOT = Key("slot")
"""Becomes, later, the begin or end of a micro-batch, or nothing."""
BROKE = Key("broke")
"""An exception left the forward or backward pass that has just been closed."""
TRAINS = Key("trains")
"""The forward pass that has just been opened is a training step's: somebody told so."""

RATE = Sample("s", ("lr",))
"""The learning rate that the step is made with; written before its end, and put behind it later."""

CREATE = Open("data")
"""The loader's iterator is made; data is fetched next."""
FORWARD = Open("forward")
EVALUATE = Open("eval")
"""A forward pass in eval mode, without gradients."""
NO_GRAD = Open("no_grad")
"""A forward pass in training mode, without gradients."""
BACKWARD = Open("backward")
OPTIMIZER = Open("optimizer")
"""An optimizer steps."""
TIDYING = Open("optimizer")
"""Gradients are cleared, unscaled or clipped."""
CHECKPOINT = Open("checkpoint")
COMM = Open("comm")
COMPILE = Open("compile")
H2D = Open("h2d")
GC = Open("gc")
PASSES = (FORWARD, EVALUATE, NO_GRAD)
WHOLE = (OPTIMIZER, TIDYING, CHECKPOINT, COMM, COMPILE)
OPENED = frozenset((CREATE, FETCH, *PASSES, BACKWARD, *WHOLE))
"""What `Stamps.open` opens: a gap ends there."""
NO_RATE = (LookupError, AttributeError, TypeError)
"""What an optimizer without a learning rate raises."""
SELDOM = 8
"""Steps that may pass before somebody looks at what hardly ever changes."""


class Stamps:
    """Writes blocks into a recording's event list, from its own thread only.

    Args:
        events: The recording's event list.
        clock: Its clock, in nanoseconds.
        here: Tells whether the calling thread is the one that called `start()`.
        foreign: Takes the phase and begin of a block that ends now in another thread.
        ended: Called after a step's end, with the list's length: of every step without a
            forward pass, of every `SELDOM`th else, and of every one while `watched`.
        synchronize: Waits for the accelerator, or None.

    Attributes:
        events: As given. What is called in every step appends to it without calling a
            method of this class: Python calls are most of what a stamp costs.
        reading: Reads the clock for a stamp, in nanoseconds.
        here: Tells whether stamps count: the recording is live and this is its thread.
        passed: Whether a forward pass has been stamped since the last step's end.
        watched: Whether every step's end is told of; else one in so many.
        stepping: How many optimizer steps, one inside the other, are going on.
        inside: Whether the thread is in a forward or backward pass, where
            other passes are part of it.
        compiling: Whether a compiler is at work, which differentiates what it compiles.
        fetched: Whether a fetch has been seen.
        told: Whether a framework runs the loop, which may fetch some batches ahead.
        owed: Whether a step ended in a backward pass that goes on.
        reduced: Told what a backward pass goes back from, if it may end by waiting; or None.
        awaited: Whether the pass that goes on is still to tell that this rank is ready.
        waiting: Whether the thread waits for other ranks.
        device: Stamps such waits on the accelerator's clock, too; or None.
        sample: Adds what is sampled at a step's end, as `Sampler` does; or None.
        due: The stamp of a step's end before which there is nothing to sample.
        steps: Steps ended so far.
    """

    __slots__ = (
        "_clock",
        "_ended",
        "_foreign",
        "_rate",
        "_rated",
        "_sampling",
        "awaited",
        "compiling",
        "device",
        "due",
        "events",
        "fetched",
        "here",
        "inside",
        "owed",
        "passed",
        "reading",
        "reduced",
        "sample",
        "stepping",
        "steps",
        "told",
        "waiting",
        "watched",
    )

    def __init__(
        self,
        events: list[Any],
        clock: Callable[[], int],
        here: Callable[[], bool],
        *,
        foreign: Callable[[str, int], None],
        ended: Callable[[int], None],
        synchronize: Callable[[], None] | None = None,
    ) -> None:
        self.events = events
        self._clock = clock
        self._foreign = foreign
        self._ended = ended
        self.reading = clock if synchronize is None else waiting(synchronize, clock)
        self._sampling = False
        self._rate: Any = None
        self._rated: tuple[float] | None = None
        self.here = here
        self.sample: Callable[[list[Any], list[Any]], int] | None = None
        self.due = 0
        self.inside = False
        self.stepping = 0
        self.compiling = False
        self.fetched = False
        self.told = False
        self.passed = False
        self.watched = True
        self.owed = False
        self.reduced: Callable[[Any], None] | None = None
        self.awaited = False
        self.waiting = False
        self.device: DeviceWaits | None = None
        self.steps = 0

    def stop(self) -> None:
        """Take no stamps any more."""
        self.here = nowhere

    def open(self, key: Open) -> None:
        """Open a block."""
        reading = self.reading
        now = reading()
        events = self.events
        events.append(key)
        events.append(now)

    def close(self) -> None:
        """Close the innermost block."""
        reading = self.reading
        now = reading()
        events = self.events
        events.append(CLOSE)
        events.append(now)

    def release(self) -> None:
        """The others are there: close the wait for them."""
        if self.device is not None:
            self.device.close()
        now = self.reading()
        events = self.events
        events.append(CLOSE)
        events.append(now)
        self.waiting = False

    def exhausted(self) -> None:
        """Close a fetch that found nothing more."""
        events = self.events
        events.append(EXHAUSTED)
        events.append(self._clock())

    def broke(self) -> None:
        """Close a pass that an exception left."""
        now = self.reading()
        events = self.events
        events.append(CLOSE)  # no tuple: making one may collect garbage, which is stamped
        events.append(now)
        events.append(BROKE)
        events.append(now)

    def tell(self, key: Key) -> None:
        """Write a placeholder."""
        events = self.events
        events.append(key)
        events.append(self._clock())

    def end_step(self, *, closing: bool, skipped: bool = False, optimizer: Any = None) -> None:
        """End the optimizer step, and the optimizer's block if it is open.

        Args:
            closing: Whether it is open.
            skipped: Whether no parameter was changed.
            optimizer: The optimizer that stepped, of whose first group the learning rate is noted.
        """
        reading = self.reading
        now = reading()
        events = self.events
        if optimizer is not None:
            try:
                rate = optimizer.param_groups[0]["lr"]
            except NO_RATE:
                rate = None
            if rate is not self._rate:  # seldom: a constant stays the same object
                self._rate, self._rated = rate, plain_rate(rate)
            rated = self._rated
            if rated is not None:
                events.append(RATE)
                events.append(rated)
        if closing:
            events.append(CLOSE)
            events.append(now)
        if skipped:
            events.append(SKIPPED)
            events.append(now)
        if self.sample is None or now < self.due:
            events.append(END)
            events.append(now)
        else:
            self._end_sampled(now)
        self.steps += 1
        if self.watched or not self.passed or not self.steps % SELDOM:
            self._ended(len(events))
        self.passed = False

    def _end_sampled(self, now: int) -> None:
        """Append the end and its samples at once: the writer may cut after an end."""
        entries: list[Any] = [END, now]
        stamps: list[Any] = []
        self._sampling = True
        try:
            if self.sample is not None:
                self.due = self.sample(entries, stamps)
        finally:
            self.events.extend(entries + stamps)
            self._sampling = False

    def block(self, key: Open, since: int) -> None:
        """A block that ends now and began at `since`, unless something was stamped meanwhile.

        What interrupts the sampling of a step is part of that.
        """
        if self._sampling:
            return
        events = self.events
        if len(events) % 2 == 0 and (len(events) < 2 or _before(events[-1], since)):  # noqa: PLR2004  # a pair
            events.extend((key, since, CLOSE, self._clock()))

    def span(self, key: Open, since: int) -> None:
        """Note a block of another thread, beside the timeline."""
        if self.here is not nowhere:
            self._foreign(key.name, since)

    def now(self) -> int:
        """The clock, in nanoseconds."""
        return self._clock()

    def fetch(self, key: Open = FETCH) -> None:
        """Open a fetch."""
        self.fetched = True
        self.open(key)


def waiting(wait: Callable[[], None], clock: Callable[[], int]) -> Callable[[], int]:
    """A clock that is read when what runs on the accelerator is over."""

    def reading() -> int:
        wait()
        return clock()

    return reading


def plain_rate(rate: Any) -> tuple[float] | None:
    """A learning rate as the value of a `RATE`; None for one that is in a tensor."""
    if type(rate) is float:
        return (rate,)
    return (float(rate),) if isinstance(rate, Real) else None


def nowhere() -> bool:
    """Tells that stamps do not count."""
    return False


def _before(value: object, since: int) -> bool:
    return not isinstance(value, int) or value <= since

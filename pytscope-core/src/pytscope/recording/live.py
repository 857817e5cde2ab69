"""The hot path: two appends a stamp, and nothing else.

Keys and values alternate in one flat list, so that a step leaves no object
behind for the garbage collector. Only the thread that called `start` writes
it; another thread's stamps become spans beside the timeline. Which thread it is
is asked of a lock that the recording thread holds for good: that takes half as
long as comparing thread numbers. For the same reason the clock is fetched before
it is called.

Methods call each other through the class, not through `self`, whose class
changes when another thread ends the recording in the midst of one.
"""

from __future__ import annotations

from _thread import get_ident
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol, cast

from pytscope.recording.keys import (
    BEGIN,
    CLOSE,
    CLOSED,
    END,
    EXHAUSTED,
    EXTRA,
    FAIL,
    LOG,
    LOG_NAMES,
    MICRO,
    is_value,
)
from pytscope.recording.plain import described, name_of
from pytscope.recording.scalars import scalar

if TYPE_CHECKING:
    from pytscope.recording.recorder import PhaseBlock, Recorder

    _Base = Recorder
else:
    _Base = object


ELSEWHERE = (
    "steps begun in another thread than the one that called start() are not counted; "
    "call start() in the thread that trains"
)


class Owned(Protocol):
    """A lock that tells whether the calling thread holds it."""

    def _is_owned(self) -> bool: ...


NOBODY: Owned = cast("Owned", RLock())
"""Takes the place of a recorder's lock to have every stamp look at the list's length."""


def owned() -> Owned:
    """A lock that the calling thread holds and nobody waits for."""
    lock = RLock()
    lock.acquire()
    return cast("Owned", lock)  # the method is there for threading.Condition


class LiveMethods(_Base):
    """Recording methods of a recorder that records."""

    __slots__ = ()

    def begin_step(self) -> None:
        """Stamp the begin of a step."""
        if self._own._is_owned():
            events = self._events
            clock = self._clock
            events.append(BEGIN)
            events.append(clock())
        elif not LiveMethods._watched(self, BEGIN):
            LiveMethods._foreign_step(self)

    def end_step(self, update: bool = True) -> None:
        """Stamp the end of a step; wake the writer when there is much to write."""
        if self._own._is_owned():
            events = self._events
            if self._samplers and update:
                LiveMethods._end_sampled(self)
            else:
                clock = self._clock
                events.append(END if update else MICRO)
                events.append(clock())
            if len(events) > self._writer.room:
                self._writer.full()
        elif not LiveMethods._watched(self, END if update else MICRO):
            LiveMethods._foreign_close(self)

    def mark(self, name: str) -> None:
        """Stamp a mark."""
        if self._own._is_owned():
            events = self._events
            clock = self._clock
            events.append(name)
            events.append(clock())
        elif not LiveMethods._watched(self, name):
            LiveMethods._foreign_mark(self, name)

    def log(
        self,
        loss: Any = None,
        grad_norm: Any = None,
        lr: Any = None,
        tokens: Any = None,
        samples: Any = None,
        **extra: Any,
    ) -> None:
        """Append logged values; floats, ints and None as they are."""
        if (
            self._own._is_owned()
            and not extra
            and (type(loss) is float or loss is None)
            and (type(grad_norm) is float or grad_norm is None)
            and (type(lr) is float or lr is None)
            and (tokens is None or type(tokens) is int)
            and (samples is None or type(samples) is int)
        ):
            events = self._events
            events.append(LOG)
            events.append((loss, grad_norm, lr, tokens, samples))
        else:
            LiveMethods._log_slowly(self, (loss, grad_norm, lr, tokens, samples), extra)

    def _log_slowly(self, values: tuple[Any, ...], extra: dict[str, Any]) -> None:
        kept = tuple(None if v is None else scalar(v, self._say) for v in values)
        more = {
            str(k): number
            for k, v in extra.items()
            if v is not None and (number := scalar(v, self._say)) is not None
        }
        if get_ident() != self._thread:
            named = dict(zip(LOG_NAMES, kept, strict=True))
            named = {k: v for k, v in named.items() if v is not None}
            self._writer.note("log", {**named, **more})
            return
        events = self._events
        if kept != (None,) * len(kept):
            events.append(LOG)
            events.append(kept)
        if more:
            events.append(EXTRA)
            events.append(more)
        LiveMethods._make_room(self)

    def _open_block(self, block: PhaseBlock) -> None:
        if self._own._is_owned():
            events = self._events
            clock = self._clock
            events.append(block.key)
            events.append(clock())
        elif not LiveMethods._watched(self, block.key):
            LiveMethods._foreign_open(self, block.key.name)

    def _close_block(self, *, exhausted: bool = False) -> None:
        if self._own._is_owned():
            events = self._events
            clock = self._clock
            events.append(EXHAUSTED if exhausted else CLOSE)
            events.append(clock())
        elif not LiveMethods._watched(self, EXHAUSTED if exhausted else CLOSE):
            LiveMethods._foreign_close(self)

    def _failed(self, error: BaseException) -> None:
        if get_ident() == self._thread:
            events = self._events
            events.append(FAIL)
            events.append(self._clock())
        else:
            LiveMethods._foreign_close(self)
        self._error = id(error)
        self._writer.note("exception", described(error))
        self._writer.wake()

    def _ended_by(self, error: BaseException) -> None:
        events = self._events
        last = next((key for key in events[-2::-2] if not is_value(key)), None)
        if last is CLOSED:  # the exception closed `steps()` on its way
            self._failed(error)
        elif last is not FAIL or id(error) != self._error:  # not noted on leaving the step
            self._writer.note("exception", described(error))

    def _abandoned(self) -> None:
        if get_ident() == self._thread:
            events = self._events
            events.append(CLOSED)
            events.append(self._clock())
            if len(events) > self._writer.room:
                self._writer.full()

    def _end_sampled(self) -> None:
        """Append the end and its samples at once: the writer may cut after an end."""
        entries: list[Any] = [END, self._clock()]
        stamps: list[Any] = []
        try:
            for sampler in self._samplers:
                sampler(entries, stamps)
        finally:
            self._events.extend(entries + stamps)

    def _watched(self, key: object) -> bool:
        """Stamp while the writer asks to watch the list's length; False in another thread."""
        if get_ident() != self._thread:
            return False
        if key is END and self._samplers:
            LiveMethods._end_sampled(self)
        else:
            self._events.append(key)
            self._events.append(self._clock())
        LiveMethods._make_room(self)
        return True

    def _make_room(self) -> None:
        if len(self._events) > self._writer.room:
            self._writer.full()

    # --- other threads -------------------------------------------------------

    def _foreign_step(self) -> None:
        if not self._elsewhere:
            self._elsewhere = True
            self._say(ELSEWHERE)
        LiveMethods._foreign_open(self, "step")

    def _foreign_open(self, name: str) -> None:
        self._others.setdefault(get_ident(), []).append((name, self._clock()))

    def _foreign_close(self) -> None:
        opened = self._others.get(get_ident())
        if opened:
            LiveMethods._span(self, *opened.pop())

    def _foreign_mark(self, name: str) -> None:
        opened = self._others.setdefault(get_ident(), [])
        now = self._clock()
        if opened:
            parent, since = opened[-1]
            LiveMethods._span(self, name, since)
            opened[-1] = (parent, now)
        else:
            LiveMethods._span(self, name, now)

    def _span(self, name: str, since: int) -> None:
        values = {"thread": get_ident(), "phase": name_of(name), "start": since}
        self._writer.note("span", values)


class SynchronizedMethods(LiveMethods):
    """Recording methods that first wait for the accelerator (`sync=True`)."""

    __slots__ = ()

    def begin_step(self) -> None:
        """Wait, then stamp the begin of a step."""
        self._synchronize()
        LiveMethods.begin_step(self)

    def end_step(self, update: bool = True) -> None:
        """Wait, then stamp the end of a step."""
        self._synchronize()
        LiveMethods.end_step(self, update)

    def mark(self, name: str) -> None:
        """Wait, then stamp a mark."""
        self._synchronize()
        LiveMethods.mark(self, name)

    def _open_block(self, block: PhaseBlock) -> None:
        self._synchronize()
        LiveMethods._open_block(self, block)  # as the module says

    def _close_block(self, *, exhausted: bool = False) -> None:
        self._synchronize()
        LiveMethods._close_block(self, exhausted=exhausted)

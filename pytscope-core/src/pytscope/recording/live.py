"""The hot path: two appends a stamp, and nothing else.

Keys and values alternate in one flat list, so that a step leaves no object
behind for the garbage collector. Only the thread that called `start` writes
it; another thread's stamps become spans beside the timeline.
"""

from __future__ import annotations

from _thread import get_ident
from typing import TYPE_CHECKING, Any

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
from pytscope.recording.plain import text
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


class LiveMethods(_Base):
    """Recording methods of a recorder that records."""

    __slots__ = ()

    def begin_step(self) -> None:
        """Stamp the begin of a step."""
        if get_ident() == self._thread:
            events = self._events
            events.append(BEGIN)
            events.append(self._clock())
        else:
            self._foreign_step()

    def end_step(self, update: bool = True) -> None:
        """Stamp the end of a step; wake the writer when there is much to write."""
        if get_ident() == self._thread:
            events = self._events
            events.append(END if update else MICRO)
            events.append(self._clock())
            if self._samplers and update:
                self._sample()
            if len(events) > self._writer.room:
                self._writer.full()
        else:
            self._foreign_close()

    def mark(self, name: str) -> None:
        """Stamp a mark."""
        if get_ident() == self._thread:
            events = self._events
            events.append(name)
            events.append(self._clock())
        else:
            self._foreign_mark(name)

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
            get_ident() == self._thread
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
            self._log_slowly((loss, grad_norm, lr, tokens, samples), extra)

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

    def _open_block(self, block: PhaseBlock) -> None:
        if get_ident() == self._thread:
            events = self._events
            events.append(block.key)
            events.append(self._clock())
        else:
            self._foreign_open(block.key.name)

    def _close_block(self, *, exhausted: bool = False) -> None:
        if get_ident() == self._thread:
            events = self._events
            events.append(EXHAUSTED if exhausted else CLOSE)
            events.append(self._clock())
        else:
            self._foreign_close()

    def _failed(self, error: BaseException) -> None:
        if get_ident() == self._thread:
            events = self._events
            events.append(FAIL)
            events.append(self._clock())
        else:
            self._foreign_close()
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

    def _sample(self) -> None:
        for sampler in self._samplers:
            sampler(self._events)

    # --- other threads -------------------------------------------------------

    def _foreign_step(self) -> None:
        if not self._elsewhere:
            self._elsewhere = True
            self._say(ELSEWHERE)
        self._foreign_open("step")

    def _foreign_open(self, name: str) -> None:
        self._others.setdefault(get_ident(), []).append((name, self._clock()))

    def _foreign_close(self) -> None:
        opened = self._others.get(get_ident())
        if opened:
            self._span(*opened.pop())

    def _foreign_mark(self, name: str) -> None:
        opened = self._others.setdefault(get_ident(), [])
        now = self._clock()
        if opened:
            parent, since = opened[-1]
            self._span(name, since)
            opened[-1] = (parent, now)
        else:
            self._span(name, now)

    def _span(self, name: str, since: int) -> None:
        values = {"thread": get_ident(), "phase": str(name), "start": since}
        self._writer.note("span", values)


class SynchronizedMethods(LiveMethods):
    """Recording methods that first wait for the accelerator (`sync=True`)."""

    __slots__ = ()

    def begin_step(self) -> None:
        """Wait, then stamp the begin of a step."""
        self._synchronize()
        super().begin_step()

    def end_step(self, update: bool = True) -> None:
        """Wait, then stamp the end of a step."""
        self._synchronize()
        super().end_step(update)

    def mark(self, name: str) -> None:
        """Wait, then stamp a mark."""
        self._synchronize()
        super().mark(name)

    def _open_block(self, block: PhaseBlock) -> None:
        self._synchronize()
        super()._open_block(block)

    def _close_block(self, *, exhausted: bool = False) -> None:
        self._synchronize()
        super()._close_block(exhausted=exhausted)


def described(error: BaseException) -> dict[str, str]:
    """An exception as the values of an event."""
    try:
        message = str(error)
    except Exception as odd:  # noqa: BLE001  # a stranger's __str__ must not replace the exception
        message = f"str() raised {type(odd).__name__}"
    return {"type": type(error).__qualname__, "message": text(message)[1:-1]}

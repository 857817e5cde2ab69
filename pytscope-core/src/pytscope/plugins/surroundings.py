"""What of the process a plugin may change while it is called, and how it is put back.

Nothing here contains hostile code; it keeps a careless plugin from sending the
report elsewhere, from failing other plugins, and from outliving an interrupt.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, TextIO, TypeVar

import attrs
import numpy as np

from pytscope.plugins.selection import DISABLED, NO_AUTOLOAD, ONLY, RAISE

T = TypeVar("T")

_VARIABLES = (NO_AUTOLOAD, ONLY, DISABLED, RAISE, "NO_COLOR", "FORCE_COLOR", "TERM")
_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGALRM") if hasattr(signal, name)
)
"""Those that stop the command, or would once the plugin is gone."""


@attrs.frozen
class Setting:
    """Something of the process that is the same after a call as before it.

    Attributes:
        name: How a problem names it; empty for what libraries commonly change
            while they are imported, which is put back without a word.
        read: Its value.
        put_back: Sets it to a value.
    """

    name: str
    read: Callable[[], Any]
    put_back: Callable[[Any], None]


@contextlib.contextmanager
def kept(changed: list[str]) -> Iterator[None]:
    """Put the process back as it was, whatever happens inside.

    What is written to standard output goes to standard error meanwhile, and
    neither can be closed.

    Args:
        changed: Gets the names of the settings that had to be put back.
    """
    before = [setting.read() for setting in SETTINGS]
    aside = sys.stderr if type(sys.stderr) is Aside else _aside(sys.stderr)
    try:
        with contextlib.redirect_stdout(aside), contextlib.redirect_stderr(aside), np.errstate():
            yield
    finally:
        for setting, value in zip(SETTINGS, before, strict=True):
            if not _same(setting.read(), value):
                with contextlib.suppress(OSError, ValueError, RecursionError):
                    setting.put_back(value)
                changed += filter(None, [setting.name])


def untraced(call: Callable[[], T]) -> T:
    """Call, and put trace functions back before they see another line of this host.

    One that has not changed is left alone: a profiler written in C, as `cProfile`, cannot
    be set from here.
    """
    trace, profile = sys.gettrace(), sys.getprofile()
    try:
        return call()
    finally:
        try:
            if sys.getprofile() is not profile:
                sys.setprofile(profile)  # calls the plugin's once more, which may raise
        finally:
            if sys.gettrace() is not trace:
                sys.settrace(trace)


def _same(now: Any, before: Any) -> bool:
    """Whether nothing changed; objects that may be a plugin's are not asked."""
    if isinstance(before, tuple):
        return all(a is b for a, b in zip(now, before, strict=True))
    return bool(now == before)


def _aside(stream: TextIO | None) -> Aside:
    """The stand-in for a stream, the same each time and kept for good.

    `print` in another thread may be using it still, without a reference of its own.
    """
    for known in _ASIDES:
        if known.stands_for(stream):
            return known
    _ASIDES.append(Aside(stream))
    return _ASIDES[-1]


class Aside(io.TextIOBase):
    """Standard error as plugins get it: closing it does nothing, and writing never fails.

    Args:
        stream: Where text goes; None when there is no standard error.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def stands_for(self, stream: TextIO | None) -> bool:
        """Whether text goes to this stream."""
        return self._stream is stream

    def write(self, text: str) -> int:
        """Write text, or lose it when nobody can take it."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            self._stream.write(text)  # type: ignore[union-attr]  # None is suppressed as well
        return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            self._stream.flush()  # type: ignore[union-attr]  # None is suppressed as well

    def close(self) -> None:
        """Stay open."""

    def detach(self) -> Any:
        """Stay attached; code that wraps standard output goes on with this."""
        return getattr(self._stream, "buffer", self)

    def writable(self) -> bool:
        """Text can be written."""
        return True

    def isatty(self) -> bool:
        """Whether a person looks at it."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            return self._stream.isatty()  # type: ignore[union-attr]  # None is suppressed as well
        return False

    def fileno(self) -> int:
        """The descriptor of standard error."""
        if self._stream is None:
            return super().fileno()
        return self._stream.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a plain attribute there
        """The encoding of standard error."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def __getattr__(self, name: str) -> Any:
        if name == "_stream":  # taken apart already, while the process ends
            raise AttributeError(name)
        return getattr(self._stream, name)


def _folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109  # a plain text is compared and given back
    except OSError:
        return None


def _go_back(folder: str | None) -> None:
    if folder is not None:
        os.chdir(folder)


def _environment() -> list[str | None]:
    known = os.environ
    return [known[name] if name in known else None for name in _VARIABLES]  # noqa: SIM401  # `get` is slow where a name is missing


def _set_environment(values: list[str | None]) -> None:
    for name, value in zip(_VARIABLES, values, strict=True):
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _handlers() -> tuple[Any, ...]:
    """Signal handlers, and whether an alarm is set; only the main thread has a say."""
    if threading.current_thread() is not threading.main_thread():
        return ()
    alarm = signal.getitimer(signal.ITIMER_REAL)[0] > 0 if hasattr(signal, "getitimer") else False
    return (alarm, *map(_handler, _SIGNALS))


def _handler(number: signal.Signals) -> Any:
    try:
        return signal.getsignal(number)  # compares the handler with others
    except Exception:  # noqa: BLE001  # a handler may be plugin code
        return object()


def _set_handlers(values: tuple[Any, ...]) -> None:
    alarm, *handlers = values
    if not alarm and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)
    for number, handler in zip(_SIGNALS, handlers, strict=True):
        if handler is not None and _handler(number) is not handler:
            with contextlib.suppress(Exception):  # it has been set when the old one is compared
                signal.signal(number, handler)


def _hooks() -> tuple[Any, ...]:
    return (sys.excepthook, sys.unraisablehook, threading.excepthook)


def _set_hooks(values: tuple[Any, ...]) -> None:
    sys.excepthook, sys.unraisablehook, threading.excepthook = values


SETTINGS = (
    Setting("the working directory", _folder, _go_back),
    Setting("the recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
    Setting("signal handlers or an alarm", _handlers, _set_handlers),
    Setting("environment variables that pytscope reads", _environment, _set_environment),
    Setting("", _hooks, _set_hooks),
)


_ASIDES: list[Aside] = []

"""The guards that keep faults away from training: the recorder's own, and those of code it calls.

`harmless` is around what the recorder does, `tried` around what a stranger's object
does when it is asked. Any other broad `except` in this package raises again.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
LOG = logging.getLogger("pytscope")
MOST_SAID = 1000
"""Different warnings that one process logs."""
_said: set[str] = set()


def tried(call: Callable[[], T], otherwise: Callable[[BaseException], T]) -> T:
    """Call code that is not the recorder's own: a collector, a clock, a logged object.

    `SystemExit` counts as a failure too, for nothing that is recorded may end
    the training. Ctrl-C passes, and so does what a signal handler raises.

    Args:
        call: What may raise.
        otherwise: Makes the result out of what was raised.
    """
    try:
        return call()
    except (Exception, SystemExit) as error:
        if _of_a_signal(error):
            raise
        return otherwise(error)


@contextmanager
def harmless(doing: str, *, always: bool = False) -> Iterator[None]:
    """Turn any exception of the recorder into a warning: training goes on.

    Args:
        doing: What is done, for the warning.
        always: Whether to say it each time, not only the first.
    """
    try:
        yield
    except Exception as error:  # the promise: nothing leaves the recorder
        if _of_a_signal(error):
            raise
        _complain(doing, error, always=always)


def forgiven(doing: str, error: Exception) -> None:
    """Turn an exception of the recorder that was caught into a warning, as `harmless` does.

    For what is done so often that `harmless` would take longer than it.

    Args:
        doing: What was done, for the warning.
        error: What it raised; raised again if the program's own signal handler did.
    """
    if _of_a_signal(error):
        raise error
    _complain(doing, error, always=False)


def _complain(doing: str, error: Exception, *, always: bool) -> None:
    tried(lambda: LOG.debug("pytscope: %s", doing, exc_info=error), lambda _: None)
    what = tried(lambda: f"{type(error).__name__}: {error}", lambda _: type(error).__name__)
    message = f"{doing} failed ({what}); training goes on"
    if always:
        _said.discard(message)
    warn_once(message)


def warn_once(message: str) -> bool:
    """Log a warning the first time it comes up in this process.

    A log record rather than a `warnings.warn`, which strict programs turn
    into an exception; a logging handler that raises is no reason to stop either.
    """
    if message in _said or len(_said) >= MOST_SAID:
        return False
    _said.add(message)
    return tried(lambda: _logged(message), lambda _: False)


def _logged(message: str) -> bool:
    LOG.warning("pytscope: %s", message)
    return True


def _of_a_signal(error: BaseException) -> bool:
    """Whether the program's own signal handler raised it while the recorder was at work.

    A time limit set with `signal.alarm` must reach the code that set it.
    """
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    called = [*handlers, *(getattr(h, "__call__", None) for h in handlers)]  # noqa: B004  # an object's code
    codes = [getattr(function, "__code__", None) for function in called]
    trace = error.__traceback__
    while trace is not None:
        running = trace.tb_frame.f_code
        if any(code is running for code in codes):  # a compiler's code may have no hash
            return True
        trace = trace.tb_next
    return False

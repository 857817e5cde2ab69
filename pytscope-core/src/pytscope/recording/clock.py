"""A user's own clock, kept from harming training or the record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytscope.recording.harmless import tried

MOST_NS = 2**55
"""Distance from the first reading (over a year) beyond which a reading is no time."""


class GivenClock:
    """Calls a clock; a reading that cannot be used repeats the last one.

    Args:
        read: The user's clock, in integer nanoseconds.

    Attributes:
        fault: What was wrong with a reading, as a sentence, or empty.
    """

    def __init__(self, read: Callable[[], object]) -> None:
        self._read = read
        self._first: int | None = None
        self._last = 0
        self.fault = ""

    def __call__(self) -> int:
        """The time, nanoseconds."""
        now = tried(self._reading, self._failed)
        if now is None:
            return self._last
        if self._first is None:
            self._first = now
        if abs(now - self._first) > MOST_NS:
            self.fault = f"the given clock jumped by over {MOST_NS} ns; its last time was kept"
            return self._last
        self._last = now
        return now

    def _reading(self) -> int | None:
        value: Any = self._read()
        if type(value) is float:
            self.fault = "the given clock gave a float, not integer nanoseconds; it was cut to one"
        return int(value)

    def _failed(self, error: BaseException) -> None:
        self.fault = f"the given clock raised {type(error).__name__}; its last time was kept"

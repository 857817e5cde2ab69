"""Collectors: measurements sampled after each step, each kept on a short leash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter_ns
from typing import Any, Protocol

from pytscope.recording.columns import INT64
from pytscope.recording.harmless import warn_once
from pytscope.recording.keys import CLOSE, Open, Sample

GROUP = "pytscope.collectors"
DEAR_NS = 200_000
"""Mean time of a sample above which every second one is left out, and so on."""
MAX_EVERY = 1024
Columns = Mapping[str, str]
"""Column names with their kinds: `b` bytes, `i` integer, `s` scalar."""


class Collector(Protocol):
    """A source of measurements, bound when recording starts.

    Attributes:
        name: How it is named in `Profiler(collectors=…)`.
    """

    name: str

    def start(self, info: Mapping[str, Any]) -> Columns:
        """Get ready; returns the columns of a sample with their kinds."""

    def sample(self) -> tuple[int | float | None, ...]:
        """One value per column; None for one that could not be read."""

    def stop(self) -> None:
        """Undo everything."""


class Sampler:
    """Calls a collector after a step; drops it when it raises, slows down when it is dear.

    Args:
        collector: The collector, started.
        columns: What `start` returned.
        clock: The recorder's clock, for the stamps around a sample.
        note: Takes an event: its kind and its values.
    """

    def __init__(
        self,
        collector: Collector,
        columns: Columns,
        clock: Callable[[], int],
        note: Callable[[str, dict[str, Any]], None],
    ) -> None:
        self._collector = collector
        self._columns = tuple(columns.items())
        self._clock = clock
        self._note = note
        self._keys: dict[tuple[str, tuple[str, ...]], Sample] = {}
        self._every = 1
        self._wait = 0
        self._spent = 0
        self._taken = 0
        self._block = Open("log")
        self.dropped = False

    def __call__(self, events: list[Any]) -> None:
        """Sample, unless it is not yet time again."""
        self._wait -= 1
        if self._wait > 0 or self.dropped:
            return
        self._wait = self._every
        opened, began = self._clock(), perf_counter_ns()
        try:
            values = tuple(map(_number, self._collector.sample()))
            if len(values) != len(self._columns):
                msg = f"sample() gave {len(values)} values for {len(self._columns)} columns"
                raise ValueError(msg)  # noqa: TRY301  # one way out for every fault of the collector
        except Exception as error:  # noqa: BLE001  # a collector is a stranger's code
            self._drop(error)
            return
        self._append(events, values)
        events += (self._block, opened, CLOSE, self._clock())
        self._watch(perf_counter_ns() - began)

    def _append(self, events: list[Any], values: tuple[Any, ...]) -> None:
        for kind in "bis":
            there = [
                (name, v)
                for (name, k), v in zip(self._columns, values, strict=True)
                if k == kind and v is not None
            ]
            if there:
                names = tuple(name for name, _ in there)
                key = self._keys.setdefault((kind, names), Sample(kind, names))
                kept = tuple(float(v) if kind == "s" else int(v) for _, v in there)
                events += (key, kept)

    def _watch(self, took: int) -> None:
        self._spent += took
        self._taken += 1
        if self._taken < 8:  # noqa: PLR2004  # a mean over eight samples
            return
        mean, self._spent, self._taken = self._spent // self._taken, 0, 0
        if mean > DEAR_NS * self._every and self._every < MAX_EVERY:
            self._every *= 2
            values = {"name": self._collector.name, "every": self._every, "mean_ns": mean}
            self._note("collector_slowed", values)

    def _drop(self, error: Exception) -> None:
        self.dropped = True
        name = self._collector.name
        self._note("collector", {"name": name, "error": f"{type(error).__name__}: {error}"})
        warn_once(f"collector {name!r} raised {type(error).__name__} and is dropped")

    def stop(self) -> None:
        """Stop the collector."""
        try:
            self._collector.stop()
        except Exception as error:  # noqa: BLE001  # a collector is a stranger's code
            self._drop(error)


def _number(value: Any) -> int | float | None:
    if value is None or isinstance(value, float):
        return value
    number = int(value)
    return number if INT64[0] <= number <= INT64[1] else None


def find(name: str) -> Collector:
    """Load a collector advertised under the entry-point group `pytscope.collectors`.

    Raises:
        LookupError: No installed package advertises the name.
    """
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name=name):
        made = entry.load()
        collector: Collector = made() if callable(made) else made
        return collector
    msg = f"no installed package brings a collector named {name!r}"
    raise LookupError(msg)

"""Collectors: measurements sampled after each step, each kept on a short leash."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from time import perf_counter_ns
from typing import Any, Protocol

from pytscope.recording.columns import INT64
from pytscope.recording.harmless import tried, warn_once
from pytscope.recording.keys import CLOSE, Open, Sample
from pytscope.recording.plain import described, text

GROUP = "pytscope.collectors"
LEAST, MOST = INT64
DEAR_NS = 200_000
"""Mean time of a sample above which every second one is left out, and so on."""
WATCHED = 8
"""Samples that the mean is taken over,"""
INTERRUPTED = 2
"""without the longest ones: the system may have run something else in between."""
MAX_EVERY = 1024
KINDS = "bisx"
PLANNED = {"b": int, "i": int, "x": int, "s": float}
"""Types of the values that a column keeps as they are, if they fit."""
MOST_PLANS = 64
Columns = Mapping[str, str]
Plan = list[tuple[Sample, Callable[[tuple[Any, ...]], tuple[Any, ...]]]]
"""Keys of a sample, and what takes the values of each out of it."""
"""Column names with their kinds: `b` bytes, `i` integer, `s` scalar, `x` nanoseconds."""


class Collector(Protocol):
    """A source of measurements, bound when recording starts.

    Attributes:
        name: How it is named in `Profiler(collectors=…)`.

    One that has `pause_ns` is asked again only so many nanoseconds after a sample.
    """

    name: str

    def start(self, info: Mapping[str, Any]) -> Columns:
        """Get ready; returns the columns of a sample with their kinds.

        Without any, nothing is sampled. `info` has `run_dir`, `rank`, `memory`
        (the recorder's `collect_memory`) and `note`, which takes an event: its
        kind and its values.
        """

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

    Attributes:
        dropped: Whether there is nothing more to sample.
        spent_ns: Time that samples took so far.
    """

    def __init__(
        self,
        collector: Collector,
        columns: Columns,
        clock: Callable[[], int],
        note: Callable[[str, dict[str, Any]], None],
    ) -> None:
        self._collector = collector
        self._name = _named(collector)
        self._columns = tuple(columns.items())
        self._clock = clock
        self._note = note
        self._keys: dict[tuple[str, tuple[str, ...]], Sample] = {}
        self._plans: dict[tuple[type, ...], Plan] = {}
        self._every = 1
        self._wait = 0
        self._took: list[int] = []
        self._block = Open("log")
        self._pause = self._due = 0
        self.dropped = not columns
        self.spent_ns = 0

    def __call__(self, values: list[Any], stamps: list[Any]) -> int:
        """Sample, unless it is not yet time again.

        Args:
            values: The step's end and its stamp; gets the sample's entries, which belong
                to that step.
            stamps: Gets those of the time it took.

        Returns:
            The stamp of a step's end before which there is no need to call.
        """
        if values[1] < self._due or self.dropped:
            return self._due
        self._wait -= 1
        if self._wait > 0:
            return self._due
        self._wait = self._every
        clock = self._clock
        opened, began = clock(), perf_counter_ns()
        entries = tried(self._sampled, self._drop)
        if entries is not None:
            closed = clock()
            values += entries
            stamps += (self._block, opened, CLOSE, closed)
            self._due = closed + self._pause
            took, ns = self._took, perf_counter_ns() - began
            self.spent_ns += ns
            took.append(ns)
            if len(took) == WATCHED:
                self._watch(took)
        return self._due

    def _sampled(self) -> list[Any]:
        """One sample as entries of the event list."""
        collector = self._collector
        values = tuple(collector.sample())
        self._pause = int(getattr(collector, "pause_ns", 0))
        types = tuple(map(type, values))
        plan = self._plans.get(types)
        if plan is not None:
            entries: list[Any] = []
            for key, taken in plan:
                numbers = taken(values)
                if key.kind != "s" and not (min(numbers) >= LEAST and max(numbers) <= MOST):
                    break
                entries.append(key)
                entries.append(numbers)
            else:
                return entries
        entries = self._looked_at(values)
        if plan is None and len(self._plans) < MOST_PLANS and self._plain(types):
            self._plans[types] = self._plan(types)
        return entries

    def _plain(self, types: tuple[type, ...]) -> bool:
        """Whether values of these types are kept as they are, or not at all."""
        kinds = (PLANNED[kind] for _, kind in self._columns)
        return all(t is type(None) or t is kept for t, kept in zip(types, kinds, strict=True))

    def _plan(self, types: tuple[type, ...]) -> Plan:
        """How samples of values of these types become entries."""
        plan = []
        for kind in KINDS:
            there = [
                place
                for place, (_, k) in enumerate(self._columns)
                if k == kind and types[place] is not type(None)
            ]
            if there:
                names = tuple(self._columns[place][0] for place in there)
                plan.append((self._key(kind, names), _taking(there)))
        return plan

    def _key(self, kind: str, names: tuple[str, ...]) -> Sample:
        return self._keys.setdefault((kind, names), Sample(kind, names))

    def _looked_at(self, values: tuple[Any, ...]) -> list[Any]:
        """The same, of values of whatever types."""
        if len(values) != len(self._columns):
            msg = f"sample() gave {len(values)} values for {len(self._columns)} columns"
            raise ValueError(msg)
        entries: list[Any] = []
        for kind in KINDS:
            there = [
                (name, number)
                for (name, k), v in zip(self._columns, values, strict=True)
                if k == kind and (number := _number(kind, v)) is not None
            ]
            if there:
                names = tuple(name for name, _ in there)
                entries += (self._key(kind, names), tuple(number for _, number in there))
        return entries

    def _watch(self, took: Sequence[int]) -> None:
        own = sorted(took)[:-INTERRUPTED]
        mean, self._took = sum(own) // len(own), []
        if mean > DEAR_NS * self._every and self._every < MAX_EVERY:
            self._every *= 2
            values = {"name": self._name, "every": self._every, "mean_ns": mean}
            self._note("collector_slowed", values)

    def _drop(self, error: BaseException) -> None:
        self._leave()
        said = described(error)
        self._note("collector", {"name": self._name, "error": f"{said['type']}: {said['message']}"})
        warn_once(f"collector {self._name!r} raised {said['type']} and is dropped")

    def _leave(self) -> None:
        self.dropped, self._due = True, MOST

    def stop(self) -> None:
        """Stop the collector."""
        self._leave()
        tried(self._collector.stop, self._drop)


def all_of(samplers: Sequence[Sampler]) -> Callable[[list[Any], list[Any]], int] | None:
    """One call for those of the samplers that sample; None without any."""
    live = [sampler for sampler in samplers if not sampler.dropped]
    if not live:
        return None

    def sample(values: list[Any], stamps: list[Any]) -> int:
        return min([sampler(values, stamps) for sampler in live])

    return live[0] if len(live) == 1 else sample


def _number(kind: str, value: Any) -> int | float | None:
    """A sampled value as its column keeps it, or None for one that it cannot keep."""
    if value is None:
        return None
    if kind == "s":
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    number = int(value)
    return number if LEAST <= number <= MOST else None


def _taking(places: Sequence[int]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """What takes the values at places, at least one, out of a tuple, as a tuple."""
    first, last = places[0], places[-1]
    if last - first < len(places):
        return itemgetter(slice(first, last + 1))
    return itemgetter(*places)


def several(given: Any) -> tuple[Any, ...]:
    """The collectors of an argument, which may also be one by itself."""
    if isinstance(given, str):
        return (given,)
    return tried(lambda: tuple(given), lambda _: (given,))


def started(
    item: str | Collector, info: Mapping[str, Any], say: Callable[[str], object]
) -> tuple[Collector, Columns] | None:
    """Find and start a collector; None, and said why, when that fails.

    Args:
        item: The collector, or the name that a package advertises it under.
        info: What its `start` is told.
        say: Takes the sentence.
    """

    def start() -> tuple[Collector, Columns]:
        collector = find(item) if isinstance(item, str) else item
        columns = {str(name): kind for name, kind in dict(collector.start(info)).items()}
        odd = sorted({str(kind) for kind in columns.values()} - set(KINDS))
        if odd:
            msg = f"no column is of kind {', '.join(odd)}; kinds are {', '.join(KINDS)}"
            raise ValueError(msg)
        return collector, columns

    def failed(error: BaseException) -> None:
        said = described(error)
        say(f"collector {_named(item)!r} did not start: {said['message'] or said['type']}")

    return tried(start, failed)


def _named(item: object) -> str:
    if isinstance(item, str):
        return item
    return tried(lambda: str(getattr(item, "name", "") or text(item)), lambda _: text(item))


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

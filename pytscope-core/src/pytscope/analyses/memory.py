"""`Memory`: what was held after each step, where, and how its lower envelope moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from pytscope.analyses.column import Column
from pytscope.analyses.few import few
from pytscope.analyses.growth import Growth
from pytscope.analyses.units import count, size
from pytscope.model.jsonable import SHORTENED
from pytscope.model.panels import Panel, Row, Spark, Status, Table, Text
from pytscope.runs.run import Ints

DEVICE, HOST, WORKERS, OTHER = "device", "host", "workers", "other"
PLACES = {
    "allocated": DEVICE,
    "reserved": DEVICE,
    "active": DEVICE,
    "inactive_split": DEVICE,
    "peak": DEVICE,
    "resident": DEVICE,
    "rss": HOST,
    "anonymous": HOST,
    "uss": HOST,
    "pss": HOST,
    "workers_uss": WORKERS,
    "workers_pss": WORKERS,
}
"""Where the memory of a column is; columns of other names are `other`."""
HELD = {
    DEVICE: ("allocated",),
    HOST: ("anonymous", "uss", "rss"),
    WORKERS: ("workers_uss", "workers_pss"),
}
"""Columns that tell what is held in a place, the most telling first."""
_PEAK_NOTE = (
    "peak is no growth: it stays at its highest value until something resets it "
    '(collect_memory="reset")'
)


SPARK_VALUES = 1_200
"""Most values a sparkline is given; a multiple of the cells that reporters draw."""


@attrs.frozen(eq=False)
class MemoryColumn:
    """One sampled size over the steps of an attempt.

    Attributes:
        name: The column.
        place: `device`, `host`, `workers` or `other`.
        values: Number of samples.
        first_bytes: The first sample.
        last_bytes: The last one.
        low_bytes: The smallest one.
        high_bytes: The largest one.
        growth: How its lower envelope moved after the start of the attempt;
            None when there are too few samples to tell, and for `peak`.
        step: Numbers of the steps that have a sample.
        each: The samples, bytes.
    """

    name: str
    place: str
    values: int
    first_bytes: int
    last_bytes: int
    low_bytes: int
    high_bytes: int
    growth: Growth | None
    step: Column
    each: Column


@attrs.frozen(eq=False, kw_only=True)
class RankMemory:
    """What one rank held in its longest attempt.

    Attributes:
        rank: The rank.
        attempt: The attempt: that with most steps, of several the last.
        steps: Its steps.
        left_out: Steps at its start that growth leaves out, while memory fills.
        columns: What was sampled, by name.
        device: Name of the device, or an empty string.
        missing: Why there is no device memory, or an empty string.
        room_bytes: What was left for growth at the end, by place, where the
            capacity is known: on the device its memory without the highest
            `peak` or `allocated`, on the host what the machine and the control
            groups had available.
        model: `parameters` (a number), `parameter_bytes`, `gradient_bytes` and
            `optimizer_bytes`, where recorded.
    """

    rank: int
    attempt: int
    steps: int
    left_out: int
    columns: Mapping[str, MemoryColumn]
    device: str = ""
    missing: str = ""
    room_bytes: Mapping[str, int] = attrs.field(factory=dict)
    model: Mapping[str, int] = attrs.field(factory=dict)

    def held(self, place: str) -> MemoryColumn | None:
        """The column that tells best what is held in a place, one with growth if there is one."""
        there = [self.columns[name] for name in HELD[place] if name in self.columns]
        return next((c for c in there if c.growth is not None), there[0] if there else None)


def _few_ranks(ranks: tuple[RankMemory, ...]) -> tuple[RankMemory, ...]:
    return few(ranks, lambda one: (_highest(one), one.rank))


def _highest(rank: RankMemory) -> int:
    return max((column.high_bytes for column in rank.columns.values()), default=0)


@attrs.frozen(eq=False, kw_only=True)
class Memory:
    """What was held in memory after each step.

    Attributes:
        shown: The rank that reports show: the run's shown rank if it sampled
            memory, else the lowest that did.
        ranks: Every rank that sampled memory; in JSON, of more than 64, those of the
            least, the median and the greatest highest sample.
    """

    shown: RankMemory
    ranks: tuple[RankMemory, ...] = attrs.field(metadata={SHORTENED: _few_ranks})

    def panel(self) -> Panel:
        """The MEMORY panel."""
        return Panel("memory", "MEMORY", self._headline(), self._status(), self._rows(), order=25)

    def _headline(self) -> str:
        parts = []
        for place in HELD:
            column = self.shown.held(place)
            if column is not None:
                parts.append(f"{place} {size(column.last_bytes)}")
        if not parts:
            parts = [f"{c.name} {size(c.last_bytes)}" for c in self.shown.columns.values()]
        growing = [place for place in HELD if self._growing(place)]
        said = f"   ({' and '.join(growing)} grow{'' if growing[1:] else 's'})" if growing else ""
        return f"{' · '.join(parts[:4])} after the last step{said}"

    def _growing(self, place: str) -> bool:
        column = self.shown.held(place)
        return column is not None and column.growth is not None and column.growth.lasting

    def _status(self) -> Status:
        return Status.WATCH if any(map(self._growing, HELD)) else Status.OK

    def _rows(self) -> Iterator[Row]:
        shown = self.shown
        for place in HELD:
            column = shown.held(place)
            if column is not None and column.values > 1:
                values = _thinned(column.each.values)
                yield Spark(column.name, values, f"{place}, after each step")
        header = ("column", "where", "first", "last", "lowest", "highest", "growth a step")
        rows = tuple(_cells(column) for column in shown.columns.values())
        yield Table(header, rows, right=(2, 3, 4, 5, 6))
        if shown.model:
            yield Text(" · ".join(_model(shown.model)))
        yield Text(" · ".join(self._notes()))

    def _notes(self) -> Iterator[str]:
        shown = self.shown
        yield f"growth is of the lower envelope, without the first {count(shown.left_out, 'step')}"
        if shown.device:
            yield f"device {shown.device}"
        for place, room in shown.room_bytes.items():
            yield f"{size(room)} left on the {place}"
        if DEVICE not in {column.place for column in shown.columns.values()}:
            yield f"device memory not measured: {shown.missing or 'not sampled'}"
        if HOST not in {column.place for column in shown.columns.values()}:
            yield "host memory not measured: not sampled"
        if "peak" in shown.columns:
            yield _PEAK_NOTE
        if len(self.ranks) > 1:
            yield f"rank {shown.rank} of {len(self.ranks)} that sampled memory"


def _cells(column: MemoryColumn) -> tuple[str, ...]:
    sizes = (column.first_bytes, column.last_bytes, column.low_bytes, column.high_bytes)
    each = size(column.growth.per_step) if column.growth is not None else "-"
    return (column.name, column.place, *map(size, sizes), each)


def _model(model: Mapping[str, int]) -> Iterator[str]:
    if "parameters" in model:
        yield f"{model['parameters']:,} parameters"
    for name in ("parameter", "gradient", "optimizer"):
        if f"{name}_bytes" in model:
            yield f"{name}s {size(model[f'{name}_bytes'])}".replace("optimizers", "optimizer state")


def _thinned(values: Ints) -> tuple[float, ...]:
    """The series, or every so manieth value of it when it is long."""
    stride = max(1, -(-len(values) // SPARK_VALUES))
    return tuple((values[::stride] / 1).tolist())

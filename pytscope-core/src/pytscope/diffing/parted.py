"""The DIVERGENCE panel: where runs part, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytscope.analyses.units import count
from pytscope.diffing.numbers import small, told_apart
from pytscope.model.comparison import At, Cause, Divergence, SeriesDifference
from pytscope.model.findings import Confidence
from pytscope.model.panels import Panel, Row, Status, Table, Text
from pytscope.model.wording import listed

_MOST_SERIES = 12
_MOST_NAMES = 12
_MOST_PAIRS = 3
"""Pairs shown in full; the others have a line each."""


def divergence_panel(divergences: Sequence[Divergence]) -> Panel:
    """Where every pair of runs parts."""
    rows: list[Row] = []
    named = len(divergences) > 1
    shown = [alike[0] for alike in _alike(divergences)][:_MOST_PAIRS]
    for divergence in divergences:
        if any(divergence is one for one in shown):
            rows += _pair(divergence, named=named)
        else:
            rows.append(Text(f"{divergence_words(divergence)}; {_extent(divergence)}"))
    headline = all_words(divergences)
    return Panel("divergence", "DIVERGENCE", headline, _status(divergences), rows, 20)


def _status(divergences: Sequence[Divergence]) -> Status:
    if any(d.material is not None for d in divergences):
        return Status.BAD
    if any(d.bitwise is not None for d in divergences):
        return Status.WATCH
    return Status.OK if any(d.identical for d in divergences) else Status.NOT_MEASURED


def all_words(divergences: Sequence[Divergence]) -> str:
    """One line on all pairs; those that part alike are named together."""
    if len(divergences) == 1:
        return divergence_words(divergences[0], named=False)
    said = []
    for alike in _alike(divergences):
        pairs = listed((f"{d.first} and {d.second}" for d in alike), _MOST_PAIRS)
        said.append(f"{pairs}: {divergence_words(alike[0], named=False)}")
    return " · ".join(said[:_MOST_PAIRS]) + (" · …" if len(said) > _MOST_PAIRS else "")


def _alike(divergences: Sequence[Divergence]) -> list[list[Divergence]]:
    """Pairs of which the same can be said, in the order of the first of them."""
    of: dict[str, list[Divergence]] = {}
    for divergence in divergences:
        of.setdefault(divergence_words(divergence, named=False), []).append(divergence)
    return list(of.values())


def divergence_words(divergence: Divergence, *, named: bool = True) -> str:
    """One line on a pair: equal, or where it parts and why."""
    pair = f"{divergence.first} and {divergence.second}"
    who = f"{pair} " if named else ""
    if divergence.identical and not divergence.series:
        return f"{pair} are identical; no loss recorded" if named else "identical; no loss recorded"
    if divergence.identical:
        are = "are " if named else ""
        return f"{who}{are}equal to the last bit at all {_compared(divergence)}"
    if divergence.bitwise is None:
        seen = [series.name for series in divergence.series if series.compared]
        if seen:
            return f"{who}cannot be told apart: of training, both recorded {listed(seen, 3)} alone"
        return f"{who}cannot be compared: no value that both recorded at one step"
    if divergence.material is None:
        at = f"step {divergence.bitwise.step}"
        said = f"{who}differ from {at} on, by no more than rounding"
    elif divergence.material.step == divergence.bitwise.step:
        said = f"{who}differ from step {divergence.bitwise.step} on"
    else:
        first, second = divergence.bitwise.step, divergence.material.step
        said = f"{who}differ from step {first} on, which matters from step {second} on"
    causes = listed((c.title for c in divergence.causes), 3)
    return f"{said}: {causes}" if divergence.causes else said


def _compared(divergence: Divergence) -> str:
    """At how many of the common steps there was something to compare."""
    logged = max((series.compared for series in divergence.series), default=0)
    if not 0 < logged < divergence.steps:
        return count(divergence.steps, "common step")
    of = count(divergence.steps, "common step")
    return f"{logged:,} of {of} at which both logged a value"


def _pair(divergence: Divergence, *, named: bool) -> Iterator[Row]:
    if named:
        yield Text(f"{divergence.first} and {divergence.second}: {_extent(divergence)}")
    else:
        yield Text(_extent(divergence))
    if divergence.bitwise is not None:
        yield Text(f"first difference: {at_words(divergence.bitwise)}")
    if divergence.material is not None and divergence.material != divergence.bitwise:
        yield Text(f"first that matters: {at_words(divergence.material)}")
    for number, cause in enumerate(divergence.causes, 1):
        yield from _cause(number, cause)
    parted = [s for s in divergence.series if s.bitwise is not None]
    equal = [s.name for s in divergence.series if s.bitwise is None and s.compared]
    if parted:
        yield _series(sorted(parted, key=_place)[:_MOST_SERIES])
    if len(parted) > _MOST_SERIES:
        yield Text(f"and {len(parted) - _MOST_SERIES} more that differ")
    if equal:
        yield Text(f"equal to the last bit at every common step: {listed(equal, _MOST_NAMES)}")
    for sentence in divergence.not_compared:
        yield Text(sentence)


def _place(series: SeriesDifference) -> int:
    return series.bitwise.step if series.bitwise is not None else 0


def _extent(divergence: Divergence) -> str:
    said = [f"compared at {count(divergence.steps, 'common step')}, by global step"]
    for label, number in (
        (divergence.first, divergence.only_first),
        (divergence.second, divergence.only_second),
    ):
        if number:
            said.append(f"{label} alone has {number:,} more")
    return "; ".join(said)


def at_words(at: At) -> str:
    """Where two series differ, with values that show it."""
    hashed = "fingerprint" in at.series
    first, second = hashes(at) if hashed else told_apart(at.first, at.second)
    return f"step {at.step}, {at.series}: {first} against {second}"


def hashes(at: At) -> tuple[str, str]:
    """Values that are hashes, as sixteen digits each."""
    first, second = (f"{int(value) % 2**64:016x}" for value in (at.first, at.second))
    return first, second


def _cause(number: int, cause: Cause) -> Iterator[Text]:
    sure = "" if cause.confidence is Confidence.CONFIRMED else f", {cause.confidence.value}"
    yield Text(f"cause {number} ({cause.kind.value}{sure}): {cause.title}. {cause.detail}".strip())
    if cause.keys:
        yield Text(f"borne out by: {listed(cause.keys, _MOST_NAMES)}")
    if cause.fix:
        yield Text(f"fix: {cause.fix}")


def _series(series: Sequence[SeriesDifference]) -> Table:
    header = ("series", "common steps", "differs from", "matters from", "largest gap")
    return Table(header, tuple(_series_row(s) for s in series), (1, 2, 3, 4))


def _series_row(series: SeriesDifference) -> tuple[str, ...]:
    bitwise, material = series.bitwise, series.material
    return (
        series.name,
        f"{series.compared:,}",
        "never" if bitwise is None else f"step {bitwise.step}",
        "never" if material is None else f"step {material.step}",
        _gap(series),
    )


def _gap(series: SeriesDifference) -> str:
    """The largest gap; what is only rounding is called so, not printed as a change."""
    if series.largest is None:
        return ""
    return small(series.largest) if series.material is not None else "rounding"

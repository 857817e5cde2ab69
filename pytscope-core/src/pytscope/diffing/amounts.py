"""The OUTCOMES and TIMING panels: what was measured of two runs or arms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytscope.diffing.numbers import centre, change, interval, named, quantity, sized, together
from pytscope.model.comparison import Measured, Side, Verdict
from pytscope.model.panels import Panel, Row, Status, Table, Text
from pytscope.model.wording import listed

_MOST_DETAILS = 12
_ORDER = (
    Verdict.REGRESSION,
    Verdict.IMPROVEMENT,
    Verdict.UNDECIDED,
    Verdict.NO_DIFFERENCE,
    Verdict.IDENTICAL,
)


def outcomes_panel(
    measured: Sequence[Measured], sides: Sequence[Side], notes: Iterable[str] = ()
) -> Panel:
    """Losses and other results, one number a run."""
    none = "no loss or other result that both have"
    return _panel("outcomes", "OUTCOMES", measured, sides, none, notes, 30)


def timings_panel(
    measured: Sequence[Measured], sides: Sequence[Side], notes: Iterable[str] = ()
) -> Panel:
    """Durations of steps and phases."""
    none = "no durations of steps that both have"
    return _panel("timings", "TIMING", measured, sides, none, notes, 40)


def _panel(
    name: str,
    title: str,
    measured: Sequence[Measured],
    sides: Sequence[Side],
    none: str,
    notes: Iterable[str],
    order: int,
) -> Panel:
    said = [Text(note) for note in notes]
    if not measured:
        return Panel(name, title, none, Status.NOT_MEASURED, said, order)
    rows: list[Row] = [_table(measured, sides), *_details(measured), *said]
    headline = " · ".join(filter(None, (verdict_words(measured), beyond_repeats(measured))))
    return Panel(name, title, headline, _status(measured), rows, order)


def _status(measured: Iterable[Measured]) -> Status:
    verdicts = {m.verdict for m in measured}
    if Verdict.REGRESSION in verdicts:
        return Status.BAD
    return Status.WATCH if Verdict.UNDECIDED in verdicts else Status.OK


def verdict_words(measured: Sequence[Measured], most: int = 4) -> str:
    """What the numbers amount to, the gravest first."""
    said = []
    for verdict in _ORDER:
        names = dict.fromkeys(named(m) for m in measured if m.verdict is verdict)
        if names:
            said.append(f"{verdict.value}: {listed(names, most)}")
    return " · ".join(said)


def beyond_repeats(measured: Iterable[Measured], most: int = 4) -> str:
    """Which changes, of too few runs for a verdict, are more than repeats differ by."""
    found = [m for m in measured if m.interval_of == "repeats" and not _holds_zero(m)]
    if not found:
        return ""
    said = listed(map(sized, found), most)
    return f"more than repeats differ by, of too few runs for a verdict: {said}"


def _table(measured: Sequence[Measured], sides: Sequence[Side]) -> Table:
    several = len({m.between for m in measured}) > 1
    first, second = ("first", "second") if several else _arms(measured[0], sides)
    header = ("", first, second, "change", "95% interval", "verdict")
    return Table(header, tuple(_row(m, several=several) for m in measured), (1, 2, 3))


def _row(measured: Measured, *, several: bool) -> tuple[str, ...]:
    return (
        named(measured) if several else measured.metric,
        centre(measured.first, measured.unit),
        centre(measured.second, measured.unit),
        change(measured),
        interval(measured),
        measured.verdict.value,
    )


def _arms(measured: Measured, sides: Sequence[Side]) -> tuple[str, str]:
    """What the two columns of values are called."""
    if measured.between:
        first, _, second = measured.between.partition(", ")
        return first, second
    arms = ([s.label for s in sides if s.arm == arm] for arm in (0, 1))
    first, second = map(together, arms)
    return first, second


def _details(measured: Sequence[Measured]) -> Iterator[Row]:
    """Sentences on how the numbers were judged; equal ones once, for all that they are about."""
    about: dict[str, list[str]] = {}
    of_steps = [each for each in measured if each.interval_of == "steps"]
    if of_steps:
        yield Text(_of_steps(of_steps))
    for each in measured:
        if each.interval_of != "steps" and (text := _judged(each)):
            about.setdefault(text, []).append(named(each))
    for text, names in list(about.items())[:_MOST_DETAILS]:
        yield Text(f"{listed(names, 6)}: {text}")


def _of_steps(measured: Sequence[Measured]) -> str:
    """One sentence on all whose interval is of the steps of two runs."""
    beyond = [named(m) for m in measured if not _holds_zero(m)]
    if beyond:
        which = "every change" if len(beyond) == len(measured) else listed(beyond, 6)
        said = (
            f"{which}: beyond the noise of the steps, in these two recordings alone; repeats may "
            "differ as much"
        )
    else:
        said = "no change is beyond the noise of the steps"
    if any(len(m.first) > 1 or len(m.second) > 1 for m in measured):
        said += "; copies of a run count once"
    tests = dict.fromkeys(m.test for m in measured if m.test)
    return f"{said}; 95% intervals by {max(tests, key=len)}" if tests else said


def _holds_zero(measured: Measured) -> bool:
    low, high = measured.low, measured.high
    return low is None or high is None or low <= 0.0 <= high


def _judged(measured: Measured) -> str:
    said = [measured.detail] if measured.detail else []
    if measured.test:
        p = "" if measured.p is None else f", p {measured.p:.2g}"
        said.append(f"{measured.test}{p}")
    if measured.smallest is not None:
        seen = quantity(measured.smallest, measured.unit, 2)
        said.append(f"smallest difference that would have been seen: {seen}")
    return "; ".join(text.rstrip(".") for text in said)

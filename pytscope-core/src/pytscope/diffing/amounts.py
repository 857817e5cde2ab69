"""The OUTCOMES and TIMING panels: what was measured of two runs or arms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytscope.diffing.metrics import STEP_TIME
from pytscope.diffing.numbers import (
    centre,
    change,
    interval,
    named,
    quantity,
    relative,
    sized,
    together,
)
from pytscope.diffing.sight import least_seen, share_seen, unclear
from pytscope.model.comparison import Measured, Side, Verdict
from pytscope.model.panels import Panel, Row, Status, Table, Text
from pytscope.model.wording import listed

_MOST_DETAILS = 12
_WHOLE = (STEP_TIME, "throughput")
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
    if not measured:
        return _empty("outcomes", "OUTCOMES", none, notes, 30)
    rows = (_table(measured, sides), *_details(measured), *map(Text, notes))
    status = _status(measured, doubtful=any(map(unclear, measured)))
    return Panel("outcomes", "OUTCOMES", _headline(measured), status, rows, 30)


def timings_panel(
    measured: Sequence[Measured], sides: Sequence[Side], *, detailed: bool = False
) -> Panel:
    """Durations of steps and phases.

    Args:
        measured: The durations.
        sides: The runs.
        detailed: Whether to say how every phase was tested, and not the whole step alone.
    """
    if not measured:
        return _empty("timings", "TIMING", "no durations of steps that both have", (), 40)
    tested = measured if detailed else [m for m in measured if m.metric in _WHOLE]
    rows = (_table(measured, sides), *_details(measured, tested))
    doubtful = any(unclear(m) for m in measured if m.metric == STEP_TIME)
    status = _status(measured, doubtful=doubtful)
    return Panel("timings", "TIMING", _headline(measured), status, rows, 40)


def _empty(name: str, title: str, none: str, notes: Iterable[str], order: int) -> Panel:
    return Panel(name, title, none, Status.NOT_MEASURED, [Text(note) for note in notes], order)


def _headline(measured: Sequence[Measured]) -> str:
    return " · ".join(filter(None, (verdict_words(measured), beyond_repeats(measured))))


def _status(measured: Iterable[Measured], *, doubtful: bool) -> Status:
    verdicts = {m.verdict for m in measured}
    if Verdict.REGRESSION in verdicts:
        return Status.BAD
    return Status.WATCH if doubtful or Verdict.UNDECIDED in verdicts else Status.OK


def verdict_words(measured: Sequence[Measured], most: int = 4) -> str:
    """What the numbers amount to, the gravest first."""
    said = []
    for verdict in _ORDER:
        mine = [m for m in measured if m.verdict is verdict]
        if mine:
            seen = _would_be_seen(mine) if verdict is Verdict.NO_DIFFERENCE else ""
            names = listed(dict.fromkeys(map(named, mine)), most)
            said.append(f"{verdict.value}: {names}{seen}")
    return " · ".join(said)


def _would_be_seen(measured: Sequence[Measured]) -> str:
    """How large differences would have been to be seen: that none was rules out no others."""
    known = sorted(s for m in measured if (s := share_seen(m)) is not None)
    if not known:
        return ""
    ends = dict.fromkeys(relative(share).lstrip("+") for share in (known[0], known[-1]))
    return f"; {' to '.join(ends)} or more would have been"


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


def _details(
    measured: Sequence[Measured], tested: Sequence[Measured] | None = None
) -> Iterator[Row]:
    """Sentences on how the numbers were judged; equal ones once, for all that they are about.

    Args:
        measured: The numbers.
        tested: Those of which to say how they were tested; None for all.
    """
    about: dict[str, list[str]] = {}
    of_steps = [each for each in measured if each.interval_of == "steps"]
    if of_steps:
        yield Text(_of_steps(of_steps))
    for each in measured:
        if each.interval_of != "steps" and (
            text := _judged(each, tested=tested is None or each in tested)
        ):
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


def _judged(measured: Measured, *, tested: bool) -> str:
    said = [measured.detail] if measured.detail else []
    if not tested:
        return "".join(said).rstrip(".")
    if measured.test:
        p = "" if measured.p is None else f", p {measured.p:.2g}"
        said.append(f"{measured.test}{p}")
    if measured.smallest is not None:
        seen = quantity(measured.smallest, measured.unit, 2)
        share = f" ({least_seen(measured)})" if share_seen(measured) is not None else ""
        said.append(f"smallest difference that would have been seen: {seen}{share}")
    return "; ".join(text.rstrip(".") for text in said)

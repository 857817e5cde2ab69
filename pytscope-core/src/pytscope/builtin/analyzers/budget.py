"""The budget analyzer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import attrs

from pytscope.analyses.around import Around
from pytscope.analyses.budget import (
    RECOVERABLE,
    Budget,
    BudgetLine,
    BudgetPart,
    Impossible,
    RankBudget,
)
from pytscope.analyses.few import few
from pytscope.analyses.units import duration
from pytscope.builtin.analyzers.efficiency import Figures, figures, move, split
from pytscope.builtin.analyzers.ledger import OF_THE_REGION, Ledger, in_order, ledger, line_of
from pytscope.builtin.analyzers.phases import around
from pytscope.plugins.declare import analyzer
from pytscope.runs.run import Run, Timeline
from pytscope.stats import ranges

_MOST = 0.5


@attrs.frozen
class _Counted:
    """One rank's ledger, not yet made into lines: of thousands of ranks only three are."""

    rank: int
    wall_ns: int
    lines: Ledger
    mfu: float | None

    def budget(self, role: str = "") -> RankBudget:
        lines = _lines(self.lines, self.wall_ns)
        return RankBudget(self.rank, self.wall_ns, lines, self.mfu, role)


@analyzer("budget")
def budget(run: Run, parts: tuple[BudgetPart, ...]) -> Budget:
    """Split every rank's measured wall into lines that sum to it, to the nanosecond."""
    shown, known = run.shown, figures(run)
    odd = list(known.impossible)
    counted = [_rank(t, known, parts, odd, shown=t is shown) for t in run.timelines]
    mine = next(c for c in counted if c.rank == shown.rank).budget()
    rated = shown.rated
    steps, steps_wall = int(rated.sum()), int(shown.wall_ns[rated].sum())
    useful_s = known.useful_s(steps)
    reason = known.reason or ("" if steps else "a step that counts in rates")
    return Budget(
        shown_rank=shown.rank,
        wall_ns=mine.wall_ns,
        lines=mine.lines,
        ranks=_kept(counted),
        rank_count=len(counted),
        mfu=mine.mfu,
        mfu_steps=_mfu(useful_s, steps_wall, known),
        mfu_reason=reason,
        flops_per_step=known.flops_per_step,
        peak_flops=known.peak_flops,
        steps=steps,
        steps_wall_ns=steps_wall,
        step_ranges=ranges(shown.step[rated]),
        downtime_ns=sum(a.downtime_ns for a in shown.attempts),
        has_timeline=run.has_timeline,
        has_wall=run.has_wall,
        impossible=tuple(_joined(odd)),
        exchange_measured=_exchange(run, parts),
        around=_around(shown),
        parts=tuple(
            {"take_from": p.take_from, "give_to": p.give_to, "ns": p.ns, "why": p.why}
            for p in parts
        ),
    )


def _rank(
    timeline: Timeline,
    known: Figures,
    parts: Iterable[BudgetPart],
    odd: list[Impossible],
    *,
    shown: bool,
) -> _Counted:
    """One rank's ledger; contradictions are appended to `odd`."""
    rank, wall = timeline.rank, timeline.measured_ns
    lines = ledger(timeline)
    odd += _unaccounted(lines, rank)
    early = [p for p in parts if p.take_from not in ("useful_compute", "compute_overhead")]
    late = [p for p in parts if p not in early]
    odd += move(lines, early, rank, shown=shown)
    steps = int(timeline.rated.sum())
    useful_s = known.useful_s(steps) if steps else None
    if useful_s is not None:
        odd += split(lines, useful_s, rank, has_timeline=known.has_timeline)
    odd += move(lines, late, rank, shown=shown)
    return _Counted(rank, wall, lines, _mfu(useful_s, wall, known))


def _around(timeline: Timeline) -> dict[str, Around]:
    """What lies outside of a rank's steps, by line; several phases may be on one."""
    found: dict[str, Around] = {}
    for phase, one in around(timeline).items():
        if phase not in OF_THE_REGION:
            known = found.get(line_of(phase), Around())
            found[line_of(phase)] = known.joined(one)
    return found


def _exchange(run: Run, parts: Iterable[BudgetPart]) -> bool | None:
    """Whether the ranks' exchange is on the line of that name; None in a run of one rank.

    It is where most of the shown rank's rated steps have `comm`, or where somebody measured
    it elsewhere and moves it there.
    """
    if max(run.world_size or 0, len(run.timelines)) < 2:  # noqa: PLR2004  # two exchange
        return None
    if any(part.give_to == "communication" for part in parts):
        return True
    rated = run.shown.rated
    there = int((run.shown.phase_ns("comm")[rated] > 0).sum())
    return bool(rated.any()) and there >= _MOST * int(rated.sum())


def _mfu(useful_s: float | None, wall_ns: int, known: Figures) -> float | None:
    if useful_s is None or not wall_ns or not known.has_timeline:
        return None
    return useful_s * 1e9 / wall_ns


def _unaccounted(lines: Ledger, rank: int) -> Iterator[Impossible]:
    if lines["other"] < 0:
        over = duration(-lines["other"])
        message = f"The phases sum to {over} more than the wall of their steps."
        yield Impossible("phases", message, "the source of the durations", (rank,))
    if lines.get("lost", 0) < 0:
        message = f"Records follow each other by {duration(lines['lost'])}."
        yield Impossible("clock", message, "the clock of the recording, which went back", (rank,))


def _lines(lines: Ledger, wall_ns: int) -> tuple[BudgetLine, ...]:
    return tuple(
        BudgetLine(
            name, lines[name], lines[name] / wall_ns if wall_ns else 0.0, name in RECOVERABLE
        )
        for name in in_order(lines)
    )


def _kept(ranks: Sequence[_Counted]) -> tuple[RankBudget, ...]:
    kept = few(ranks, lambda r: (r.wall_ns, r.rank))
    roles = ("min", "median", "max") if len(kept) < len(ranks) else ("",) * len(kept)
    return tuple(rank.budget(role) for rank, role in zip(kept, roles, strict=True))


def _joined(seen: Iterable[Impossible]) -> Iterator[Impossible]:
    """One entry a kind and suspect, with all ranks it was seen on."""
    first: dict[tuple[str, str], Impossible] = {}
    for one in seen:
        key = (one.kind, one.suspect)
        kept = first.setdefault(key, one)
        if kept is not one:
            first[key] = attrs.evolve(kept, ranks=(*kept.ranks, *one.ranks))
    return iter(first.values())

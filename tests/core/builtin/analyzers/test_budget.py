"""The budget analyzer: the identity, the regions, FLOPs and parts."""

from __future__ import annotations

from collections import Counter

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytscope.analyses import Budget, BudgetPart
from pytscope.builtin.analyzers import budget
from pytscope.model.panels import Meter
from pytscope.model.records import Flag
from pytscope.testing import make_run
from tests.core.builtin.analyzers.test_timing import loose

LINES = {
    "data": "data_stall",
    "h2d": "h2d",
    "forward": "compute",
    "backward": "compute",
    "loss": "compute",
    "optimizer": "compute",
    "compute": "compute",
    "no_grad": "compute",
    "comm": "communication",
    "eval": "eval",
    "checkpoint": "checkpoint",
    "log": "log",
    "compile": "compile",
    "gc": "gc",
    "failed": "failed",
    "other": "other",
    "mine": "mine",
    "warmup": "phase:warmup",
}


def made(run, parts=()) -> Budget:
    account: Budget = budget(run, parts)
    return account


def as_dict(account: Budget) -> dict[str, int]:
    return {line.name: line.ns for line in account.lines}


OF_REGIONS = {"other", "gc", "compile", "comm", "h2d"}


def counted_one_by_one(run, rank: int) -> Counter[str]:
    """The lines by a slow way of their own: record by record, segment by segment."""
    timeline, lines = run.rank(rank), Counter()
    for record in timeline.records():
        if record.flags & Flag.REDONE:
            lines["redone"] += record.wall_ns
        elif record.flags & Flag.WARMUP:
            lines["warmup"] += record.wall_ns
        else:
            for phase, ns in _evaluations(record.segments):
                lines[LINES[phase]] += ns
    for attempt in timeline.attempts:
        lines["lost"] += attempt.lost_ns
        for region, segments in (("startup", attempt.startup), ("shutdown", attempt.shutdown)):
            for phase, ns in _evaluations(segments):
                lines[region if phase in OF_REGIONS else LINES[phase]] += ns
    return +lines


def _evaluations(segments) -> list[tuple[str, int]]:
    """Segments, a fetch between two of an evaluation as one of it."""
    named = []
    for at, (phase, ns) in enumerate(segments):
        around = [name for name, _ in (*segments[max(0, at - 1) : at], *segments[at + 1 : at + 2])]
        named.append(("eval" if phase == "data" and around == ["eval", "eval"] else phase, ns))
    return named


segments = st.lists(st.tuples(st.sampled_from(sorted(LINES)), st.integers(0, 10**12)), max_size=6)


@st.composite
def runs(draw):
    steps = draw(st.lists(segments, min_size=1, max_size=12))
    first = draw(st.integers(1, len(steps)))
    resumed = draw(st.integers(0, first))
    attempts = [(0, first)]
    if len(steps) > first:
        attempts.append((max(1, resumed), len(steps) - first))
    other = draw(st.one_of(st.just([[]] * len(steps)), st.just(steps[::-1])))
    return make_run(
        steps,
        unit="ns",
        ranks={0: steps, 3: other},
        attempts=attempts,
        startup=draw(segments),
        shutdown=draw(segments),
        warmup=draw(st.integers(0, 3)),
        last_attempt={
            "lost_ns": draw(st.integers(0, 10**9)),
        },
        finished=draw(st.booleans()),
        flops_per_step=draw(st.sampled_from([None, 1e3, 1e15])),
        peak_flops=draw(st.sampled_from([None, 1e12])),
    )


@given(runs(), st.lists(st.integers(0, 10**12), max_size=3))
@settings(max_examples=150, deadline=None)
def test_lines_of_every_rank_sum_to_its_wall_whatever_happened(run, moved):
    parts = tuple(
        BudgetPart("data_stall", "straggler_wait", ns, "test", {3: ns // 2}) for ns in moved
    )
    account = made(run, parts)
    for rank in account.ranks:
        assert sum(line.ns for line in rank.lines) == rank.wall_ns
        assert rank.wall_ns == run.rank(rank.rank).measured_ns
        if rank.wall_ns:
            shares = [line.share for line in rank.lines]
            # Impossible figures give lines of many walls, whose rounding shows in the sum.
            rounding = 1e-14 * max(map(abs, shares))
            assert sum(shares) == pytest.approx(1, abs=max(1e-9, rounding))


@given(runs())
@settings(max_examples=100, deadline=None)
def test_lines_are_those_that_counting_record_by_record_gives(run):
    account = made(attrs.evolve(run, flops_per_step=None, peak_flops=None))
    for rank in account.ranks:
        lines = Counter({line.name: line.ns for line in rank.lines})
        assert +lines == counted_one_by_one(run, rank.rank)
    assert account.impossible == ()


def test_regions_win_over_phases():
    run = make_run({"data": 1, "forward": 9}, attempts=[(0, 10), (5, 10)], warmup=2, unit="ns")
    assert as_dict(made(run)) == {
        "compute": 9 * 11,
        "data_stall": 11,
        "other": 0,
        "warmup": 40,
        "redone": 50,
    }


def test_startup_and_shutdown_hold_what_interrupts_no_training():
    run = make_run(
        {"forward": 10},
        steps=1,
        startup=[("other", 5), ("gc", 11), ("compile", 7), ("h2d", 13)],
        shutdown=[("checkpoint", 3), ("other", 2), ("gc", 17)],
        unit="ns",
    )
    assert as_dict(made(run)) == {
        "compute": 10,
        "checkpoint": 3,
        "other": 0,
        "startup": 36,
        "shutdown": 19,
    }


def test_an_exchange_without_a_phase_is_not_measured():
    phases = {"forward": 1, "comm": [1, *[0] * 9]}
    assert made(make_run(phases, steps=10)).exchange_measured is None
    assert made(make_run(phases, steps=10, ranks=2)).exchange_measured is False
    assert made(make_run({"forward": 1}, steps=10, world_size=2)).exchange_measured is False
    assert made(make_run({"forward": 1, "comm": 1}, steps=10, ranks=2)).exchange_measured is True


def test_a_users_phase_keeps_its_name_and_never_joins_a_line_of_core():
    account = made(make_run({"encode": 5, "lost": 2, "forward": 1}, steps=1, unit="ns"))
    assert as_dict(account) == {"compute": 1, "encode": 5, "phase:lost": 2, "other": 0}


def test_mfu_is_useful_over_wall_and_splits_compute():
    run = make_run(
        {"data": 5, "forward": 15},
        steps=100,
        warmup=20,
        startup=[("other", 400)],
        flops_per_step=8e9,
        peak_flops=1e12,
    )
    account = made(run)
    useful = 80 * 8_000_000
    assert account.ns("useful_compute") == useful
    assert account.ns("compute_overhead") == 80 * 15_000_000 - useful
    assert account.mfu == pytest.approx(useful / account.wall_ns)
    assert account.mfu_steps == pytest.approx(0.4)
    assert (account.steps, account.steps_wall_ns) == (80, 80 * 20_000_000)
    assert account.impossible == ()


@pytest.mark.parametrize(
    ("flops", "peak", "needs", "known"),
    [
        (None, None, "FLOPs per step", "none"),
        (1e9, None, "peak FLOP/s", "FLOPs per step"),
        (None, 1e12, "FLOPs per step", "peak FLOP/s"),
    ],
)
def test_a_missing_figure_is_named(flops, peak, needs, known):
    account = made(make_run({"forward": 10}, flops_per_step=flops, peak_flops=peak))
    assert account.mfu is None
    assert needs in account.mfu_reason
    assert known not in account.mfu_reason
    assert account.impossible == ()
    assert account.ns("compute") == account.wall_ns


@pytest.mark.parametrize("bad", [0.0, -5.0, float("nan"), float("inf")])
@pytest.mark.parametrize("which", ["flops_per_step", "peak_flops"])
def test_figures_no_machine_has_are_impossible_and_never_used(bad, which):
    figures = {"flops_per_step": 1e9, "peak_flops": 1e12, which: bad}
    account = made(make_run({"forward": 10}, **figures))
    (seen,) = account.impossible
    assert seen.kind == "figures"
    assert {"flops_per_step": "FLOPs", "peak_flops": "peak"}[which] in seen.suspect
    assert account.mfu is None
    assert account.mfu_reason


def test_a_bad_figure_is_told_even_when_the_other_is_missing():
    account = made(make_run({"forward": 10}, flops_per_step=-1.0))
    assert [seen.kind for seen in account.impossible] == ["figures"]
    assert "peak FLOP/s" in account.mfu_reason


def test_figures_whose_ratio_overflows_are_impossible():
    account = made(make_run({"forward": 10}, flops_per_step=1e308, peak_flops=1e-9))
    assert [seen.kind for seen in account.impossible] == ["figures"]


def test_mfu_above_one_is_told_and_not_clamped():
    account = made(make_run({"forward": 10}, flops_per_step=1e18, peak_flops=1e12))
    (seen,) = account.impossible
    assert seen.kind == "mfu"
    assert account.mfu == pytest.approx(1e8)
    assert account.ns("compute_overhead") < 0
    assert sum(line.ns for line in account.lines) == account.wall_ns


def test_more_useful_compute_than_compute_is_told_though_mfu_is_possible():
    run = make_run({"forward": 2, "log": 18}, flops_per_step=8e9, peak_flops=1e12)
    account = made(run)
    (seen,) = account.impossible
    assert seen.kind == "compute"
    assert "host clock" in seen.suspect
    assert account.mfu == pytest.approx(0.4)


def test_without_a_phase_of_compute_there_is_mfu_and_no_split():
    account = made(make_run({"other": 20}, flops_per_step=8e9, peak_flops=1e12))
    assert account.mfu == pytest.approx(0.4)
    assert as_dict(account) == {"other": account.wall_ns}
    assert account.impossible == ()


def test_without_rated_steps_there_is_no_mfu():
    run = make_run({"forward": 10}, steps=3, warmup=3, flops_per_step=1e9, peak_flops=1e12)
    account = made(run)
    assert account.mfu is None
    assert "rates" in account.mfu_reason


def test_one_contradiction_on_many_ranks_is_one_entry():
    account = made(make_run({"forward": 10}, ranks=3, flops_per_step=1e18, peak_flops=1e12))
    (seen,) = account.impossible
    assert seen.ranks == (0, 1, 2)


@attrs.frozen(eq=False, kw_only=True)
class Waiting(BudgetPart):
    """A part with a field of its own, as a plugin would define it."""

    culprit: int


def test_parts_move_time_on_the_ranks_they_name():
    run = make_run({"forward": 6, "comm": 4}, ranks=3, steps=10)
    part = Waiting(
        take_from="communication",
        give_to="straggler_wait",
        ns=30_000_000,
        why="rank 2 arrives last",
        by_rank={0: 20_000_000},
        culprit=2,
    )
    account = made(run, (part,))
    waits = {
        r.rank: next((x.ns for x in r.lines if x.name == "straggler_wait"), 0)
        for r in account.ranks
    }
    assert waits == {0: 20_000_000, 1: 30_000_000, 2: 0}
    assert account.ns("communication") == 10_000_000
    assert account.parts[0]["why"] == "rank 2 arrives last"
    assert account.impossible == ()


def test_a_part_larger_than_its_line_leaves_it_negative_and_is_told():
    run = make_run({"forward": 6, "comm": 4}, steps=10)
    account = made(run, (BudgetPart("communication", "straggler_wait", 50_000_000, "test"),))
    assert account.ns("communication") == -10_000_000
    assert sum(line.ns for line in account.lines) == account.wall_ns
    (seen,) = account.impossible
    assert seen.kind == "part"
    assert "BudgetPart" in seen.suspect


def test_a_part_from_nowhere_or_below_zero_is_told():
    run = make_run({"forward": 6}, steps=10)
    assert made(run, (BudgetPart("comm", "x", 5, "test"),)).impossible
    assert made(run, (BudgetPart("compute", "x", -5, "test"),)).impossible


@pytest.mark.parametrize("source", ["compute", "compute_overhead"])
def test_recompute_comes_out_of_compute_before_or_after_the_split(source):
    run = make_run({"forward": 10}, steps=10, flops_per_step=6e9, peak_flops=1e12)
    part = BudgetPart(source, "recompute", 20_000_000, "activation checkpointing")
    assert as_dict(made(run, (part,))) == {
        "useful_compute": 60_000_000,
        "recompute": 20_000_000,
        "compute_overhead": 20_000_000,
        "other": 0,
    }
    unsplit = made(attrs.evolve(run, flops_per_step=None), (part,))
    assert unsplit.ns("compute") == 80_000_000
    assert unsplit.impossible == ()


def test_of_many_ranks_three_are_kept():
    run = make_run({"forward": 10}, ranks={r: {"forward": 10 + r} for r in range(65)}, steps=2)
    account = made(run)
    assert [(r.role, r.rank) for r in account.ranks] == [("min", 0), ("median", 32), ("max", 64)]
    assert (account.shown_rank, account.rank_count) == (32, 65)
    assert len(made(make_run({"forward": 10}, ranks=64, steps=2)).ranks) == 64


def test_recoverable_lines_are_marked():
    account = made(make_run({"data": 1, "comm": 1, "eval": 1, "gc": 1, "forward": 1}))
    marked = {line.name for line in account.lines if line.recoverable}
    assert marked == {"data_stall", "communication", "gc"}


def test_downtime_stays_beside_the_identity():
    run = make_run({"forward": 10}, last_attempt={"downtime_ns": 7})
    account = made(run)
    assert account.downtime_ns == 7
    assert sum(line.ns for line in account.lines) == account.wall_ns


def test_phases_beyond_the_wall_are_impossible():
    account = made(loose({"forward": [16, 17]}, [10, 10]))
    assert account.ns("other") == -13
    assert sum(line.ns for line in account.lines) == account.wall_ns == 20
    assert [seen.kind for seen in account.impossible] == ["phases"]


def test_a_clock_that_went_back_is_impossible():
    account = made(make_run({"forward": 10}, steps=2, last_attempt={"lost_ns": -5}))
    assert account.ns("lost") == -5
    assert [seen.kind for seen in account.impossible] == ["clock"]


def test_what_of_a_line_lies_outside_of_the_steps_is_told_where_it_is_much():
    run = make_run(
        {"forward": 10, "eval": [300 if i == 50 else 0 for i in range(100)]},
        startup=[("eval", 50)],
        shutdown=[("eval", 100), ("data", 10), ("eval", 40), ("other", 5), ("gc", 5)],
    )
    known = made(run)
    (outside,) = known.around.values()
    assert (outside.before, outside.before_ns, outside.after) == (1, 50_000_000, 1)
    assert outside.after_ns == 150_000_000
    notes = {row.label: row.note for row in known.panel().rows if isinstance(row, Meter)}
    assert notes["eval"] == "50.0 ms before the first and 150 ms after the last step"
    assert {notes[name] for name in ("compute", "other", "shutdown")} == {""}

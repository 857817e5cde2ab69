"""No rule raises, whatever the run looks like; and none is loud on a healthy one."""

from __future__ import annotations

import attrs
import pytest

from pytscope.analysis.options import AnalyzeOptions
from pytscope.analysis.orchestrator import analyze
from pytscope.model.findings import Severity
from pytscope.model.records import Flag
from pytscope.model.report import Outcome
from pytscope.runs.run import ReadNote
from pytscope.testing import make_run
from tests.core.builtin.rules.noise import FAMILIES, RELATIONS, WARMING_UP, healthy_run, related_run
from tests.core.builtin.rules.test_together import REGISTRY

NAN = float("nan")
FULL = {"data": 1, "forward": 6, "loss": 1, "backward": 12, "comm": 2, "optimizer": 1}
KINDS = ("damaged", "second_file", "clock_step", "clock_back", "newer_format", "values", "unheard")

ODD = {
    "no step": make_run({"forward": []}),
    "one step": make_run(FULL, steps=1),
    "two steps": make_run(FULL, steps=2),
    "ties": make_run(FULL, steps=200),
    "zero durations": make_run(dict.fromkeys(FULL, 0), steps=50),
    "some steps of zero": make_run({**FULL, "forward": [0, 6] * 50}),
    "half of the phases in half of the steps": make_run(
        [[("forward", 5)] if i % 2 else [("backward", 9), ("optimizer", 1)] for i in range(60)]
    ),
    "only other": make_run({"other": 10}),
    "only comm": make_run({"comm": 10}),
    "only eval": make_run({"eval": 10}),
    "nanoseconds": make_run(FULL, unit="ns"),
    "years": make_run({"forward": 3 * 10**7, "backward": 10**7}, unit="s", steps=30),
    "below zero": make_run({**FULL, "backward": [-5, 12] * 50}),
    "all below zero": make_run(dict.fromkeys(FULL, -1), steps=30),
    "values that are none": make_run(
        FULL, scalars={"loss": NAN, "grad_norm": [None, NAN] * 50, "tokens": float("inf")}
    ),
    "every flag": make_run(FULL, flags={flag: range(50) for flag in Flag if flag}),
    "all warm-up": make_run(FULL, warmup=500),
    "all redone": make_run(FULL, attempts=[(5, 50), (0, 50)]),
    "attempts without steps": make_run(FULL, attempts=[(0, 0), (0, 50), (20, 0), (20, 30)]),
    "ranks and attempts": make_run(FULL, ranks=3, attempts=[(0, 60), (30, 40)]),
    "a rank alone of many": make_run(FULL, ranks={7: {}}, world_size=100),
    "every note": make_run(
        FULL, notes=[ReadNote(k, f"said of {k}", r) for k in KINDS for r in (None, 0, 5)]
    ),
    "impossible figures": make_run(FULL, flops_per_step=NAN, peak_flops=-1.0),
    "figures that fit": make_run(FULL, flops_per_step=5e9, peak_flops=1e12),
    "hundreds of micro-batches": make_run(FULL, micro_batches=300),
    "killed": make_run(FULL, ranks=2, finished=False, last_attempt={"lost_ns": 10**9}),
}


@pytest.mark.parametrize("name", sorted(ODD))
def test_no_rule_raises(name):
    run = ODD[name]
    runs = [run, attrs.evolve(run, live=True), attrs.evolve(run, has_timeline=False)]
    runs.append(attrs.evolve(run, other_attempts=(0, 3), world_size=None))
    for odd in runs:
        report = analyze(odd, REGISTRY, AnalyzeOptions(raise_errors=True))
        assert not [c for c in report.checks if c.outcome is Outcome.ERROR]
        for finding in report.findings:
            assert finding.title
            assert finding.fix


def test_ranks_cut_apart_raise_nothing_and_are_never_called_healthy():
    run = make_run(FULL, ranks=3)
    a, b, c = run.timelines
    none, half = b.select(b.step < 0, b.attempts), c.select(c.step >= 50, c.attempts)
    first = a.select(a.step < 50, a.attempts)
    for kept in ((a, none), (none, a), (first, half), (a, half), (none,), (b, none, half)):
        ranked = {t.rank: t for t in kept}
        odd = attrs.evolve(run, timelines=tuple(ranked.values()), world_size=None)
        report = analyze(odd, REGISTRY, AnalyzeOptions(raise_errors=True))
        said = {f.rule for f in report.findings if f.severity.order <= Severity.MEDIUM.order}
        assert said & {"COVERAGE.RANKS_MISSING", "COVERAGE.RANK_SHORT", "COVERAGE.TOO_FEW_STEPS"}


@pytest.mark.parametrize("steps", [60, 300])
def test_healthy_families_give_nothing_above_low(steps):
    for name, family in FAMILIES.items():
        warmup = None if name in WARMING_UP else 0
        run = healthy_run(family, steps, 3, warmup=warmup)
        for finding in analyze(run, REGISTRY).findings:
            assert finding.severity.order >= Severity.LOW.order, (name, finding.title)
    for name, family in RELATIONS.items():
        run = related_run(family, steps, 3)
        assert not analyze(run, REGISTRY).findings, name

"""A comparison made by hand, for tests of what is drawn of one."""

from __future__ import annotations

from typing import Any

import attrs

from pytscope.diffing.headline import headline
from pytscope.diffing.panels import panels
from pytscope.model.comparison import (
    ABSENT,
    At,
    Cause,
    CauseKind,
    ComparedRule,
    Comparison,
    Difference,
    Divergence,
    Kind,
    Likelihood,
    Measured,
    SeriesDifference,
    SharedStep,
    Side,
    Verdict,
)
from pytscope.model.comparison_causes import CauseId
from pytscope.model.findings import Severity
from pytscope.model.report import Outcome, Problem
from tests.core.report_samples import RUN

SIDES = (
    Side(label="A", arm=0, run=attrs.evolve(RUN, name="base"), repeats="k"),
    Side(label="B", arm=1, run=attrs.evolve(RUN, name="changed", steps=90), repeats="k"),
)
AT = At(12, "loss", 0.69314718, 0.69314719)
LATER = At(40, "loss", 0.61, 0.74)
LOSS = SeriesDifference("loss", 90, 5, 0, AT, LATER, 0.13, "1e-05 of the value")
ORDER = Cause(
    id=CauseId.DATA_ORDER,
    kind=CauseKind.BATCH,
    title="the order of the data",
    detail="The batch of step 12 differs before anything else does.",
    keys=("seeds.python",),
    fix="Seed the sampler.",
)
PARTED = Divergence(
    first="A",
    second="B",
    steps=90,
    only_first=5,
    series=(LOSS, SeriesDifference("lr", 90, 5, 0, None, None, 0.0)),
    bitwise=AT,
    material=LATER,
    identical=False,
    causes=(ORDER,),
    not_compared=("memory was recorded in A alone",),
)
SEEDS = Difference("seeds.python", Kind.SEED, Likelihood.YES, (1, 2), "Draws differ.")
HOST = Difference("host.name", Kind.HOST, Likelihood.HARDLY, ("one", ABSENT))
WORSE = Measured(
    metric="final loss",
    first=(0.50, 0.51, 0.52),
    second=(0.60, 0.61, 0.62),
    difference=0.10,
    low=0.08,
    high=0.12,
    relative=0.196,
    p=0.0003,
    test="Welch t, 3 and 3 runs",
    noise=0.01,
    smallest=0.03,
    verdict=Verdict.REGRESSION,
    detail="Ten times what repeats differ by.",
)
SLOWER = Measured(
    metric="step time",
    unit="ms",
    first=(20.0,),
    second=(21.0,),
    difference=1.0,
    low=0.9,
    high=1.1,
    relative=0.05,
    verdict=Verdict.UNDECIDED,
    detail="One run an arm.",
    interval_of="steps",
)
BAD_BATCH = SharedStep(
    step=918, series="loss", runs=("A", "B"), ratios=(1.36, 1.37), chance=1e-5, detail="Same data."
)
RULE = ComparedRule(
    rule="TIMING.JITTER",
    outcomes=(Outcome.PASSED, Outcome.FINDING),
    severities=(None, Severity.HIGH),
    costs_s=(None, 1.5),
    title="Steps jitter",
)


def compared(**changes: Any) -> Comparison:
    """Two runs that part, with something in every section."""
    given: dict[str, Any] = {
        "sides": SIDES,
        "identical": False,
        "headline": "",
        "facts": 40,
        "differences": (SEEDS, HOST),
        "divergences": (PARTED,),
        "outcomes": (WORSE,),
        "timings": (SLOWER,),
        "watched": ("loss",),
        "shared": (BAD_BATCH,),
        "checks": ({Outcome.PASSED: 9}, {Outcome.PASSED: 8, Outcome.FINDING: 1}),
        "findings": (RULE,),
        "gained": (RULE.rule,),
        "problems": (Problem("acme", "acme-pack", "1.0", "rule ACME.X", "KeyError: 'x'", "trace"),),
        "tool_version": "0.3.0",
        **changes,
    }
    plain = Comparison(**given)
    return attrs.evolve(plain, headline=plain.headline or headline(plain), panels=panels(plain))

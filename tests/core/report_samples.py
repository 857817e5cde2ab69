"""Hand-built reports for the tests of reporters, documents and the command line."""

from __future__ import annotations

import itertools
import math
from typing import Any

import attrs
import numpy as np

from pytscope.analyses.column import Column
from pytscope.builtin.analyzers.coverage import coverage
from pytscope.model.findings import Confidence, Cost, Finding, Severity
from pytscope.model.panels import Meter, Panel, Row, Spark, Status, Table, Text
from pytscope.model.report import (
    Check,
    FoldedFinding,
    Outcome,
    PluginInfo,
    PluginState,
    Problem,
    Report,
    RunSummary,
)
from pytscope.runs.building import make_run

RUN = RunSummary(
    name="exp1",
    path="/data/runs/exp1",
    ranks=(0,),
    world_size=1,
    steps=95,
    wall_ns=2_310_000_000,
    finished=True,
    source="pytscope",
    created_epoch_ns=1_780_000_000_000_000_000,
)

HOSTILE = (
    "esc \x1b[2J\x1b]0;owned\x07 done",
    "[bold red]markup[/] [x] :smile: 12.5",
    "two\nlines\r\nand\ttab",
    "日本語の名前 한국어 😀👍🏽 ❤️",
    "lone \udc80 surrogate \ud800",
    "bidi \u202egnp.exe\u202c \u2066isolate\u2069 \u200bzero\u200d",
    "nel \x85 csi \x9b31m del \x7f nul \x00 ls \u2028 ps \u2029",
    "a" * 200,
    "name" * 125,
    "שלום עולם مرحبا بالعالم",
    "q\u0323\u0307\u0308\u0301" * 20 + " 👩‍👩‍👧 ก็",
    "字" * 150,
    "e\u0301" * 60,
    "",
    " ",
    "\\x1b already",
    "\ue000 private \U000e0041 tag \ufeff bom \uffff",
)


def timing_panel(rows: tuple[Row, ...] = ()) -> Panel:
    return Panel(
        "timing",
        "TIMING",
        "95 steps · 23.1 ms/step · 43.3 steps/s · median 22.0 · p95 28.4 ms",
        Status.BAD,
        (
            Spark("step time", tuple(20 + i % 7 for i in range(95)), "low→high"),
            Meter("data", 0.5199, "12.01 ms", group="phases"),
            Meter("forward", 0.1732, "4.00 ms", group="phases"),
            Meter("backward", 0.2602, "6.01 ms", group="phases"),
            Meter("optimizer", 0.0467, "1.00 ms", group="phases"),
            *rows,
        ),
        order=10,
    )


def budget_panel() -> Panel:
    return Panel(
        "budget",
        "EFFICIENCY BUDGET",
        "where 2.31 s of wall time went",
        Status.BAD,
        (
            Meter("compute", 1.11 / 2.31, "1.11 s", group="wall"),
            Meter("data_stall", 1.2 / 2.31, "1.20 s", "recoverable", group="wall"),
        ),
        order=20,
    )


def coverage_panel() -> Panel:
    table = Table(("signal", "steps"), (("loss", "95"), ("memory", "0")), right=(1,))
    rows = (table, Text("Recording cost 11 µs a step, 0.05% of wall."))
    return Panel("coverage", "COVERAGE", "1 rank · nothing lost", Status.OK, rows, order=80)


DATALOADER = Finding(
    rule="TIMING.DATALOADER_BOUND",
    severity=Severity.HIGH,
    title="The input pipeline is the bottleneck",
    detail="52% of step time is spent waiting for data, 12.0 ms a step, while nothing else runs.",
    cost_s=Cost(1.141, 1.05, 1.2),
    evidence=[
        ("wait for data", 12.01, "ms", 11.8, 12.2, (5, 94), 0),
        ("batches that waited", 95),
        ("loader", "DataLoader"),
    ],
    fix="Raise num_workers, set persistent_workers=True and pin_memory=True, or move heavy "
    "transforms out of the loop.",
    verify="pytscope diff with a new run: data should fall",
    steps=[(5, 94)],
    ranks=[0],
    explains=["EFFICIENCY.RECOVERABLE"],
)

RECOVERABLE = Finding(
    rule="EFFICIENCY.RECOVERABLE",
    severity=Severity.HIGH,
    title="49% of wall time is recoverable",
    cost_s=1.141,
    confidence=Confidence.SUGGESTIVE,
)

JITTER = Finding(
    rule="TIMING.JITTER",
    severity=Severity.LOW,
    title="Every 10th step is slow",
    steps=[9, 19, 29, 39, 49, 59, 69, 79],
)

CHECKS = (
    Check("COVERAGE.NOT_FINISHED", Outcome.PASSED),
    Check("EFFICIENCY.LOW_MFU", Outcome.NOT_MEASURED, "FLOPs of a step (--flops-per-step)"),
    Check("EFFICIENCY.RECOVERABLE", Outcome.FINDING),
    Check("TIMING.DATALOADER_BOUND", Outcome.FINDING, thresholds={"min_share": 0.2}),
    Check("TIMING.JITTER", Outcome.FINDING),
)

BUILTIN = PluginInfo(
    "builtin",
    "pytscope-core",
    "0.3.0",
    PluginState.LOADED,
    {"rules": ("TIMING.JITTER",), "reporters": ("json", "text")},
    load_ns=12_300_000,
    builtin=True,
)


@attrs.frozen(eq=False)
class AcmeSample:
    """An analysis with a column, a numpy scalar and numbers that are not finite."""

    steps: int
    mean_ns: Any
    worst: float
    walls: Column
    missing: float | None = None


def report(**changes: Any) -> Report:
    """A report with findings; any field may be replaced."""
    sample = AcmeSample(95, np.float64(23.1e6), math.inf, Column(np.arange(95)))
    fields: dict[str, Any] = {
        "run": RUN,
        "folded": (FoldedFinding(DATALOADER, (RECOVERABLE,)), FoldedFinding(JITTER)),
        "checks": CHECKS,
        "panels": (timing_panel(), budget_panel(), coverage_panel()),
        "problems": (),
        "plugins": (BUILTIN,),
        "analyses": {"acme": sample, "coverage": coverage(make_run({"forward": 20}))},
        "tool_version": "0.3.0",
    }
    return Report(**{**fields, **changes})


def healthy() -> Report:
    checks = tuple(
        attrs.evolve(c, outcome=Outcome.PASSED) if c.outcome is Outcome.FINDING else c
        for c in CHECKS
    )
    return report(folded=(), checks=checks)


def troubled() -> Report:
    """Problems, plugins, every outcome, and a run that is not whole."""
    checks = (
        *CHECKS,
        Check("ACME.BROKEN", Outcome.ERROR, "ValueError: boom"),
        Check("ACME.UNSURE", Outcome.INCONCLUSIVE, "a change of 8% or more"),
        Check("ACME.ELSEWHERE", Outcome.NOT_APPLICABLE, "one rank"),
        Check("ACME.OFF", Outcome.DISABLED, "ignored by 'ACME.OFF'"),
    )
    problem = Problem(
        "acme",
        "acme-pack",
        "1.0",
        "rule ACME.BROKEN",
        "ValueError: boom",
        'Traceback (most recent call last):\n  File "/x/acme.py", line 1, in f\nValueError: boom\n',
    )
    broken = PluginInfo("acme", "acme-pack", "1.0", PluginState.BROKEN, reason="ImportError: no")
    run = attrs.evolve(
        RUN,
        ranks=(0, 2),
        world_size=4,
        finished=False,
        window=(10, None),
        attempts=(1, 2),
        other_attempts=(0,),
    )
    return report(
        run=run,
        checks=checks,
        problems=(problem,),
        plugins=(BUILTIN, broken),
        show_plugins=True,
    )


def hostile() -> Report:
    """Every text of a report replaced by something that wants out of its place."""
    texts = itertools.cycle(HOSTILE)

    def text() -> str:
        return next(texts)

    finding = attrs.evolve(
        DATALOADER,
        title=text(),
        detail=text(),
        fix=text(),
        verify=text(),
        evidence=[(text(), text(), text()), (text(), math.nan, text(), -math.inf, math.inf)],
        rule=text(),
    )
    rows: list[Row] = []
    for label in HOSTILE:
        rows += [Meter(label, 1 / len(HOSTILE), text(), text(), group=label[:0])]
        rows += [Spark(label, (1, math.nan, math.inf, -math.inf, 3), text()), Text(text())]
        rows += [Table((text(), text()), ((text(), text()), (text(), text())), (1,))]
    panels = tuple(Panel(t, t, t, Status.WATCH, tuple(rows)) for t in HOSTILE[:4])
    return report(
        run=attrs.evolve(RUN, name=text(), path=text(), source=text()),
        folded=tuple(FoldedFinding(attrs.evolve(finding, title=t), (finding,)) for t in HOSTILE),
        checks=tuple(Check(t, o, text(), {text(): text()}) for t in HOSTILE for o in Outcome),
        panels=panels,
        problems=tuple(Problem(t, text(), text(), text(), text(), text()) for t in HOSTILE),
        plugins=tuple(
            PluginInfo(t, text(), text(), PluginState.BROKEN, {text(): (text(),)}, reason=text())
            for t in HOSTILE
        ),
        analyses={t: {text(): text()} for t in HOSTILE},
        show_plugins=True,
    )


ALL = {
    "findings": report(),
    "healthy": healthy(),
    "troubled": troubled(),
    "hostile": hostile(),
    "empty": report(folded=(), checks=(), panels=(), plugins=(), analyses={}),
    "wall zero": report(run=attrs.evolve(RUN, wall_ns=0, steps=0)),
}
"""Reports by name; every one is drawn in every way by the reporters' tests."""

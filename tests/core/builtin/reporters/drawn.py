"""Reports drawn as text, and random reports to draw."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

from pytscope.builtin.reporters.text import text_report
from pytscope.model.findings import Confidence, Cost, Evidence, Finding, Severity
from pytscope.model.panels import Meter, Panel, Spark, Status, Table, Text
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
from pytscope.plugins.declare import RenderOptions
from tests.core.report_samples import HOSTILE

COLOR = re.compile(r"\x1b\[[0-9;]*m")


def draw(report: Report, **options: Any) -> str:
    return text_report(report, RenderOptions(**options))


def lines_of(report: Report, **options: Any) -> list[str]:
    return draw(report, **options).splitlines()


TEXTS = st.text(st.characters(exclude_categories=()), max_size=30) | st.sampled_from(HOSTILE)
NUMBERS = st.floats() | st.integers(-(10**6), 10**6)
STEPS = st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)).map(lambda p: (min(p), max(p)))
MAYBE = st.none() | NUMBERS

EVIDENCE = st.builds(
    Evidence, TEXTS, NUMBERS | TEXTS, TEXTS, MAYBE, MAYBE, st.none() | STEPS, st.none() | st.just(3)
)
FINDINGS = st.builds(
    Finding,
    rule=TEXTS,
    severity=st.sampled_from(Severity),
    title=TEXTS,
    detail=TEXTS,
    cost_s=st.none() | st.builds(Cost, st.floats(-1e9, 1e9), MAYBE, MAYBE),
    evidence=st.lists(EVIDENCE, max_size=2),
    fix=TEXTS,
    verify=TEXTS,
    steps=st.lists(STEPS, max_size=3),
    ranks=st.lists(st.integers(0, 9), max_size=2),
    confidence=st.sampled_from(Confidence),
)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    width = draw(st.integers(0, 5))
    row = st.tuples(*[TEXTS] * width)
    return Table(draw(row), draw(st.lists(row, max_size=2)), draw(st.sampled_from([(), (0,)])))


ROWS = (
    st.builds(Meter, TEXTS, NUMBERS, TEXTS, TEXTS, st.sampled_from([None, "a", "b"]))
    | st.builds(Spark, TEXTS, st.lists(NUMBERS, max_size=70), TEXTS)
    | st.builds(Text, TEXTS)
    | tables()
)
PANELS = st.builds(
    Panel,
    st.sampled_from(["timing", "budget"]) | TEXTS,
    TEXTS,
    TEXTS,
    st.sampled_from(Status),
    st.lists(ROWS, max_size=3),
)
OPTIONAL = st.none() | st.integers(0, 2**63)
REPORTS = st.builds(
    Report,
    run=st.builds(
        RunSummary,
        name=TEXTS,
        path=TEXTS,
        ranks=st.just((0,)) | st.just((0, 5)),
        world_size=st.none() | st.integers(1, 8),
        steps=st.integers(0, 10**9),
        wall_ns=st.integers(0, 10**18),
        finished=st.booleans(),
        source=TEXTS,
        window=st.none() | st.tuples(st.none() | st.integers(0), st.none() | st.integers(0)),
        other_attempts=st.just(()) | st.just((0, 1)),
        created_epoch_ns=OPTIONAL,
    ),
    folded=st.lists(
        st.builds(FoldedFinding, FINDINGS, st.lists(FINDINGS, max_size=1).map(tuple)), max_size=2
    ).map(tuple),
    checks=st.lists(
        st.builds(Check, TEXTS, st.sampled_from(Outcome), TEXTS, st.dictionaries(TEXTS, NUMBERS)),
        max_size=3,
    ).map(tuple),
    panels=st.lists(PANELS, max_size=2).map(tuple),
    problems=st.lists(st.builds(Problem, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS), max_size=1).map(
        tuple
    ),
    plugins=st.lists(
        st.builds(
            PluginInfo,
            TEXTS,
            TEXTS,
            TEXTS,
            st.sampled_from(PluginState),
            st.dictionaries(TEXTS, st.tuples(TEXTS), max_size=1),
            st.integers(0, 10**10),
            TEXTS,
        ),
        max_size=1,
    ).map(tuple),
    analyses=st.just({}),
    tool_version=TEXTS,
    show_plugins=st.booleans(),
)
OPTIONS = st.fixed_dictionaries(
    {
        "width": st.sampled_from([0, 40, 61, 88, 200]),
        "ascii": st.booleans(),
        "show_passed": st.booleans(),
        "verbose": st.booleans(),
        "reproducible": st.booleans(),
    }
)

"""Every rule's docstring is its page, and its identity is fit for the registry."""

from __future__ import annotations

import re

import pytest

from pytscope.builtin.rules import ALL
from pytscope.plugins.needs import read_needs
from pytscope.plugins.thresholds import read_thresholds
from pytscope.runs.run import Run

HEADINGS = ["Detects", "Why it matters", "How it decides", "Fix", "Limits", "References"]
IDS = {
    "TIMING.DATALOADER_BOUND",
    "TIMING.JITTER",
    "TIMING.BACKWARD_HEAVY",
    "TIMING.OPTIMIZER_HEAVY",
    "TIMING.H2D_BOUND",
    "TIMING.RECOMPILATION",
    "TIMING.GC_PAUSES",
    "TIMING.HOST_SYNC",
    "EFFICIENCY.EVAL_HEAVY",
    "EFFICIENCY.CHECKPOINT_HEAVY",
    "EFFICIENCY.LOW_MFU",
    "EFFICIENCY.RECOVERABLE",
    "MEMORY.GROWTH",
    "CROSS.CORRELATED_INSTABILITY",
    "BUDGET.IMPOSSIBLE",
    "COVERAGE.RANKS_MISSING",
    "COVERAGE.RECORDS_LOST",
    "COVERAGE.NOT_FINISHED",
    "COVERAGE.TOO_FEW_STEPS",
    "COVERAGE.RANK_SHORT",
    "COVERAGE.ATTEMPTS",
    "COVERAGE.CLOCK",
    "COVERAGE.SCHEMA",
    "COVERAGE.UNATTRIBUTED",
}

rules = pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)


def sections(page: str) -> dict[str, str]:
    parts = re.split(r"^(\S.*):\n(?=    )", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_rules_are_those_that_core_promises():
    assert {rule.id for rule in ALL} == IDS
    assert len(ALL) == len(IDS)


@rules
def test_a_page_has_exactly_the_six_headings_in_order(rule):
    assert list(sections(rule.page)) == HEADINGS
    assert all(len(text.split()) >= 5 for text in sections(rule.page).values())


@rules
def test_a_page_states_thresholds_cost_severity_and_false_positives(rule):
    decides = sections(rule.page)["How it decides"]
    for threshold in read_thresholds(rule.check):
        assert threshold.name in decides
    assert "cost_s" in decides
    assert re.search(r"\b(high|medium|low)\b", decides, re.IGNORECASE)
    assert "false-positive" in decides.lower() or "no noise" in decides


@rules
def test_needs_are_analyses_and_thresholds_are_bounded(rule):
    needs = {need.type for need in read_needs(rule.check, {})}
    if rule.id == "TIMING.DATALOADER_BOUND":  # it judges every rank, of which Timing has one
        needs.remove(Run)
    assert all(need.__module__.startswith("pytscope.analyses") for need in needs)
    assert all(threshold.bounds for threshold in read_thresholds(rule.check))

"""The pack registers as any other does, and its rules have pages."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from pytscope.analyses import Budget
from pytscope.plugins.needs import Kind, read_needs
from pytscope.plugins.registry import load_registry
from pytscope.plugins.selection import PluginSelection
from pytscope.plugins.thresholds import read_thresholds
from pytscope.testing import make_run
from pytscope_rules_distributed.rules import ALL
from tests.rules_distributed.made import analysed, outcome, registry

PROJECT = Path(__file__).parents[2] / "pytscope-rules-distributed" / "pyproject.toml"
HEADINGS = ["Detects", "Why it matters", "How it decides", "Fix", "Limits", "References"]
IDS = ("DIST.STRAGGLER", "DIST.PAUSE", "DIST.LOAD_IMBALANCE", "DIST.COMM_BOUND", "DIST.SLOW_LINK")

rules = pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)


def sections(page: str) -> dict[str, str]:
    parts = re.split(r"^(\S.*):\n(?=    )", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_it_registers_without_a_problem():
    known = registry()
    assert known.problems == ()
    assert set(IDS) <= set(known.rules)
    assert tuple(rule.id for rule in ALL) == IDS


@pytest.mark.skipif(not PROJECT.exists(), reason="the tests were installed without the tree")
def test_its_entry_point_is_the_package():
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    (module,) = project["entry-points"]["pytscope"].values()
    assert import_module(module).pytscope_rules() == ALL


def test_installed_it_is_found_by_its_entry_point():
    try:
        distribution("pytscope-rules-distributed")
    except PackageNotFoundError:
        pytest.skip("pytscope-rules-distributed is on the path, but not installed")
    known = load_registry(PluginSelection())
    assert set(IDS) <= set(known.rules)
    assert known.rules["DIST.STRAGGLER"].owner.distribution == "pytscope-rules-distributed"


@rules
def test_a_page_has_exactly_the_six_headings_in_order(rule):
    assert list(sections(rule.page)) == HEADINGS
    assert all(len(text.split()) >= 5 for text in sections(rule.page).values())


@rules
def test_a_page_states_thresholds_cost_severity_and_false_positives(rule):
    decides = sections(rule.page)["How it decides"]
    for threshold in read_thresholds(rule.check):
        assert threshold.name in decides
        assert threshold.bounds
    assert "cost_s" in decides
    assert re.search(r"\b(high|medium|low)\b", decides)
    assert "false-positive" in decides.lower()


@rules
def test_needs_are_the_packs_own_analyses_and_the_budget_if_there_is_one(rule):
    needs = read_needs(rule.check, {})
    assert all(need.kind is Kind.OPTIONAL for need in needs if need.type is Budget)
    modules = {need.type.__module__ for need in needs if need.type is not Budget}
    assert all(module.startswith("pytscope_rules_distributed.") for module in modules)


@pytest.mark.parametrize("rule", IDS)
def test_no_stamps_are_never_a_healthy_verdict(rule):
    report = analysed(make_run({"forward": 10, "backward": 20}, ranks=4))
    verdict, why = outcome(report, rule)
    assert verdict == "not_measured"
    assert "distributed=True" in why
    assert "prof.comm()" in why


@pytest.mark.parametrize("rule", IDS)
def test_one_rank_is_asked_nothing(rule):
    report = analysed(make_run({"forward": 10, "backward": 20, "comm": 1}))
    assert outcome(report, rule) == ("not_applicable", "the run has one rank")

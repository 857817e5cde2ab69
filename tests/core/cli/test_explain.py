from __future__ import annotations

import pytest

from pytscope.plugins.registry import build_registry
from tests.core.plugins.throwaway import distribution


def test_a_page_with_thresholds_and_how_to_set_them(cli):
    result = cli("explain", "TIMING.JITTER")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0] == "TIMING.JITTER"
    assert lines[1].startswith("since 0.3.0, by builtin (pytscope-core")
    assert '    [tool.pytscope.rules."TIMING.JITTER"]' in lines
    assert any(line.startswith("    pytscope analyze RUN --set TIMING.JITTER.") for line in lines)
    assert "Needs" in lines


def test_every_rule_has_a_page(cli):
    listing = cli("plugins").out
    rules = next(line for line in listing.splitlines() if line.startswith("  rules: "))
    for rule in rules.removeprefix("  rules: ").split(", "):
        assert "It has no page." not in cli("explain", rule).out


@pytest.mark.parametrize("name", ["timing.jitter", "Timing.Jitter", " TIMING.JITTER "])
def test_case_does_not_matter(cli, name):
    assert cli("explain", name).out == cli("explain", "TIMING.JITTER").out


def test_an_unknown_rule_offers_the_nearest(cli):
    result = cli("explain", "timing.jiter")
    assert (result.code, result.out) == (2, "")
    assert "error: there is no rule 'timing.jiter'; did you mean 'TIMING.JITTER'?" in result.err


def test_an_area_lists_its_rules(cli):
    result = cli("explain", "coverage")
    assert (result.code, result.err) == (0, "")
    *rules, blank, more = result.out.splitlines()
    assert {line.split(" ")[0].partition(".")[0] for line in rules} == {"COVERAGE"}
    assert all(line.endswith(".") and len(line.split("  ")) >= 2 for line in rules)
    assert (blank, more) == (
        "",
        "More of one: pytscope explain COVERAGE." + rules[0][9:].split()[0],
    )


def test_without_a_rule_all_are_listed(cli):
    result = cli("explain")
    assert (result.code, result.err) == (0, "")
    *rules, blank, _ = result.out.splitlines()
    listing = cli("plugins").out
    known = [line.strip()[7:] for line in listing.splitlines() if line.startswith("  rules: ")]
    assert [line.split(" ")[0] for line in rules] == sorted(", ".join(known).split(", "))
    assert blank == ""


def test_without_any_rule_it_says_so(cli, monkeypatch):
    from pytscope.cli import selection

    empty = build_registry(())
    monkeypatch.setattr(selection, "selected_registry", lambda *_: empty)
    assert cli("explain").out == "There are no rules: see 'pytscope plugins'.\n"


def test_a_near_area_is_offered(cli):
    assert "did you mean 'TIMING'?" in cli("explain", "timng").err


def test_a_width_wraps_the_page(cli):
    plain = cli("explain", "TIMING.JITTER").out
    narrow = cli("explain", "TIMING.JITTER", "--width=50").out
    assert narrow.split() == plain.split()
    assert max(len(line) for line in narrow.splitlines() if " " in line.strip()) <= 50


PACK = '''
from typing import Annotated
from pytscope import Bounds, Finding, Run, hookimpl, rule
from pytscope.analyses import BudgetPart, Timing

@rule("ACME.NEW", since="2.0", aliases=("ACME.OLD",))
def new(
    run: Run,
    timing: Timing | None,
    parts: tuple[BudgetPart, ...],
    *,
    on: bool = True,
    share: Annotated[float, Bounds(ge=0, le=1)] = 0.5,
):
    """Detects \\x1b[31mthings ≥ 5 \u202e%."""

@rule("ACME.BARE", since="2.0", needs={})
def bare():
    yield from ()

@hookimpl
def pytscope_rules():
    return [new, bare]
'''


@pytest.fixture
def acme(tmp_path, monkeypatch):
    distribution(tmp_path / "site", "explain-acme", PACK)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))


def test_a_former_name_leads_to_the_page(cli, acme):
    result = cli("explain", "acme.old")
    assert result.out.startswith("ACME.NEW\nsince 2.0, by explain_acme (explain-acme 1.0)\n")
    assert "formerly ACME.OLD" in result.out


def test_a_strangers_page_is_escaped(cli, acme):
    out = cli("explain", "ACME.NEW").out
    assert r"Detects \x1b[31mthings ≥ 5 \u202e%." in out
    assert cli("explain", "ACME.NEW", "--ascii").out.isascii()


def test_bounds_and_ways_to_set(cli, acme):
    out = cli("explain", "ACME.NEW").out
    assert "share: float, >= 0 and <= 1 (default 0.5)" in out
    assert "    on = true\n" in out
    assert "--set ACME.NEW.on=true" in out
    assert "    run: Run\n    timing: Timing, optional\n    parts: every BudgetPart\n" in out


def test_a_rule_without_anything(cli, acme):
    out = cli("explain", "ACME.BARE").out
    assert "It has no page." in out
    assert "Needs\n    nothing\n" in out
    assert out.endswith("Thresholds\n    none\n")


def test_a_rule_of_a_plugin_that_is_not_loaded(cli, acme, monkeypatch):
    monkeypatch.setenv("PYTSCOPE_DISABLED_PLUGINS", "explain_acme")
    result = cli("explain", "ACME.NEW")
    assert result.code == 2
    assert "help: Not loaded: explain_acme (disabled by name). Rules: see" in result.err

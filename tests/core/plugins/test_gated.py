from __future__ import annotations

import attrs
import pytest

from pytscope.model.errors import UsageError
from pytscope.model.gate import Gate
from pytscope.plugins.declare import RenderOptions, reporter
from pytscope.plugins.guarded import drawing, render
from pytscope.plugins.isolation import Guard, Origin
from pytscope.plugins.loading import LoadedPlugin, load_builtins
from pytscope.plugins.registry import build_registry
from tests.core.builtin.reporters.ci_formats import ALL, made_gate


def broken(gate, options):
    msg = "boom"
    raise ValueError(msg)


@reporter("short", check=lambda gate, options: f"{gate.passed} {len(gate.problems)}\n")
def short(report, options):
    return "a report\n"


@reporter("broken", check=broken)
def fails(report, options):
    return "a report\n"


@reporter("reports")
def reports_alone(report, options):
    return "a report\n"


@reporter("odd", check=3)
def odd(report, options):
    return ""


ACME = LoadedPlugin(Origin("acme"), {"reporters": (short, fails, reports_alone, odd)})
REGISTRY = build_registry((load_builtins(Guard()), ACME))
REPORTERS = REGISTRY.reporters


def test_a_plugins_reporter_draws_a_gate():
    gate = made_gate(*ALL)
    text, drawn = render(REPORTERS, "short", gate, RenderOptions())
    assert text == "False 0\n"
    assert drawn is gate


def test_one_that_fails_is_replaced_by_the_text_of_the_gate_and_a_problem():
    gate = made_gate(*ALL)
    text, drawn = render(REPORTERS, "broken", gate, RenderOptions())
    assert [p.stage for p in drawn.problems] == ["reporter broken"]
    assert "● GATE · bad" in text
    assert "ValueError: boom" in text


def test_one_that_draws_reports_alone_is_refused_with_those_that_can():
    with pytest.raises(UsageError, match="draws reports, not gates") as caught:
        drawing(REPORTERS, "reports", Gate)
    assert "sarif, short, text" in caught.value.hint
    with pytest.raises(UsageError, match="did you mean 'short'"):
        drawing(REPORTERS, "shrt", Gate)


def test_a_check_that_cannot_be_called_is_a_problem_of_the_plugin():
    assert "odd" not in REPORTERS
    assert any("check of reporter odd" in p.message for p in REGISTRY.problems)


def test_the_built_in_formats_draw_all_gates():
    able = {n for n, r in load_builtins_reporters().items() if r.check is not None}
    assert able == {"github", "json", "junit", "markdown", "sarif", "text"}


def load_builtins_reporters():
    return {n: attrs.evolve(r.reporter) for n, r in REPORTERS.items() if r.owner.builtin}

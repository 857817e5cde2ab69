from __future__ import annotations

import unicodedata
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from rich.cells import cell_len

from pytscope.model.findings import Severity
from pytscope.model.panels import Panel, Status
from pytscope.model.report import FoldedFinding, Outcome, Report
from tests.core import report_samples as samples
from tests.core.builtin.reporters.drawn import COLOR, OPTIONS, REPORTS, draw, lines_of

HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def safe(report: Report, options: dict[str, Any]) -> None:
    """What holds for every report, however hostile, in every way of drawing it."""
    text = draw(report, color=False, **options)
    colored = draw(report, color=True, **options)
    assert COLOR.sub("", colored) == text
    assert "\x1b" not in text
    assert not {unicodedata.category(c) for c in text} - {unicodedata.category("\n")} & HIDDEN
    assert set(text) & {"\r", "\t"} == set()
    width = max(40, options["width"])
    for line in text.splitlines():
        assert cell_len(line) <= width, line
        assert line == line.rstrip(" ")
    assert text.splitlines() == text.split("\n")[:-1], "only line feeds break lines"
    text.encode("utf-8")
    assert text.isascii() or not options["ascii"]
    for line in colored.splitlines():
        assert line.count("\x1b[0m") * 2 == len(COLOR.findall(line)), "no colour leaves its line"


@given(REPORTS, OPTIONS)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_hostile_reports(report, options):
    safe(report, options)


@pytest.mark.parametrize("name", samples.ALL)
@pytest.mark.parametrize("width", [40, 60, 88, 140])
@pytest.mark.parametrize("flag", ["ascii", "verbose", "show_passed", "reproducible"])
def test_every_sample_in_every_way(name, width, flag):
    off = dict.fromkeys(["ascii", "verbose", "show_passed", "reproducible"], False)
    safe(samples.ALL[name], {"width": width, **off, flag: True})


def test_colour_is_there_when_asked_for():
    assert COLOR.search(draw(samples.report(), color=True))


def titles(report: Report, **options: Any) -> list[str]:
    return [line[2:] for line in lines_of(report, **options) if line.startswith("● ")]


def test_sections_come_in_the_order_of_importance():
    shown = [t.split(" —")[0] for t in titles(samples.troubled())]
    assert shown == [
        "RUN exp1",
        "TIMING · bad",
        "EFFICIENCY BUDGET · bad",
        "FINDINGS (3)",
        "COVERAGE · ok",
        "CHECKS",
        "PROBLEMS (1)",
        "PLUGINS (2)",
    ]


def test_headline_panels_lead_whatever_their_place():
    panels = (samples.coverage_panel(), samples.budget_panel(), samples.timing_panel())
    shown = titles(samples.report(panels=panels))
    assert [t.split(" ")[0] for t in shown[:4]] == ["RUN", "TIMING", "EFFICIENCY", "FINDINGS"]


@pytest.mark.parametrize("status", Status)
def test_the_light_only_repeats_a_word(status):
    panel = Panel("x", "X", "headline", status)
    assert f"● X · {status.value} — headline" in lines_of(samples.report(panels=(panel,)))


def test_a_run_that_is_not_whole_says_so():
    first = " ".join(draw(samples.troubled()).split("\n\n")[0].split())
    for said in ("2 of 4 ranks", "did not finish", "attempts 1, 2", "steps 10: only"):
        assert said in first
    assert "attempt 0 of the same folder" in " ".join(draw(samples.troubled()).split())


def test_a_run_that_goes_on_is_not_said_to_have_stopped():
    run = attrs.evolve(samples.RUN, finished=False, live=True)
    first = draw(samples.report(run=run)).split("\n\n")[0]
    assert "still recording" in first
    assert "did not finish" not in first


def test_no_findings_is_said_with_what_was_checked():
    assert "no findings: 4 checks passed, 1 not measured" in draw(samples.healthy())


def test_nothing_checked_is_not_no_findings():
    unmeasured = tuple(
        attrs.evolve(c, outcome=Outcome.NOT_MEASURED, reason="steps") for c in samples.CHECKS
    )
    text = draw(samples.report(folded=(), checks=unmeasured))
    assert "no findings" not in text
    assert "nothing could be told: 0 checks passed, 5 not measured" in text


def test_hidden_findings_are_named():
    shown = samples.report(folded=(FoldedFinding(samples.JITTER),))
    text = " ".join(draw(shown).split())
    assert "not shown: EFFICIENCY.RECOVERABLE, TIMING.DATALOADER_BOUND" in text


def test_a_problem_names_plugin_version_stage_and_message():
    text = draw(samples.troubled())
    assert "acme (acme-pack 1.0), rule ACME.BROKEN: ValueError: boom" in text
    assert "Traceback" not in text


def test_tracebacks_are_for_the_verbose():
    assert 'File "/x/acme.py"' in draw(samples.troubled(), verbose=True)
    assert "/x/acme.py" not in draw(samples.troubled(), verbose=True, reproducible=True)


def test_the_plugin_table_is_drawn_only_when_asked_for():
    quiet = attrs.evolve(samples.troubled(), show_plugins=False)
    assert "PLUGINS" not in draw(quiet)
    assert "ImportError: no" in draw(samples.troubled())


def test_reproducible_text_does_not_depend_on_place_and_time():
    def elsewhere(path: str, time: int) -> str:
        run = attrs.evolve(samples.RUN, path=path, created_epoch_ns=time)
        plugins = (attrs.evolve(samples.BUILTIN, load_ns=time),)
        report = samples.report(run=run, plugins=plugins, show_plugins=True)
        return draw(report, reproducible=True, verbose=True)

    assert elsewhere("/a", 1) == elsewhere("/b", 10**15)


def test_severities_have_their_tags():
    rows = tuple(
        FoldedFinding(attrs.evolve(samples.JITTER, severity=severity)) for severity in Severity
    )
    text = draw(samples.report(folded=rows))
    assert [line[2:8].strip() for line in text.splitlines() if line.startswith("  [")] == [
        "[HIGH]",
        "[MED]",
        "[LOW]",
        "[INFO]",
    ]


def test_ascii_draws_with_ascii_signs():
    text = draw(samples.report(), ascii=True)
    assert "* TIMING - bad -- 95 steps" in text
    assert "  data       ################--------------   52.0%" in text

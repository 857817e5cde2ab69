from __future__ import annotations

import re
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings

from pytscope.analysis.orchestrator import analyze
from pytscope.builtin.reporters.markdown import markdown_report
from pytscope.model.report import Report
from pytscope.plugins.declare import RenderOptions
from pytscope.plugins.registry import load_registry
from pytscope.plugins.selection import PluginSelection
from pytscope.runs.building import make_run
from tests.core import report_samples as samples
from tests.core.builtin.reporters.drawn import OPTIONS, REPORTS
from tests.core.builtin.reporters.test_markup import PARSER

MARKS = {"<!-- -->", "<span>", "</span>", "<code>", "</code>", "<sub>", "</sub>", "<br>"}
FOLDS = re.compile(r"<details><summary>(Evidence|\d+ passed)</summary>|</details>")


def draw(report: Report, **options: Any) -> str:
    return markdown_report(report, RenderOptions(**options))


def sections(text: str) -> list[str]:
    return [line.removeprefix("### ") for line in text.splitlines() if line.startswith("### ")]


def harmless(report: Report, options: dict[str, Any]) -> None:
    """What holds for every report, however hostile."""
    text = draw(report, **options)
    text.encode()
    assert text.endswith("\n")
    assert "\n\n\n" not in text
    assert text.isascii() or not options.get("ascii")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e\u2028\u2029]", text)
    folds = []
    for token in PARSER.parse(text):
        if token.type == "html_block":
            folds.append(token.content.strip())
            assert FOLDS.fullmatch(folds[-1]), token.content
        assert token.type not in ("fence", "code_block", "hr", "blockquote_open")
        for part in token.children or ():
            assert part.type not in ("link_open", "image", "s_open"), part
            assert part.type != "html_inline" or part.content in MARKS
    assert len(folds) % 2 == 0
    assert all((fold == "</details>") == bool(i % 2) for i, fold in enumerate(folds))


@given(REPORTS, OPTIONS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_hostile_reports(report, options):
    harmless(report, options)


@pytest.mark.parametrize("name", samples.ALL)
@pytest.mark.parametrize("flag", ["ascii", "verbose", "reproducible"])
def test_every_sample(name, flag):
    harmless(samples.ALL[name], {flag: True})


def test_width_and_colour_are_of_no_account():
    text = draw(samples.report())
    assert draw(samples.report(), width=40, color=True) == text


def test_the_verdict_stands_on_top():
    head = draw(samples.report()).split("###")[0]
    assert head.startswith("## pytscope · `exp1`\n\n95 steps · 2.31 s wall · 1 rank\n")
    said = "**Verdict:** The input pipeline is the bottleneck · costs 1.14 s (49.4% of wall)"
    assert said in head
    assert "2 high · 1 low · 1 of them folded under another" in head


def test_no_findings_is_said_with_what_was_checked():
    text = draw(samples.healthy())
    assert "**Verdict:** no findings: 4 checks passed, 1 not measured" in text


def test_every_section_in_the_order_of_importance():
    assert sections(draw(samples.troubled())) == [
        "Findings (3)",
        "TIMING · bad",
        "EFFICIENCY BUDGET · bad",
        "COVERAGE · ok",
        "Checks",
        "Problems (1)",
        "Plugins (2)",
    ]
    assert "### Plugins" not in draw(attrs.evolve(samples.troubled(), show_plugins=False))


def test_a_finding_has_its_evidence_fix_and_what_it_accounts_for():
    text = draw(samples.report())
    assert (
        "#### 1. **HIGH** The input pipeline is the bottleneck (`TIMING.DATALOADER_BOUND`)" in text
    )
    assert "| wait for data | 12.01 ms | 11.8 to 12.2 | steps 5-94, rank 0 |" in text
    assert "**Fix:** Raise num_workers, set persistent_workers=True" in text
    assert "- thresholds min_share = 0.2" in text
    assert (
        "- also **HIGH** 49% of wall time is recoverable (`EFFICIENCY.RECOVERABLE`): costs" in text
    )
    assert "pytscope explain TIMING.DATALOADER_BOUND" in text


def test_the_budget_is_a_table_whose_shares_sum_to_a_hundred():
    text = draw(samples.report())
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+)% \| ([\d.]+ m?s) \| (\w*) ?\|$", text, re.MULTILINE)
    assert [(name, amount, note) for name, _, amount, note in rows] == [
        ("compute", "1.11 s", ""),
        ("data_stall", "1.20 s", "recoverable"),
    ]
    assert sum(float(share) for _, share, _, _ in rows) == pytest.approx(100.0)


def test_checks_say_why_and_name_those_that_passed():
    text = draw(samples.troubled())
    assert "- failed: `ACME.BROKEN`: ValueError: boom" in text
    assert "- not measured: `EFFICIENCY.LOW_MFU`: FLOPs of a step (--flops-per-step)" in text
    assert "<details><summary>1 passed</summary>\n\n`COVERAGE.NOT_FINISHED`" in text
    assert "ACME.ELSEWHERE" not in text
    assert "`ACME.ELSEWHERE`: one rank" in draw(samples.troubled(), verbose=True)


def test_problems_name_plugin_stage_and_message():
    text = draw(samples.troubled())
    assert "- acme (acme-pack 1.0), rule ACME.BROKEN: ValueError: boom" in text
    assert "/x/acme.py" not in text
    assert "/x/acme.py" in draw(samples.troubled(), verbose=True)
    assert "/x/acme.py" not in draw(samples.troubled(), verbose=True, reproducible=True)


def test_a_sparkline_is_of_sixty_cells_however_long_the_run():
    run = make_run({"forward": 1}, steps=200_000)
    text = draw(analyze(run, load_registry(PluginSelection(autoload=False))))
    (spark,) = re.findall(r"`step time` `(.+?)`", text)
    assert len(spark) == 60
    assert len(text) < 20_000


def test_reproducible_text_does_not_depend_on_place_and_time():
    def elsewhere(path: str, time: int) -> str:
        run = attrs.evolve(samples.RUN, path=path, created_epoch_ns=time)
        plugins = (attrs.evolve(samples.BUILTIN, load_ns=time),)
        report = samples.report(run=run, plugins=plugins, show_plugins=True)
        return draw(report, reproducible=True, verbose=True)

    assert elsewhere("/a", 1) == elsewhere("/b", 10**15)

from __future__ import annotations

import attrs
import pytest

from pytscope.model.findings import Cost
from pytscope.model.report import FoldedFinding
from tests.core import report_samples as samples
from tests.core.builtin.reporters.drawn import draw, lines_of


def flat(**options: object) -> str:
    return " ".join(draw(samples.report(), **options).split())


def test_a_finding_reads_from_cost_to_verification():
    lines = lines_of(samples.report())
    at = lines.index("  [HIGH] The input pipeline is the bottleneck (TIMING.DATALOADER_BOUND)")
    body = lines[at + 1 : at + 7]
    assert body[0] == "        costs 1.14 s (49.4% of wall), between 1.05 s and 1.20 s"
    assert body[1].startswith("        52% of step time")
    assert body[3].startswith("        -> Raise num_workers")
    assert body[4].startswith("           heavy transforms"), "a hanging indent"
    assert body[5].startswith("        verify: ")


def test_folded_findings_follow_the_one_that_explains_them():
    assert "also [HIGH] 49% of wall time is recoverable (EFFICIENCY.RECOVERABLE)" in flat()
    assert "suggestive, not confirmed" in flat()


def test_the_findings_counted_are_all_findings_and_those_of_checks_agree():
    text = flat()
    assert "FINDINGS (3) — 2 high · 1 low · 1 of them folded under another" in text
    assert "3 with findings" in text
    twice = samples.report(folded=(*samples.report().folded, FoldedFinding(samples.JITTER)))
    assert "2 high · 2 low · 1 of them folded under another · of 3 checks" in " ".join(
        draw(twice).split()
    )


def test_no_cost_is_not_shown_as_zero():
    lines = lines_of(samples.report(folded=(FoldedFinding(samples.JITTER),)))
    at = next(i for i, line in enumerate(lines) if "Every 10th step" in line)
    assert lines[at + 1] == ""


def test_a_measured_zero_is_shown():
    free = attrs.evolve(samples.JITTER, cost_s=Cost(0.0))
    assert "costs 0 ns (0.0% of wall)" in draw(samples.report(folded=(FoldedFinding(free),)))


def test_without_wall_time_there_is_no_share():
    report = samples.ALL["wall zero"]
    assert "costs 1.14 s, between" in draw(report)


@pytest.mark.parametrize(
    "said",
    [
        "wait for data 12.01 ms 11.8 to 12.2 steps 5-94, rank 0",
        "thresholds min_share = 0.2",
        "steps 9, 19, 29, 39, 49, 59 and 2 more",
    ],
)
def test_evidence_is_for_the_verbose(said):
    assert said in flat(verbose=True)
    assert said not in flat()

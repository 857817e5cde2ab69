"""A metric says what the report says, to the digit, whatever the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pytscope.model.document import report_document
from pytscope.testing import make_run
from tests.core.gates.made import PLAIN, words
from tests.core.gates.test_vocabulary import MIB, ODD

RUNS = ODD | {
    "plain": PLAIN,
    "noisy": make_run({"data": 3, "forward": 10}, noise=0.4, steps=74, warmup=4),
    "counts": make_run({"forward": 9.1}, scalars={"samples": 3, "tokens": 7}, noise=0.1),
    "memory": make_run({"forward": 9}, memory={"rss": [MIB + i * 4096 for i in range(100)]}),
    "rare": make_run({"forward": 9, "eval": [0] * 90 + [5] * 10}, startup=[("compile", 40)]),
}
RATES = ("steps_per_s", "samples_per_s", "tokens_per_s")
COVERAGE = {
    "steps.total": "steps",
    "steps.rated": "rated_steps",
    "steps.lost": "lost_steps",
    "steps.redone": "redone_steps",
    "steps.skipped": "skipped_steps",
    "finished": "finished",
    "attempts": "attempts",
    "ranks.present": "ranks_present",
    "recording.share": "overhead_share",
}


def reported(document: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Metrics, and what the JSON report has for them."""
    analyses, budget, coverage = (document[key] for key in ("analyses", "budget", "coverage"))
    if timing := analyses.get("timing"):
        yield "step_ms.median", timing["median_ns"] / 1e6
        yield "step_ms.p95", timing["p95_ns"] / 1e6
        yield "step_ms.mean", timing["mean_ns"] / 1e6
        yield "step.spread", timing["spread"]
        yield from ((name, timing[name]) for name in RATES)
        for name, rate in timing["throughput"].items():
            yield f"{name}_per_s.sum", rate["sum_per_s"]
        for name, phase in timing["phases"].items():
            yield f"phase.{name}.share", phase["share"]
            yield f"phase.{name}_ms.median", phase["median_ns"] / 1e6
            yield f"phase.{name}_ms.p95", phase["p95_ns"] / 1e6
            yield f"phase.{name}_ms.mean", phase["total_ns"] / timing["steps"] / 1e6
    for line in budget["lines"]:
        yield f"budget.{line['name']}.s", line["ns"] / 1e9
        yield f"budget.{line['name']}.share", line["share"]
    yield from (("mfu", budget["mfu"]), ("mfu.steps", budget["mfu_steps"]))
    yield from (("wall_s", budget["wall_ns"] / 1e9), ("downtime_s", budget["downtime_ns"] / 1e9))
    for name, key in COVERAGE.items():
        value = coverage[key]
        yield name, len(value) if isinstance(value, list) else value
    for rank in analyses.get("memory", {"ranks": []})["ranks"]:
        for name, column in rank["columns"].items():
            yield f"memory.{name}.high", column["high_bytes"]
            yield f"memory.{name}.last", column["last_bytes"]
    found = [f for row in document["findings"] for f in (row, *row["also"])]
    for severity in ("high", "medium", "low", "info"):
        yield f"findings.{severity}", sum(f["severity"] == severity for f in found)


@pytest.mark.parametrize("name", RUNS)
def test_every_metric_is_that_of_the_report(name):
    vocabulary = words(RUNS[name])
    rows = list(reported(report_document(vocabulary.facts.report)))
    assert len(rows) > 20
    assert {n: vocabulary.metric(n).read().value for n, _ in rows} == dict(rows)

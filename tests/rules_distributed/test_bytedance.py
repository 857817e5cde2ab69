"""Three traces of real jobs whose cause is known, reduced to own times by step and rank.

AR has one slow worker, SE sequences of uneven length, ST stages of uneven size.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from pytscope.model.findings import Confidence
from pytscope.model.report import Report
from tests.rules_distributed.made import analysed, ranks_run, said

DATA = Path(__file__).parents[3] / "shared" / "data" / "logs" / "bytedance_own_compute.csv"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the shared traces are not here")


def trace(name: str, *, staged: bool = True) -> Report:
    with DATA.open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["trace"] == name]
    ranks = sorted({int(row["rank"]) for row in rows})
    steps = sorted({int(row["step"]) for row in rows})
    own = np.full((len(ranks), len(steps)), np.nan)
    places = {}
    for row in rows:
        rank = int(row["rank"])
        own[ranks.index(rank), steps.index(int(row["step"]))] = float(row["own_compute_s"]) * 1e3
        places[rank] = {"dp": int(row["dp_rank"]), "pp": int(row["stage"])}
    assert np.isfinite(own).all()
    stages = sorted({place["pp"] for place in places.values()})
    groups = [[i for i, r in enumerate(ranks) if places[r]["pp"] == stage] for stage in stages]
    told = [places[rank] for rank in ranks] if staged else None
    return analysed(ranks_run(own, places=told, groups=groups if staged else None))


def test_the_slow_worker_is_named_alone():
    (finding,) = said(trace("AR"), "DIST.STRAGGLER")
    assert finding.ranks == (0,)
    assert finding.confidence is Confidence.CONFIRMED
    slower = next(e for e in finding.evidence if e.metric == "slower than peers")
    assert 1 + slower.value / 100 == pytest.approx(2.36, abs=0.01)
    assert slower.high - slower.low < 4


@pytest.mark.parametrize(
    ("name", "stage"), [("SE", "Stage 1 takes 1.51"), ("ST", "Stage 3 takes 1.6")]
)
def test_uneven_work_names_no_rank_and_the_stage(name, stage):
    report = trace(name)
    assert report.analyses["stragglers"].slow == ()
    titles = [finding.title for finding in said(report, "DIST.LOAD_IMBALANCE")]
    assert any(title.startswith(stage) for title in titles)


def test_uneven_sequences_show_as_ranks_that_differ_from_step_to_step():
    titles = [finding.title for finding in said(trace("SE"), "DIST.LOAD_IMBALANCE")]
    assert any(title.startswith("Ranks differ from step to step") for title in titles)

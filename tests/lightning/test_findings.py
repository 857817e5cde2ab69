"""A real CNN, 200 steps: what is wrong is the first finding, and a healthy fit has none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lightning.pytorch", reason="lightning is not installed")
pytest.importorskip("pytscope_lightning", reason="pytscope-lightning is not installed")

import pytscope
from tests.lightning.scenarios import ROOT, SCENARIOS, STEPS, fit

FIRST = {
    "slow_collator": "TIMING.DATALOADER_BOUND",
    "slow_validation": "EFFICIENCY.EVAL_HEAVY",
    "frequent_checkpoints": "EFFICIENCY.CHECKPOINT_HEAVY",
}


@pytest.fixture(scope="module", params=[1, 2])
def folder(request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A folder of runs, one of each scenario, and how many ranks they have."""
    made, ranks = tmp_path_factory.mktemp("scenarios"), request.param
    if ranks == 1:
        for name in SCENARIOS:
            fit(made, name, ranks)
        return made, ranks
    words = [sys.executable, "-m", "tests.lightning.scenarios", str(made), str(ranks)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return made, ranks


def about_waiting(found: tuple[str, str, str]) -> bool:
    rule, _, title = found
    return rule.startswith("DIST.") or "communication" in title or "straggler_wait" in title


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_the_first_finding_is_what_is_wrong(folder: tuple[Path, int], name: str) -> None:
    made, ranks = folder
    run = pytscope.open(made / name)
    assert len(run.ranks) == ranks
    assert [len(timeline) for timeline in run.timelines] == [STEPS] * ranks
    document = json.loads(pytscope.analyze(made / name).to_json())
    budget = document["budget"]
    assert sum(line["ns"] for line in budget["lines"]) == budget["wall_ns"]
    findings = [(f["rule"], f["severity"], f["title"]) for f in document["findings"]]
    if ranks > 1:  # they share this machine's cores, and really wait for each other
        findings = [found for found in findings if not about_waiting(found)]
    if name in FIRST:
        assert findings[0][0] == FIRST[name], findings  # how grave depends on how busy it is here
    else:
        assert [f for f in findings if f[1] not in ("low", "info")] == []

"""The stranger's pack: as short as promised, complete, and found by its metadata alone."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from tests.core.plugins.throwaway import SOURCES, distribution, python

PACK = Path(__file__).parents[3] / "examples" / "pytscope-rules-demo"
MODULE = PACK / "src" / "pytscope_rules_demo" / "__init__.py"
HEADINGS = ("Detects:", "Why it matters:", "How it decides:", "Fix:", "Limits:", "References:")
ANALYSE = """
import sys
import pytscope
from pytscope.testing import make_run
report = pytscope.analyze(make_run({"forward": 30, "log": 10}))
sys.stdout.write(report.to_json(reproducible=True))
"""


def test_it_is_thirty_lines_with_a_whole_page() -> None:
    lines = MODULE.read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) <= 30
    page = [line.strip() for line in lines]
    for heading in HEADINGS:
        assert any(line.startswith(heading) for line in page), heading


def test_core_does_not_know_it() -> None:
    named = [p for p in SOURCES.rglob("*.py") if "rules_demo" in p.read_text(encoding="utf-8")]
    assert named == []


def test_its_metadata_is_all_it_takes(tmp_path: Path) -> None:
    project = tomllib.loads((PACK / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ((name, target),) = project["entry-points"]["pytscope"].items()
    distribution(
        tmp_path,
        project["name"],
        version=project["version"],
        requires=project["dependencies"],
        entry_points=f"[pytscope]\n{name} = {target}\n",
    )
    core = distribution(tmp_path / "core", "pytscope-core", version="0.3.0")
    done = python(ANALYSE, tmp_path, core, PACK / "src")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["problems"] == []
    assert "DEMO.LOGGING_HEAVY" in [f["rule"] for f in document["findings"]]
    (row,) = (p for p in document["plugins"] if p["name"] == name)
    assert (row["distribution"], row["state"]) == ("pytscope-rules-demo", "loaded")

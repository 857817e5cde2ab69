"""The example of a CI job, run by a shell as a runner does: it passes, then it fails."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.core.builtin.reporters.ci_formats import commands, junit, sarif
from tests.core.test_schemas import schema

from .running import ROOT

EXAMPLE = ROOT / "examples" / "ci"


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example's folder, with the command on the path."""
    folder = tmp_path_factory.mktemp("ci")
    shutil.copytree(EXAMPLE, folder / "training")
    tools = folder / "tools"
    tools.mkdir()
    for name, what in (("pytscope", "-m pytscope"), ("python", "")):
        script = tools / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {what} "$@"\n')
        script.chmod(0o755)
    return folder


def gate(job: Path, *options: str, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {
        "PATH": os.pathsep.join([str(job / "tools"), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT / "pytscope-core" / "src"),
        "PYTHONUTF8": "1",
        **environ,
    }
    command = ["bash", str(job / "training" / "gate.sh"), *options]
    return subprocess.run(
        command, cwd=job, env=env, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture(scope="module")
def passed(job: Path) -> subprocess.CompletedProcess[str]:
    made = gate(job, UPDATE_BASELINE="1")
    assert made.returncode == 0, made.stdout + made.stderr
    assert (job / "training" / "baseline.json").is_file()
    return gate(job)


def reports(job: Path) -> dict[str, Path]:
    return {path.name: path for path in (job / "training" / "reports").iterdir()}


def test_a_good_run_passes(job: Path, passed: subprocess.CompletedProcess[str]) -> None:
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert "GATE · ok — passed: 7 budgets, 6 passed · 1 skipped" in passed.stdout
    assert "::" not in passed.stdout
    found = reports(job)
    assert set(found) == {"junit.xml", "pytscope.sarif", "check.json"}
    document = json.loads(found["check.json"].read_text())
    jsonschema.validate(document, schema("check"))
    assert document["passed"] is True
    assert sarif(found["pytscope.sarif"].read_text())["properties"]["passed"] is True
    assert junit(found["junit.xml"].read_text()).get("failures") == "0"


def test_a_slow_loader_fails_it(job: Path, passed: subprocess.CompletedProcess[str]) -> None:
    assert passed.returncode == 0
    summary = job / "summary.md"
    github = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(job)}
    failed = gate(job, "--slow-loader", GITHUB_STEP_SUMMARY=str(summary), **github)
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "check: data.share <= 30%: failed" in failed.stderr
    errors = [c for c in commands(failed.stdout) if c.name == "error"]
    lines = (EXAMPLE / "pytscope.toml").read_text().splitlines()
    slow = next(e for e in errors if e.properties["title"] == "data.share failed")
    assert slow.properties["file"] == "training/pytscope.toml"
    assert "data.share" in lines[int(slow.properties["line"]) - 1]
    found = next(e for e in errors if e.properties["title"] == "TIMING.DATALOADER_BOUND")
    assert found.properties["file"] == "training/train.py"
    assert "GATE · bad" in summary.read_text()
    document = json.loads(reports(job)["check.json"].read_text())
    jsonschema.validate(document, schema("check"))
    standings = {b["metric"]: b["standing"] for b in document["budgets"]}
    assert standings["data.share"] == standings["fail-on"] == "failed"
    assert standings["loss.tail"] == standings["finished"] == "passed"
    results = sarif(reports(job)["pytscope.sarif"].read_text())["results"]
    assert {"BUDGET.data.share", "TIMING.DATALOADER_BOUND"} <= {r["ruleId"] for r in results}
    assert int(junit(reports(job)["junit.xml"].read_text()).get("failures")) >= 2


def test_the_workflow_runs_the_script_and_uploads_what_it_writes() -> None:
    yaml = pytest.importorskip("yaml", reason="reads the workflow")
    workflow = yaml.safe_load((EXAMPLE / "workflow.yml").read_text())
    steps = workflow["jobs"]["gate"]["steps"]
    assert {"run": "bash training/gate.sh"} in steps
    assert [s["if"] for s in steps if "upload" in s.get("uses", "")] == ["always()"] * 2
    written = (EXAMPLE / "gate.sh").read_text()
    for step in steps:
        for path in ("path", "sarif_file"):
            if named := step.get("with", {}).get(path):
                assert named.removeprefix("training/") in written

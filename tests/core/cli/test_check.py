"""`pytscope check`, from its command line and settings to its exit code."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jsonschema
import pytest

from pytscope.cli.config import find_config
from pytscope.model.errors import UsageError
from tests.core.builtin.reporters.ci_formats import commands, junit, sarif
from tests.core.cli.conftest import record
from tests.core.test_schemas import schema

SETTINGS = """\
[tool.pytscope.check]
run = "runs/ci"
baseline = "ci/base.json"
fail-on = "high"
budgets = [
  "step_ms.median <= 120 ms",
  "data.share <= 20%",
  'mfu >= 0.35 if measured',
]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fast_run: Path) -> Path:
    """A project with settings and a run that is fast, so the current folder."""
    folder = tmp_path / "project"
    (folder / "ci").mkdir(parents=True)
    shutil.copytree(fast_run, folder / "runs" / "ci")
    (folder / "pyproject.toml").write_text(SETTINGS)
    monkeypatch.chdir(folder)
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    return folder


def slow(project: Path, slow_run: Path) -> None:
    shutil.rmtree(project / "runs" / "ci")
    shutil.copytree(slow_run, project / "runs" / "ci")


class TestGate:
    def test_a_budget_that_was_not_measured_fails(self, cli, project):
        result = cli("check")
        assert result.code == 1
        assert "not measured  data.share <= 20%" in result.out
        assert "no counted step has a phase `data`" in result.out
        assert result.err == "check: data.share <= 20%: not measured\n"

    def test_a_run_that_keeps_its_budgets_passes(self, cli, project):
        (project / "pyproject.toml").write_text(SETTINGS.replace("20%", "20% if measured"))
        result = cli("check")
        assert (result.code, result.err) == (0, "")
        assert "● GATE · ok — passed: 4 budgets, 2 passed · 2 skipped" in result.out

    def test_one_that_does_not_fails(self, cli, project, slow_run):
        slow(project, slow_run)
        result = cli("check")
        assert result.code == 1
        assert "failed   data.share <= 20%" in result.out
        assert "TIMING.DATALOADER_BOUND" in result.out
        assert result.err.splitlines() == [
            "check: data.share <= 20%: failed",
            "check: fail-on high: failed",
        ]

    def test_budgets_of_the_command_line_come_beside_those_of_the_file(self, cli, project):
        result = cli("check", "--budget", "steps.total == 60", "--budget", "loss.last < 1")
        assert "passed        steps.total == 60" in result.out
        assert "check: loss.last < 1: failed" in result.err

    def test_without_settings_the_command_line_is_enough(self, cli, fast_run):
        assert cli("check", fast_run, "--budget", "step_ms.median <= 11").code == 0
        assert cli("check", fast_run, "--budget", "step_ms.median <= 9").code == 1
        assert cli("check", fast_run, "--fail-on", "high").code == 0

    def test_fail_on_of_the_command_line_counts_before_the_file(self, cli, project, slow_run):
        slow(project, slow_run)
        assert "fail-on" not in cli("check", "--fail-on", "never").out
        assert "fail-on low" in cli("check", "--fail-on", "low").out

    def test_the_general_fail_on_counts_where_the_table_has_none(self, cli, tmp_path, slow_run):
        Path("pytscope.toml").write_text('[tool.pytscope]\nfail-on = "high"\n')
        assert cli("check", slow_run).code == 1

    def test_options_of_the_analysis_count(self, cli, slow_run):
        budget = ("--budget", "steps.rated == 10")
        assert cli("check", slow_run, *budget).code == 1
        assert cli("check", slow_run, *budget, "--steps", "20:29").code == 0
        ignored = ("--fail-on", "high", "--ignore", "TIMING,EFFICIENCY")
        assert cli("check", slow_run, *ignored).code == 0

    def test_settings_are_found_from_below_and_paths_are_theirs(self, cli, project, monkeypatch):
        below = project / "src" / "deep"
        below.mkdir(parents=True)
        monkeypatch.chdir(below)
        result = cli("check", "--format", "json")
        assert json.loads(result.out)["budgets"][0]["standing"] == "passed"

    def test_verbose_shows_the_analysis(self, cli, project):
        assert "● TIMING" not in cli("check").out
        assert "● TIMING" in cli("check", "-v").out


class TestUsage:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--budget", "step_ms.medain <= 1"], "did you mean 'step_ms.median'"),
            (["--budget", "step_ms.median"], "is not METRIC"),
            (["--budget", "step_ms.median <= 5%"], "'%' does not fit"),
            (["--budget", "step_ms.median <= baseline"], "needs a baseline"),
            (["--format", "jsn", "--fail-on", "high"], "did you mean 'json'"),
            (["--format", "json", "--format", "github", "--fail-on", "high"], "json and github"),
            (["--format", "text", "--format", "json", "--fail-on", "high"], "two formats"),
            (["--update-baseline"], "which file"),
            (["--baseline", "-", "--fail-on", "high"], "is not the name of a file"),
            ([], "nothing to check"),
            (["--fail-on", "never"], "nothing to check"),
        ],
    )
    def test_what_cannot_be_asked(self, cli, fast_run, arguments, said):
        result = cli("check", fast_run, *arguments)
        assert (result.code, result.out) == (2, "")
        assert said in result.err

    def test_a_run_must_be_named_somewhere(self, cli):
        result = cli("check", "--fail-on", "high")
        assert result.code == 2
        assert 'run = "…"' in result.err or "run = " in result.err

    def test_an_unknown_metric_of_the_file_names_its_line(self, cli, project):
        (project / "pyproject.toml").write_text(SETTINGS.replace("data.share", "dta.share"))
        result = cli("check")
        assert result.code == 2
        assert "pyproject.toml:7: 'dta.share <= 20%': unknown metric 'dta.share'" in result.err
        assert "data.share" in result.err

    @pytest.mark.parametrize(
        ("table", "said"),
        [
            ("check = 3", "must be a table"),
            ("[tool.pytscope.check]\nbudget = []", "did you mean 'budgets'"),
            ("[tool.pytscope.check]\nbudgets = 'x <= 3'", "is not a list of budgets"),
            ("[tool.pytscope.check]\nbudgets = ['x = 3']", "is not METRIC"),
            ("[tool.pytscope.check]\nfail-on = 'hgh'", "is none of"),
            ("[tool.pytscope.check]\nfail-on = true", "is not a severity"),
            ("[tool.pytscope.check]\nrun = 3", "is not a path"),
            ("[tool.pytscope.check]\nbaseline = ''", "is not a path"),
        ],
    )
    def test_settings_are_read_strictly(self, tmp_path, table, said):
        (tmp_path / "pytscope.toml").write_text(f"[tool.pytscope]\n{table}\n")
        with pytest.raises(UsageError, match="check: ") as caught:
            find_config(tmp_path)
        assert said in str(caught.value)


class TestInput:
    def test_a_missing_run(self, cli):
        result = cli("check", "runs/none", "--fail-on", "high")
        assert result.code == 3

    def test_a_run_without_a_usable_step(self, cli, tmp_path):
        record(tmp_path / "warm", steps=4, warmup=9)
        asked = ("--budget", "step_ms.median <= 1", "--budget", "steps.total == 4")
        result = cli("check", tmp_path / "warm", *asked)
        assert result.code == 3
        assert "failed: 3 budgets, 1 passed · 1 failed · 1 not measured" in result.out
        assert "of 4 steps found, 4 warm-up" in result.out
        base = tmp_path / "b.json"
        assert cli("check", tmp_path / "warm", "--baseline", base, "--update-baseline").code == 3
        assert not base.exists()

    @pytest.mark.parametrize("text", ["", "[]", '{"schema": "pytscope.baseline/2"}', "\xff"])
    def test_what_is_no_baseline(self, cli, fast_run, text):
        Path("base.json").write_text(text, encoding="latin-1")
        asked = ("--baseline", "base.json", "--budget", "wall_s <= baseline")
        result = cli("check", fast_run, *asked)
        assert (result.code, result.out) == (3, "")
        assert "base.json is no baseline" in result.err

    def test_strict_notices_what_was_lost(self, cli, fast_run, tmp_path):
        torn = tmp_path / "torn"
        shutil.copytree(fast_run, torn)
        (file,) = torn.glob("*.pts")
        file.write_bytes(file.read_bytes() + b"no record\n")
        asked = (torn, "--budget", "steps.total >= 0")
        assert cli("check", *asked).code == 0
        assert cli("check", *asked, "--strict").code == 4


class TestBaseline:
    def test_it_is_made_and_kept_to(self, cli, project, slow_run):
        relative = SETTINGS.replace('"step_ms.median <= 120 ms"', '"step_ms.p95 <= 1.2*baseline"')
        (project / "pyproject.toml").write_text(relative.replace("20%", "20% if measured"))
        missing = cli("check")
        assert missing.code == 3
        assert "--update-baseline writes it" in missing.err
        before = {p for p in project.rglob("*") if p.is_file()}
        made = cli("check", "--update-baseline")
        assert made.code == 0
        assert "not judged" in made.out
        assert {p for p in project.rglob("*") if p.is_file()} - before == {
            project / "ci" / "base.json"
        }
        assert cli("check").code == 0
        slow(project, slow_run)
        failed = cli("check", "--fail-on", "never")
        assert failed.code == 1
        assert "300.0% above the baseline's 10 ms" in failed.out
        assert "baseline ci/base.json of run sample" in " ".join(failed.out.split())

    def test_absolute_budgets_are_judged_while_it_is_made(self, cli, slow_run, tmp_path):
        base = tmp_path / "b.json"
        asked = ("--baseline", base, "--update-baseline", "--budget", "step_ms.median <= 1")
        assert cli("check", slow_run, *asked).code == 1
        assert json.loads(base.read_text())["metrics"]["step_ms.median"] == 40

    def test_it_takes_no_budget_to_make_one(self, cli, fast_run, tmp_path):
        base = tmp_path / "b.json"
        result = cli("check", fast_run, "--baseline", base, "--update-baseline")
        assert result.code == 0
        assert "nothing was judged" in result.out
        text = base.read_text()
        cli("check", fast_run, "--baseline", base, "--update-baseline")
        assert base.read_text() == text

    def test_a_place_that_cannot_be_written(self, cli, fast_run, tmp_path):
        asked = ("--baseline", tmp_path / "no" / "b.json", "--update-baseline")
        result = cli("check", fast_run, *asked)
        assert result.code == 3
        assert "cannot write" in result.err

    def test_it_is_not_read_when_no_budget_refers_to_it(self, cli, fast_run):
        asked = ("--baseline", "none.json", "--budget", "step_ms.median <= 11")
        result = cli("check", fast_run, *asked)
        assert (result.code, result.err) == (
            0,
            "none.json is not read: no budget has 'baseline' in it\n",
        )


class TestFormats:
    def test_all_of_them_at_once(self, cli, project, slow_run):
        slow(project, slow_run)
        files = {n: project / f"out.{n}" for n in ("json", "junit", "sarif", "markdown", "github")}
        formats = [a for n, p in files.items() for a in ("--format", f"{n}:{p}")]
        result = cli("check", "--format", "text", *formats)
        assert result.code == 1
        assert result.out.startswith("● RUN")
        jsonschema.validate(json.loads(files["json"].read_text()), schema("check"))
        junit(files["junit"].read_text())
        run = sarif(files["sarif"].read_text())
        places = [r["locations"][0]["physicalLocation"] for r in run["results"]]
        assert places[0]["artifactLocation"]["uri"] == "pyproject.toml"
        assert places[0]["region"]["startLine"] == 7
        errors = [c for c in commands(files["github"].read_text()) if c.name == "error"]
        assert errors[0].properties["line"] == "7"
        assert errors[1].properties["line"] == "4"
        assert "## pytscope check" in files["markdown"].read_text()

    def test_formats_of_the_command_line_of_analyze(self, cli, slow_run):
        sarif(cli("analyze", slow_run, "--format", "sarif").out)
        junit(cli("analyze", slow_run, "--format", "junit").out)
        assert commands(cli("analyze", slow_run, "--format", "github").out)[0].name == "error"

    def test_annotations_follow_the_text_in_which_nothing_is_a_command(
        self, cli, tmp_path, monkeypatch
    ):
        run = record(tmp_path / "run")
        (file,) = run.glob("*.pts")
        assert b'"sample"' in file.read_bytes()
        budget = ("--budget", "scalar.::error::x.last <= 3")
        result = cli("check", run, *budget, "--format", "text", "--format", "github")
        lines = result.out.splitlines()
        token = lines[0].removeprefix("::stop-commands::")
        assert len(token) == 32
        end = lines.index(f"::{token}::")
        assert not any(token in line for line in lines[1:end])
        assert all(line.startswith("::") for line in lines[end + 1 :])
        assert any("::error::x" in line for line in lines[1:end])

    def test_annotations_alone(self, cli, fast_run):
        result = cli("check", fast_run, "--fail-on", "high", "--format", "github")
        assert result.out == "::notice title=pytscope check::passed: 1 budget, 1 passed\n"

    def test_the_step_summary_is_written_with_github_alone(self, cli, project, monkeypatch):
        summary = project / "summary.md"
        summary.write_text("before\n")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
        cli("check")
        assert summary.read_text() == "before\n"
        cli("check", "--format", "github")
        assert summary.read_text().startswith("before\n## pytscope check · `sample`\n")
        assert "| not measured | data.share &lt;= 20% |" in summary.read_text()

    def test_a_summary_that_cannot_be_written_is_said(self, cli, fast_run, monkeypatch, tmp_path):
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "summary.md"))
        result = cli("check", fast_run, "--fail-on", "high", "--format", "github")
        assert result.code == 3
        assert "GITHUB_STEP_SUMMARY" in result.err

    def test_reproducible_output_is_the_same_for_the_same_run_elsewhere(
        self, cli, slow_run, tmp_path
    ):
        shutil.copytree(slow_run, tmp_path / "copy")
        for form in ("text", "json", "markdown", "junit", "sarif", "github"):
            asked = ("--fail-on", "high", "--reproducible", "--format", form)
            assert cli("check", slow_run, *asked).out == cli("check", tmp_path / "copy", *asked).out

    def test_the_list_of_metrics(self, cli, slow_run):
        result = cli("check", slow_run, "--list")
        assert (result.code, result.err) == (0, "")
        lines = result.out.splitlines()
        assert lines[0].split()[:3] == ["step_ms.median", "40", "ms"]
        assert any(line.split()[:2] == ["data.share", "74.3%"] for line in lines)
        start = lines.index("Not measured in this run:")
        assert any(line.startswith("  mfu") for line in lines[start:])


def test_a_budget_of_a_plugins_analysis(cli, slow_run):
    result = cli("check", slow_run, "--budget", "analyses.timing.spread <= 1")
    assert result.code == 0
    assert cli("check", slow_run, "--budget", "analyses.timing.sprea <= 1").code == 2

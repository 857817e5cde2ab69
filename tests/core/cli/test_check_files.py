"""Which files `pytscope check` reads, writes, points to, and never writes over."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.core.builtin.reporters.ci_formats import commands, sarif

BUDGET = ("--budget", "step_ms.median <= 120")


@pytest.fixture
def run(tmp_path: Path, fast_run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that a test may spoil, below the current folder."""
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(fast_run, tmp_path / "runs" / "ci")
    return Path("runs/ci")


class TestInputsAreKept:
    @pytest.mark.parametrize("verb", ["check", "analyze"])
    def test_no_report_is_written_over_the_run(self, cli, run, verb):
        (file,) = run.glob("*.pts")
        before = file.read_bytes()
        asked = (verb, run, "--fail-on", "high")
        for name in (file, run / "new.pts", Path("runs/../runs/ci") / file.name):
            result = cli(*asked, "--format", f"json:{name}")
            assert (result.code, result.out) == (2, "")
            assert "is part of the run itself" in result.err
        assert file.read_bytes() == before
        assert cli(*asked, "--format", f"json:{run}/report.json").code == 0

    def test_a_baseline_is_not_written_over_the_run(self, cli, run):
        (file,) = run.glob("*.pts")
        result = cli("check", run, "--baseline", file, "--update-baseline")
        assert result.code == 2
        assert "is part of the run itself" in result.err

    @pytest.mark.parametrize("more", [[], ["--update-baseline"]])
    def test_no_report_is_written_over_the_baseline(self, cli, run, more):
        Path("link.json").symlink_to("base.json")
        asked = ("check", run, *BUDGET, "--baseline", "base.json", *more)
        for file in ("base.json", "./runs/../base.json", "link.json"):
            result = cli(*asked, "--format", f"json:{file}")
            assert result.code == 2
            assert "is the baseline" in result.err
        assert not Path("base.json").exists()

    def test_nothing_is_written_over_the_settings(self, cli, run):
        text = '[tool.pytscope.check]\nbudgets = ["steps.total == 60"]\n'
        settings = Path("pytscope.toml")
        settings.write_text(text)
        for verb, *asked in (
            ("check", "--format", "sarif:pytscope.toml"),
            ("check", "--baseline", "pytscope.toml", "--update-baseline"),
            ("analyze", "--format", "json:pytscope.toml"),
        ):
            result = cli(verb, run, *asked)
            assert result.code == 2
            assert "is the settings file" in result.err
        assert settings.read_text() == text

    def test_two_names_of_one_file_are_one_place(self, cli, run):
        Path("a.json").touch()
        Path("b.json").symlink_to("a.json")
        formats = ("--format", "json:a.json", "--format", "sarif:b.json")
        result = cli("check", run, *BUDGET, *formats)
        assert result.code == 2
        assert "two formats would go to b.json" in result.err


class TestPlaces:
    def test_a_budget_that_is_commented_out_is_not_where_one_is_written(self, cli, run):
        lines = [
            "[tool.pytscope.check]",
            "budgets = [",
            '  # "steps.total == 9",',
            '  "steps.total == 9",',
            "]",
        ]
        Path("pytscope.toml").write_text("\n".join(lines))
        error = commands(cli("check", run, "--format", "github").out)[0]
        assert error.properties["line"] == "4"

    def test_runs_are_found_from_the_root_of_the_sources(self, cli, run, tmp_path, monkeypatch):
        monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
        below = tmp_path / "training"
        below.mkdir()
        monkeypatch.chdir(below)
        asked = ("--budget", "steps.total == 9", "--format", "sarif")
        (result,) = sarif(cli("check", "../runs/ci", *asked).out)["results"]
        place = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert place == {"uri": "runs/ci", "uriBaseId": "%SRCROOT%"}


class TestSettings:
    def test_the_file_that_names_nothing_is_named(self, cli, run):
        for asked in ((), (run,)):
            assert "none in a pytscope.toml or pyproject.toml here" in cli("check", *asked).err
        Path("pyproject.toml").write_text('[tool.pytscope.check]\nrun = "runs/ci"\n')
        assert "none in pyproject.toml" in cli("check").err
        Path("pytscope.toml").write_text("[tool.pytscope]\nstrict = true\n")
        for asked in ((), (run,)):
            result = cli("check", *asked)
            assert result.code == 2
            assert "none in pytscope.toml" in result.err


class TestExit:
    def test_strict_hides_no_budget(self, cli, run):
        (file,) = run.glob("*.pts")
        file.write_bytes(file.read_bytes() + b"no record\n")
        result = cli("check", run, "--budget", "steps.total == 9", "--strict")
        assert result.code == 4
        said = result.err.splitlines()
        assert said[0] == "check: steps.total == 9: failed"
        assert said[1].startswith("strict: ")

    def test_a_baseline_is_read_as_windows_writes_it(self, cli, run):
        assert cli("check", run, "--baseline", "base.json", "--update-baseline").code == 0
        text = Path("base.json").read_text()
        assert json.loads(text)["run"]["made_with"]["ranks"] == "1"
        Path("base.json").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
        asked = ("--baseline", "base.json", "--budget", "step_ms.median == baseline")
        assert cli("check", run, *asked).code == 0


def test_checking_loads_nothing_that_compares_runs(shell, fast_run):
    line = (
        f"{'$PYTSCOPE'} check {fast_run} --budget 'steps.total == 60' --format json >/dev/null "
        "&& echo done"
    )
    result = shell(line, PYTHONVERBOSE="1")
    assert result.stdout == b"done\n"
    loaded = result.stderr.decode(errors="replace")
    assert "import 'pytscope.gates.gating'" in loaded
    assert "import 'pytscope.diffing" not in loaded
    assert "import 'torch'" not in loaded


def test_the_list_of_metrics_shows_what_would_move_a_cursor(cli, tmp_path):
    from pytscope import Profiler

    with Profiler(tmp_path / "run") as prof:
        for _ in range(3):
            with prof.step():
                prof.log(**{"\x1b[2J": 1.0})
    out = cli("check", tmp_path / "run", "--list").out
    assert "\\x1b[2J.last " in out
    assert "\x1b" not in out

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import jsonschema
import pytest

from pytscope import analyze
from pytscope import open as open_run
from tests.core.cli.conftest import record
from tests.core.model.test_document import SCHEMA

COLOR = re.compile(r"\x1b\[[0-9;]*m")


def first_finding(text: str) -> str:
    return json.loads(text)["findings"][0]["rule"]


def test_a_slow_loader_is_the_first_finding(cli, slow_run):
    result = cli("analyze", slow_run)
    assert result.code == 0
    assert result.err == ""
    assert "[HIGH]" in result.out
    tagged = [line for line in result.out.splitlines() if line.startswith("  [")]
    assert "TIMING.DATALOADER_BOUND" in tagged[0]
    assert "eval " in result.out


def test_json_is_what_the_api_writes(cli, slow_run):
    result = cli("analyze", slow_run, "--format", "json", "--reproducible")
    assert result.out == analyze(slow_run).to_json(reproducible=True)
    document = json.loads(result.out)
    jsonschema.validate(document, SCHEMA)
    assert sum(line["ns"] for line in document["budget"]["lines"]) == document["run"]["wall_ns"]
    assert "path" not in document["run"]
    assert str(slow_run) not in result.out


@pytest.mark.parametrize("options", [["-v", "--plugins"], ["--format=json"]])
def test_reproducible_bytes_do_not_depend_on_the_place(cli, slow_run, tmp_path, options):
    moved = shutil.copytree(slow_run, tmp_path / slow_run.name)
    assert str(slow_run) in cli("analyze", slow_run, *options).out
    here = cli("analyze", slow_run, "--reproducible", *options).out
    assert str(slow_run) not in here
    assert cli("analyze", moved, "--reproducible", *options).out == here


class TestPresentation:
    SPELLINGS = (
        ("--color=always", "analyze"),
        ("--color", "always", "analyze"),
        ("analyze", "--color=always"),
        ("analyze", "--color", "always"),
        ("--color=never", "analyze", "--color=always"),
    )

    @pytest.mark.parametrize("spelling", SPELLINGS)
    def test_colour_before_and_after_the_verb(self, cli, slow_run, spelling):
        plain, colored = cli("analyze", slow_run).out, cli(*spelling, slow_run).out
        assert colored != plain
        assert COLOR.sub("", colored) == plain

    def test_the_environment_forces_and_forbids(self, cli, slow_run, monkeypatch):
        plain = cli("analyze", slow_run).out
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert COLOR.sub("", cli("analyze", slow_run).out) == plain
        assert cli("analyze", slow_run).out != plain
        assert cli("analyze", slow_run, "--color=never").out == plain
        monkeypatch.setenv("NO_COLOR", "1")
        assert cli("analyze", slow_run).out == plain

    @pytest.mark.parametrize("before", [True, False])
    def test_width_and_ascii(self, cli, slow_run, before):
        options = ("--width=50", "--ascii")
        words = (*options, "analyze", slow_run) if before else ("analyze", slow_run, *options)
        out = cli(*words).out
        assert out.isascii()
        assert max(map(len, out.splitlines())) <= 50

    def test_more_is_shown_on_demand(self, cli, slow_run):
        out = cli("analyze", slow_run, "--show-passed").out
        assert "  passed " in out
        assert "thresholds " in cli("analyze", slow_run, "-v").out
        assert "thresholds " not in out


class TestWindows:
    def test_warm_up(self, cli, slow_run):
        def rated(*options: str) -> int:
            out = cli("analyze", slow_run, "--format=json", *options).out
            return int(json.loads(out)["analyses"]["timing"]["steps"])

        assert rated() == rated("--warmup=auto") == 55
        assert rated("--warmup", "20") == 40
        assert rated("--warmup", "0") == 60

    def test_steps(self, cli, slow_run):
        out = cli("analyze", slow_run, "--steps", "10:19", "--format=json").out
        run = json.loads(out)["run"]
        assert (run["steps"], run["window"]) == (10, [10, 19])

    def test_attempt(self, cli, tmp_path):
        record(tmp_path / "run", steps=30)
        record(tmp_path / "run", steps=40)
        steps = [
            json.loads(cli("analyze", tmp_path / "run", "--format=json", *o).out)["run"]["steps"]
            for o in ((), ("--attempt=0",), ("--attempt", "1"))
        ]
        assert steps == [40, 30, 40]

    def test_one_file_of_a_run(self, cli, slow_run):
        assert cli("analyze", slow_run / "rank00000.pts", "--source", "pytscope").code == 0


class TestRules:
    def outcomes(self, cli, *arguments):
        document = json.loads(cli("analyze", *arguments, "--format=json").out)
        return {check["rule"]: check for check in document["checks"]}

    def test_select(self, cli, slow_run):
        checks = self.outcomes(cli, slow_run, "--select", "timing", "--select=budget.impossible")
        enabled = {rule for rule, check in checks.items() if check["outcome"] != "disabled"}
        assert enabled == {rule for rule in checks if rule.startswith("TIMING.")} | {
            "BUDGET.IMPOSSIBLE"
        }
        assert "TIMING.JITTER" in enabled

    def test_ignore(self, cli, slow_run):
        checks = self.outcomes(cli, slow_run, "--ignore=TIMING.*,EFFICIENCY")
        assert checks["TIMING.DATALOADER_BOUND"]["outcome"] == "disabled"
        assert checks["COVERAGE.RANKS_MISSING"]["outcome"] != "disabled"

    def test_set(self, cli, slow_run):
        (name, value), *_ = self.outcomes(cli, slow_run)["TIMING.DATALOADER_BOUND"][
            "thresholds"
        ].items()
        changed = self.outcomes(cli, slow_run, "--set", f"timing.dataloader_bound.{name}={value}")
        assert changed["TIMING.DATALOADER_BOUND"]["thresholds"][name] == value

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--select", "TIMNG"], "did you mean 'TIMING'"),
            (["--ignore", "TIMING.JITTR"], "did you mean 'TIMING.JITTER'"),
            (["--set", "TIMING.JITTR.x=1"], "did you mean 'TIMING.JITTER'"),
            (["--set", "TIMING.JITTER.nonsense=1"], "no threshold 'nonsense'"),
        ],
    )
    def test_unknown_names_are_usage_errors(self, cli, slow_run, options, said):
        result = cli("analyze", slow_run, *options)
        assert (result.code, result.out) == (2, "")
        assert said in result.err


class TestSeverityAndGates:
    def test_findings_below_are_hidden_and_named(self, cli, tmp_path):
        run = record(tmp_path / "run", data_ms=2)
        assert "[MED]" in cli("analyze", run).out
        result = cli("analyze", run, "--severity=high")
        assert "[MED]" not in result.out
        assert "TIMING.DATALOADER_BOUND" in result.out.split("FINDINGS (0)")[1]
        document = json.loads(cli("analyze", run, "--severity=high", "--format=json").out)
        assert document["findings"] == []

    def test_a_gate_fails_with_one(self, cli, slow_run):
        result = cli("analyze", slow_run, "--fail-on", "high")
        assert result.code == 1
        assert "[HIGH]" in result.out
        assert "fail-on: " in result.err

    def test_a_gate_does_not_look_at_what_is_shown(self, cli, slow_run):
        assert cli("analyze", slow_run, "--fail-on=low", "--severity=high").code == 1

    def test_a_gate_counts_what_is_left_after_ignore(self, cli, slow_run):
        ignored = "--ignore=TIMING,EFFICIENCY"
        assert cli("analyze", slow_run, ignored, "--fail-on=low").code == 0

    @pytest.mark.parametrize("options", [[], ["--fail-on=never"], ["--strict"]])
    def test_findings_alone_do_not_fail(self, cli, slow_run, options):
        assert cli("analyze", slow_run, *options).code == 0

    def test_strict_fails_for_lost_records(self, cli, tmp_path):
        run = record(tmp_path / "run", steps=1500)
        assert cli("analyze", run, "--strict").code == 0
        path = run / "rank00000.pts"
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(content)
        assert cli("analyze", run).code == 0
        result = cli("analyze", run, "--strict", "--fail-on=high")
        assert result.code == 4, "what is not whole is not judged"
        lost = re.search(r"strict: the records of (\d+) steps are lost", result.err)
        left = re.search(r"([\d,]+) steps · ", result.out)
        assert lost, result.err
        assert left, result.out
        assert int(lost[1]) + int(left[1].replace(",", "")) == 1500
        assert "● FINDINGS" in result.out


class TestNothingUsable:
    def test_warm_up_that_takes_every_step(self, cli, slow_run):
        result = cli("analyze", slow_run, "--warmup", "1000")
        assert result.code == 3
        assert "error: no usable step: of 60 steps found, 60 warm-up" in result.err
        assert "● COVERAGE" in result.out, "what was read is still shown"
        assert "no findings" not in result.out

    def test_json_says_it_too(self, cli, slow_run):
        result = cli("analyze", slow_run, "--warmup", "1000", "--format=json")
        assert result.code == 3
        document = json.loads(result.out)
        jsonschema.validate(document, SCHEMA)
        assert document["coverage"] is not None

    def test_a_window_without_a_step(self, cli, slow_run):
        result = cli("analyze", slow_run, "--steps", "500:")
        assert result.code == 3
        assert "no step is in 500:" in result.err

    def test_a_run_without_a_step(self, cli, tmp_path):
        record(tmp_path / "run", steps=0)
        result = cli("analyze", tmp_path / "run")
        assert result.code == 3
        assert "no completed step" in result.err

    def test_no_run_at_all(self, cli, slow_run, tmp_path):
        near = f"{slow_run}x"
        result = cli("analyze", near)
        assert (result.code, result.out) == (3, "")
        assert result.err.startswith("error: there is nothing at")
        assert f"Did you mean {slow_run} (" in result.err
        assert "60 steps)?" in result.err
        assert cli("analyze", tmp_path).code == 3

    def test_hostile_names_are_made_visible(self, cli):
        result = cli("analyze", "no\x1b[2Jsuch\nerror: forged")
        assert "no\\x1b[2Jsuch\\nerror: forged" in result.err


class TestFormats:
    def test_a_file_and_standard_output(self, cli, slow_run, tmp_path):
        file = tmp_path / "report.json"
        result = cli("analyze", slow_run, "--format", f"json:{file}", "--format", "text")
        assert first_finding(file.read_text()) == "TIMING.DATALOADER_BOUND"
        assert result.out.startswith("● RUN")
        assert f"wrote {file} (json)" in result.err

    def test_only_files_leave_standard_output_empty(self, cli, slow_run, tmp_path):
        result = cli("analyze", slow_run, "--format", f"text:{tmp_path / 'a.txt'}")
        assert result.out == ""
        assert (tmp_path / "a.txt").read_text(encoding="utf-8").startswith("● RUN")

    def test_the_forced_colour_of_a_terminal_stays_out_of_files(
        self, cli, slow_run, tmp_path, monkeypatch
    ):
        monkeypatch.setenv("FORCE_COLOR", "1")
        file = tmp_path / "a.txt"
        assert COLOR.search(cli("analyze", slow_run).out)
        cli("analyze", slow_run, f"--format=text:{file}")
        assert not COLOR.search(file.read_text(encoding="utf-8"))
        cli("analyze", slow_run, f"--format=text:{file}", "--color=always")
        assert COLOR.search(file.read_text(encoding="utf-8"))

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--format=jsn"], "unknown format 'jsn'; did you mean 'json'?"),
            (["--format=json:"], "is not FORMAT or FORMAT:FILE"),
            (["--format=json", "--format=text"], "two formats would go to standard output"),
            (["--format=json:a", "--format=text:a"], "two formats would go to a"),
        ],
    )
    def test_mistakes_are_usage_errors(self, cli, slow_run, options, said):
        result = cli("analyze", slow_run, *options)
        assert (result.code, result.out) == (2, "")
        assert said in result.err

    def test_a_folder_that_is_not_there(self, cli, slow_run):
        result = cli("analyze", slow_run, "--format", "json:no/such/report.json")
        assert result.code == 3
        assert "error: cannot write no/such/report.json" in result.err


@pytest.mark.parametrize(
    "options",
    [
        ["--warmup", "-5"],
        ["--warmup=nan"],
        ["--steps", "5"],
        ["--steps=9:3"],
        ["--attempt=-1"],
        ["--flops-per-step", "0"],
        ["--flops-per-step=-5"],
        ["--flops-per-step=nan"],
        ["--peak-tflops", "inf"],
        ["--peak-tflops=1e300"],
        ["--severity=huge"],
        ["--fail-on=sometimes"],
        ["--set", "nonsense"],
        ["-p", "acme"],
        ["--plugins="],
        ["--width", "3"],
        ["--color", "red"],
        ["--no-such-option"],
    ],
)
def test_values_that_do_not_fit_are_usage_errors(cli, slow_run, options):
    result = cli("analyze", slow_run, *options)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: ")
    assert "Traceback" not in result.err


def test_flops_and_peak_reach_the_budget(cli, fast_run):
    options = ("--flops-per-step=1e9", "--peak-tflops", "1")
    budget = json.loads(cli("analyze", fast_run, "--format=json", *options).out)["budget"]
    assert budget["flops_per_step"] == 1e9
    assert budget["peak_flops"] == 1e12
    assert 0 < budget["mfu"] < 1


def test_unknown_sources_are_usage_errors(cli, slow_run):
    result = cli("analyze", slow_run, "--source", "pytscop")
    assert result.code == 2
    assert "pytscope" in result.err


class TestSettingsFile:
    def write(self, text: str) -> None:
        Path("pyproject.toml").write_text(text, encoding="utf-8")

    def test_it_is_read_from_the_current_folder(self, cli, slow_run):
        self.write("[tool.pytscope]\nfail-on = 'high'\nwidth = 60\n")
        result = cli("analyze", slow_run)
        assert result.code == 1
        assert max(map(len, result.out.splitlines())) <= 60

    def test_the_command_line_counts_before_it(self, cli, slow_run):
        self.write(
            "[tool.pytscope]\nfail-on = 'high'\nwidth = 60\nignore = ['TIMING']\nwarmup = 30\n"
        )
        options = ("--fail-on=never", "--width=70", "--ignore=COVERAGE", "--warmup=auto")
        result = cli("analyze", slow_run, *options)
        assert result.code == 0
        assert 60 < max(map(len, result.out.splitlines())) <= 70
        assert "TIMING.DATALOADER_BOUND" in result.out
        assert "55 steps" in result.out

    def test_thresholds(self, cli, slow_run):
        (name, value), *_ = (
            TestRules().outcomes(cli, slow_run)["TIMING.JITTER"]["thresholds"].items()
        )
        table = '[tool.pytscope.rules."TIMING.JITTER"]\n'
        self.write(f"{table}{name} = {value}\n")
        checks = TestRules().outcomes(cli, slow_run)
        assert checks["TIMING.JITTER"]["thresholds"][name] == value
        self.write(f"{table}nonsense = 1\n")
        result = cli("analyze", slow_run)
        assert result.code == 2
        assert f"{Path.cwd()}/pyproject.toml: rule TIMING.JITTER has no threshold" in result.err

    def test_a_rule_that_nobody_brings(self, cli, slow_run):
        self.write('[tool.pytscope.rules."ACME.X"]\na = 1\n')
        result = cli("analyze", slow_run)
        assert result.code == 2
        assert "pyproject.toml: there is no rule 'ACME.X'" in result.err

    def test_a_selection_that_names_nothing(self, cli, slow_run):
        self.write("[tool.pytscope]\nselect = ['TIMNG']\n")
        result = cli("analyze", slow_run)
        assert result.code == 2
        assert "pyproject.toml: select: no rule matches 'TIMNG'" in result.err


def test_a_hostile_run_name_stays_in_its_place(cli, tmp_path):
    from pytscope.recording.profiler import Profiler

    name = "x\x1b[2J\x1b]0;owned\x07\n● FINDINGS (0)\u202e"
    with Profiler(tmp_path / "run", name=name, inline=True) as profiler:
        for _ in range(3):
            with profiler.step():
                profiler.mark("[red]phase\x1b[31m\n")
    assert open_run(tmp_path / "run").name == name
    result = cli("analyze", tmp_path / "run", "-v")
    assert "\x1b" not in result.out
    assert result.out.splitlines()[0].startswith("● RUN x\\x1b[2J")
    assert "[red]phase\\x1b[31m\\n" in result.out

"""One door for whatever is drawn: places, order, failures of reporters and of places."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pytscope import diff
from pytscope.cli.formats import Look, checked_targets, draw, step_summary
from pytscope.cli.output import OutputFailed
from pytscope.cli.parameters import Target
from pytscope.model.comparison import Comparison
from pytscope.model.errors import UsageError
from pytscope.model.gate import Gate
from pytscope.model.report import Report
from pytscope.plugins.declare import Reporter, reporter
from pytscope.plugins.isolation import Guard, Origin
from pytscope.plugins.loading import LoadedPlugin, load_builtins
from pytscope.plugins.registry import build_registry
from pytscope.testing import make_run
from tests.core import report_samples as samples
from tests.core.builtin.reporters.ci_formats import ALL, made_gate

GATE = made_gate(*ALL, report=samples.report(problems=()))
RUNS = [make_run({"forward": 10}, steps=20, seed=seed, noise=0.1) for seed in (1, 2)]
DRAWN = {"analyze": GATE.report, "check": GATE, "diff": diff(*RUNS)}


def named(name: str) -> Reporter:
    def fail(drawn: Any, options: Any) -> str:
        msg = f"{name} cannot"
        raise ValueError(msg)

    return reporter(name, compare=fail, check=fail)(fail)


ACME = LoadedPlugin(Origin("acme"), {"reporters": [named("bad"), named("worse")]})
REGISTRY = build_registry((load_builtins(Guard()), ACME))


@pytest.mark.parametrize("verb", DRAWN)
class TestEveryVerb:
    def test_a_broken_reporter_is_told_in_every_text_whatever_their_order(
        self, verb, tmp_path, capsys
    ):
        texts = []
        for names in (["bad", "json", "worse", "text"], ["text", "json", "worse", "bad"]):
            targets = [Target(name, tmp_path / name) for name in names]
            late = draw(DRAWN[verb], targets, REGISTRY, Look())
            assert sorted(p.stage for p in late) == ["reporter bad", "reporter worse"]
            for name in names:
                text = (tmp_path / name).read_text()
                assert "bad cannot" in text
                assert "worse cannot" in text
            assert (tmp_path / "bad").read_text() == (tmp_path / "text").read_text()
            problems = json.loads((tmp_path / "json").read_text())["problems"]
            texts.append(sorted(problem["stage"] for problem in problems))
        assert texts[0] == texts[1]
        said = capsys.readouterr().err
        assert said.count("reporter bad of plugin acme failed: ValueError: bad cannot; text") == 2

    def test_a_place_that_cannot_be_written_takes_nothing_from_the_others(
        self, verb, tmp_path, capsys
    ):
        targets = [
            Target("text"),
            Target("json", tmp_path / "no" / "a.json"),
            Target("markdown", tmp_path / "nor" / "a.md"),
            Target("json", tmp_path / "b.json"),
        ]
        with pytest.raises(OutputFailed, match=r"nor/a\.md"):
            draw(DRAWN[verb], targets, REGISTRY, Look())
        out, err = capsys.readouterr()
        assert "no/a.json" in err
        assert out.startswith("● ")
        assert json.loads((tmp_path / "b.json").read_text())

    def test_two_formats_never_share_a_place(self, verb, tmp_path):
        kind = type(DRAWN[verb])
        same = (Target("json", tmp_path / "a"), Target("text", tmp_path / "." / "a"))
        for pair in (same, (Target("json"), Target("text")), (Target("text"), Target("text"))):
            with pytest.raises(UsageError, match="two formats would go to"):
                checked_targets(pair, REGISTRY, kind)
        assert checked_targets((), REGISTRY, kind) == (Target("text"),)


@pytest.mark.parametrize("kind", [Report, Gate])
def test_annotations_may_follow_a_log_for_people(kind):
    for name in ("text", "markdown"):
        checked_targets((Target(name), Target("github")), REGISTRY, kind)
        checked_targets((Target("github"), Target(name)), REGISTRY, kind)
    for name in ("json", "junit", "sarif", "github", "bad"):
        with pytest.raises(UsageError, match="standard output"):
            checked_targets((Target(name), Target("github")), REGISTRY, kind)
    with pytest.raises(UsageError, match="not comparisons"):
        checked_targets((Target("github"),), REGISTRY, Comparison)


@pytest.mark.parametrize("verb", ["analyze", "check"])
def test_nothing_of_a_log_before_annotations_is_a_command(verb, capsys):
    draw(DRAWN[verb], [Target("github"), Target("text")], REGISTRY, Look())
    lines = capsys.readouterr().out.splitlines()
    token = lines[0].removeprefix("::stop-commands::")
    end = lines.index(f"::{token}::")
    assert lines[1].startswith("● RUN")
    assert not any(token in line for line in lines[1:end])
    assert lines[end + 1 :]
    assert all(line.startswith("::") for line in lines[end + 1 :])


class TestStepSummary:
    def test_it_goes_with_annotations(self, tmp_path):
        environ = {"GITHUB_STEP_SUMMARY": str(tmp_path / "s.md")}
        text = (Target("text"),)
        assert step_summary(text, environ) == text
        github = (Target("github"),)
        assert step_summary(github, {}) == github
        assert [t.name for t in step_summary(github, environ)] == ["github", "markdown"]

    def draw(self, file: Path) -> str:
        targets = step_summary((Target("github"),), {"GITHUB_STEP_SUMMARY": str(file)})
        draw(GATE, targets, REGISTRY, Look())
        return file.read_text()

    def test_it_is_added_to_what_is_there_up_to_what_github_takes(self, tmp_path):
        file = tmp_path / "s.md"
        file.write_text("x" * ((1 << 20) - 500))
        assert self.draw(file).startswith("xxx")
        assert len(file.read_bytes()) == 1 << 20
        assert file.read_text().endswith("(cut: this file may hold no more)\n")
        with pytest.raises(OutputFailed, match=r"GITHUB_STEP_SUMMARY .* holds all that it may"):
            self.draw(file)
        assert len(file.read_bytes()) == 1 << 20


def test_a_reader_that_leaves_takes_no_file(shell, slow_run, tmp_path):
    files = {name: tmp_path / name for name in ("github", "junit")}
    formats = " ".join(f"--format {name}:{file}" for name, file in files.items())
    line = f"$PYTSCOPE check {slow_run} --fail-on high --format text {formats} | true"
    done: subprocess.CompletedProcess[bytes] = shell(f"set -o pipefail; {line}")
    assert done.returncode in (1, 141)  # all of it may have gone into the pipe
    assert all(file.stat().st_size for file in files.values())

"""Runs, settings and paths whose every name is hostile, through every verb and format."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytscope import Profiler
from tests.core.builtin.reporters.ci_formats import commands, junit, sarif
from tests.core.cli.conftest import Clock
from tests.core.test_schemas import schema

NAMES = (
    "::error file=x::owned",
    "]]></failure><script>",
    "\x1b[2J\x1b[31mred\x07",
    "two\nlines\r\n::warning::y",
    "%0A::error::z ##[add-mask]a ##vso[task.complete]b",
    "a,b:c=\"d\" 'e' <f>&amp;",
    "\u202eevil\u2028 \x85",
    "lone \udc80",
    f"{'w' * 70} ::notice::n {'q' * 79}::warning::z",
)
LOGS = ("text", "markdown", "json", "junit", "sarif")
BUDGETS = """
[tool.pytscope.check]
budgets = [
  "scalar.::error file=x::owned.last <= 3",
  "phase.]]></failure><script>.share <= 1%",
  "scalar.two\\nlines\\r\\n::warning::y.last <= 1",
  "scalar.\\u001b[2Jnone.last <= 1",
]
fail-on = "info"
"""
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028\ud800-\udfff]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in a folder of a hostile name, with such a run."""
    name = os.fsdecode(b"p \xff::error::n\n]]>\x1b[31m%0A,x")
    project = tmp_path_factory.mktemp("hostile") / name
    project.mkdir()
    (project / "pytscope.toml").write_text(BUDGETS)
    clock = Clock()
    config = dict.fromkeys(NAMES, NAMES[3])
    with Profiler(
        project / "run", name=" ".join(NAMES), clock=clock, inline=True, config=config, warmup=0
    ) as profiler:
        for step in range(40):
            with profiler.step():
                for name in NAMES:
                    with profiler.phase(name):
                        clock.pass_ms(2)
                    profiler.log(**{name: float(step), "loss": 1.0})
    return project


def reads(kind: str) -> dict[str, Callable[[str], Any]]:
    """How each format is read by who reads it."""
    return {
        "json": lambda text: jsonschema.validate(json.loads(text), schema(kind)),
        "junit": junit,
        "sarif": sarif,
    }


@pytest.mark.parametrize(
    ("verb", "formats"),
    [("check", LOGS), ("analyze", LOGS), ("diff", LOGS[:3])],
)
def test_no_name_does_anything(cli, folder, slow_run, tmp_path, monkeypatch, verb, formats):
    monkeypatch.chdir(folder)
    runs = ("run", slow_run) if verb == "diff" else ("run",)
    files = {name: tmp_path / f"to.{name}" for name in formats}
    asked = [f"--format={name}:{file}" for name, file in files.items()]
    read = reads("report" if verb == "analyze" else verb)
    for name in formats:
        result = cli(verb, *runs, *asked, f"--format={name}", "--reproducible", "-v")
        assert result.code in (0, 1), result.err
        assert not commands(result.out), name
        assert not commands(result.err)
        for text in (result.out, result.err, files[name].read_text()):
            assert not CONTROL.search(text)
            assert not re.search(r"##\w*\[", text) or name in ("json", "sarif")
        assert files[name].read_text() == result.out
        read.get(name, str)(result.out)


@pytest.mark.parametrize("verb", ["check", "analyze"])
def test_annotations_are_those_of_pytscope(cli, folder, tmp_path, monkeypatch, verb):
    monkeypatch.chdir(folder)
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    alone = cli(verb, "run", "--format=github")
    beside = cli(verb, "run", "--format=github", "--format=text").out.splitlines()
    end = f"::{beside[0].removeprefix('::stop-commands::')}::"
    annotations = "\n".join(beside[beside.index(end) + 1 :]) + "\n"
    assert annotations == alone.out
    assert not CONTROL.search(alone.out)
    assert len(commands(alone.out)) == len(alone.out.splitlines())
    assert {command.name for command in commands(alone.out)} <= {"error", "warning", "notice"}
    assert not any("owned" in command.properties.get("file", "") for command in commands(alone.out))
    assert summary.exists() is (verb == "check")


def test_pages_show_what_would_be_a_command(cli, folder, monkeypatch):
    monkeypatch.chdir(folder)
    out = cli("check", "run", "--list").out
    assert "\\x3a:error file=x::owned.last" in out
    assert not commands(out)
    assert not CONTROL.search(out)


def test_places_of_hostile_names_hold(cli, folder, tmp_path, monkeypatch):
    place = tmp_path / folder.name
    shutil.copytree(folder, place)
    monkeypatch.chdir(place)
    made = cli("check", "run", "--baseline", folder.name[:5], "--update-baseline")
    assert made.code == 1
    assert not commands(made.err)
    asked = ("--baseline", folder.name[:5], "--budget", "loss.last == baseline")
    assert "passed        loss.last == baseline" in cli("check", "run", *asked).out

"""The command in this process, and where the shared inputs are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from pytscope.cli import main

REPOSITORY = Path(__file__).parents[3]
SHARED = REPOSITORY.parent / "shared" / "data" / "legacy_runs" / "cases"
"""Folders that 0.2.x was seen to fail on; not part of this repository."""


@attrs.frozen
class Answer:
    """What `analyze` said of one path."""

    code: int
    text: str
    err: str
    document: dict[str, Any]

    @property
    def fired(self) -> set[str]:
        """Ids of the rules with findings."""
        return {check["rule"] for check in self.document["checks"] if check["outcome"] == "finding"}

    def outcome(self, rule: str) -> str:
        """What became of a rule."""
        return next(c["outcome"] for c in self.document["checks"] if c["rule"] == rule)

    def line(self, name: str) -> int:
        """Nanoseconds of a budget line, 0 for an absent one."""
        return next((n["ns"] for n in self.document["budget"]["lines"] if n["name"] == name), 0)

    @property
    def notes(self) -> str:
        """What reading met."""
        return "\n".join(note["message"] for note in self.document["coverage"]["notes"])


Analyze = Callable[..., Answer]


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An empty current folder, and an environment that asks for nothing."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS", "PYTSCOPE_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path_factory.mktemp("cwd"))


@pytest.fixture
def analyze(
    capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> Analyze:
    """`pytscope analyze` in this process; whatever it raises but an exit fails the test."""
    written = tmp_path_factory.mktemp("json") / "report.json"

    def call(*arguments: object) -> Answer:
        capsys.readouterr()
        written.unlink(missing_ok=True)
        formats = ["--format", "text", "--format", f"json:{written}"]
        with pytest.raises(SystemExit) as stopped:
            main(["analyze", *map(str, arguments), *formats])
        out, err = capsys.readouterr()
        document = json.loads(written.read_text()) if written.exists() else {}
        return Answer(int(stopped.value.code or 0), out, err, document)

    return call


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The command in this process: its exit status, and what it wrote to either stream."""

    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([str(a) for a in arguments])
        return (int(stopped.value.code or 0), *capsys.readouterr())

    return call


@pytest.fixture
def shell() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """A shell command line in which `$PYTSCOPE` is the command."""

    def call(line: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(REPOSITORY / "pytscope-core" / "src"),
            "PYTSCOPE": f"{sys.executable} -m pytscope",
            **environ,
        }
        return subprocess.run(
            ["bash", "-c", line], env=env, capture_output=True, check=False, timeout=60
        )

    return call

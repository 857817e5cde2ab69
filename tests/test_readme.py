"""The README's commands exist, and a newcomer's first steps are what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SHELL = [
    line.split("#")[0].strip()
    for block in re.findall(r"^```\n(.*?)^```$", README + CONTRIBUTING, re.M | re.S)
    for line in block.splitlines()
]
SESSIONS = set(re.findall(r"^@nox.session\ndef (\w+)", (ROOT / "noxfile.py").read_text(), re.M))


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 160


@pytest.mark.parametrize("session", ["demo", "tests"])
def test_one_command_sets_up_and_runs(session: str) -> None:
    (command,) = (
        line for line in README.splitlines() if line.endswith(f" -s {session}") and "venv" in line
    )
    parts = [shlex.split(part) for part in command.split("&&")]
    assert parts[0] == ["python3", "-m", "venv", ".venv"]
    assert parts[1] == [".venv/bin/pip", "install", "-q", "nox"]
    assert parts[2] == [".venv/bin/nox", "-s", session]


def test_ci_runs_the_readmes_own_test_command() -> None:
    pattern = " -s tests"
    assert f"grep -m1 -- '{pattern}$' README.md" in (ROOT / ".ci" / "run").read_text()
    assert sum(line.endswith(pattern) for line in README.splitlines()) == 1
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_every_session_named_exists_and_has_a_description() -> None:
    named = {m for line in SHELL for m in re.findall(r"nox -s (\w+)", line)}
    named |= set(
        re.findall(r"^\| ((?:`\w+` ?)+)\|", CONTRIBUTING, re.M)[0].replace("`", "").split()
    )
    assert {"demo", "tests"} <= named <= SESSIONS
    wanted = {"demo", "tests", "alone", "lint", "types", "imports", "bench", "docs", "rates"}
    assert wanted <= SESSIONS


def test_every_pytscope_command_parses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is understood: it may say that the run is not there, but not that it is misspelt."""
    from pytscope.cli.group import cli

    monkeypatch.chdir(tmp_path)
    commands = [line for line in SHELL if line.startswith("pytscope ")]
    assert len(commands) >= 4
    for command in commands:
        result = CliRunner().invoke(cli, shlex.split(command)[1:])
        assert result.exit_code in (0, 3), (command, result.output)


def test_every_link_leads_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md")]
    pages += [*ROOT.glob("pytscope-*/README.md"), *ROOT.glob("examples/*/README.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"

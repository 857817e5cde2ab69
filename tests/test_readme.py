"""The README's commands exist, and a newcomer's first steps are what it says."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def shell_lines(text: str) -> Iterator[str]:
    """Lines of the blocks without a language, comments left out."""
    language: str | None = None
    for line in text.splitlines():
        if line.startswith("```"):
            language = line[3:] if language is None else None
        elif language == "" and (command := line.split("  #")[0].strip()):
            yield command


SHELL = [*shell_lines(README), *shell_lines(CONTRIBUTING)]
NOXFILE = (ROOT / "noxfile.py").read_text(encoding="utf-8")
SESSIONS = set(re.findall(r"^@nox.session\ndef (\w+)", NOXFILE, re.MULTILINE))


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
        re.findall(r"^\| ((?:`\w+` ?)+)\|", CONTRIBUTING, re.MULTILINE)[0].replace("`", "").split()
    )
    assert {"demo", "tests"} <= named <= SESSIONS
    wanted = {"demo", "tests", "alone", "lint", "types", "imports", "bench", "docs", "rates"}
    assert wanted <= SESSIONS


COMMANDS = [line for line in SHELL if line.startswith("pytscope ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pytscope_command_is_understood(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may say that the run is not there, but not that it is misspelt."""
    from pytscope.cli import main

    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command)[1:])
    assert ended.value.code == (3 if "runs/" in command else 0)


@pytest.mark.parametrize("page", [README, *map(Path.read_text, ROOT.glob("pytscope-*/README.md"))])
def test_an_installation_from_the_clone_names_what_its_folders_need(page: str) -> None:
    (command,) = (line for line in shell_lines(page) if line.startswith("pip install ./"))
    named = {word.removeprefix("./") for word in command.split() if word.startswith("./")}
    for folder in named:
        text = (ROOT / folder / "pyproject.toml").read_text(encoding="utf-8")
        needed = tomllib.loads(text)["project"]["dependencies"]
        wanted = {re.split(r"[^\w-]", need)[0] for need in needed}
        assert {need for need in wanted if need.startswith("pytscope-")} <= named


def test_every_link_leads_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("bench/*.md")]
    pages += [*ROOT.glob("pytscope-*/README.md"), *ROOT.glob("examples/*/README.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"

"""Changelog fragments are named and written so that a release can use them."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(path.parent for path in ROOT.glob("pytscope-*/pyproject.toml"))
FRAGMENTS = [path for folder in PACKAGES for path in sorted(folder.glob("changelog.d/*"))]
each_package = pytest.mark.parametrize("folder", PACKAGES, ids=lambda folder: folder.name)


def settings(folder: Path) -> dict[str, Any]:
    text = (folder / "pyproject.toml").read_text(encoding="utf-8")
    table: dict[str, Any] = tomllib.loads(text)["tool"]["towncrier"]
    return table


def kinds() -> list[str]:
    return [kind["directory"] for kind in settings(PACKAGES[0])["type"]]


@each_package
def test_every_package_has_the_same_settings(folder: Path) -> None:
    ours = settings(folder)
    assert ours.pop("name") == folder.name
    first = settings(PACKAGES[0])
    del first["name"]
    assert ours == first


@each_package
def test_the_changelog_has_the_place_where_versions_go(folder: Path) -> None:
    text = (folder / "CHANGELOG.md").read_text(encoding="utf-8")
    mark = settings(folder)["start_string"]
    assert text.count(mark) == 1
    assert text.index(mark) < text.index("\n## ")


def test_fragments_are_well_named() -> None:
    pattern = rf"(\+[a-z0-9]+(-[a-z0-9]+)*|\d+)\.({'|'.join(kinds())})\.md"
    assert [p.name for p in FRAGMENTS if not re.fullmatch(pattern, p.name)] == []


def test_fragments_are_sentences() -> None:
    for path in FRAGMENTS:
        text = path.read_text(encoding="utf-8").strip()
        assert text.endswith((".", "`.", ").")), f"{path.name} does not end like a sentence"
        assert not text.startswith(("-", "*", "#")), f"{path.name}: towncrier makes the list"


def test_a_draft_holds_every_fragment() -> None:
    pytest.importorskip("towncrier")
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9"]
    for folder in {path.parent.parent for path in FRAGMENTS}:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        drawn = " ".join(done.stdout.split())
        for path in folder.glob("changelog.d/*"):
            first = path.read_text(encoding="utf-8").strip().split("\n")[0]
            assert first in drawn, path.name


def test_the_release_script_takes_the_same_names() -> None:
    source = (ROOT / "tools" / "release.py").read_text(encoding="utf-8")
    assert f"({'|'.join(kinds())})" in source

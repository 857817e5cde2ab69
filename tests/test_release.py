"""The release script, on a throw-away repository made of the tree."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

for tool in ("towncrier", "build", "hatchling"):
    pytest.importorskip(tool, reason="releases are made with it")

ROOT = Path(__file__).parents[1]
CORE, TORCH = "pytscope-core", "pytscope-torch"


def git(root: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def state(root: Path) -> tuple[str, ...]:
    return (git(root, "rev-parse", "HEAD"), git(root, "tag", "-l"), git(root, "status", "-s"))


def fragment(root: Path, package: str, name: str, text: str = "Something is new.\n") -> None:
    folder = root / package / "changelog.d"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-qm", name)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages of the tree as a repository without a tag or a fragment."""
    root = tmp_path_factory.mktemp("release") / "tree"
    unwanted = shutil.ignore_patterns("__pycache__", "changelog.d", "*.egg-info", "build", "dist")
    for folder in (*ROOT.glob("pytscope-*"), ROOT / "tools"):
        shutil.copytree(folder, root / folder.name, ignore=unwanted)
    shutil.copy(ROOT / ".gitignore", root)
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "A. Releaser")
    git(root, "config", "user.email", "releaser@example.org")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "the tree")
    return root


@pytest.fixture
def root(tree: Path, tmp_path: Path) -> Path:
    """A copy of the repository for one test."""
    return shutil.copytree(tree, tmp_path / "tree")


@pytest.fixture
def release(root: Path) -> Iterator[Any]:
    """The script of the repository, as a module."""
    spec = importlib.util.spec_from_file_location("release", root / "tools" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def refused(release: Any, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert release.main(list(arguments)) == 1
    error = capsys.readouterr().err
    assert error.startswith("refused: ")
    return error.removeprefix("refused: ").strip()


def test_what_cannot_be_released_is_refused_and_nothing_changes(
    root: Path, release: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    before = state(root)
    assert "no package 'pytscope-jax'" in refused(release, capsys, "pytscope-jax", "0.3.0")
    assert "not MAJOR.MINOR.PATCH" in refused(release, capsys, CORE, "0.3")
    assert "no fragment: what is new?" in refused(release, capsys, CORE, "0.3.0")
    (root / "stray.txt").write_text("x")
    assert "not clean: 1 paths, the first stray.txt" in refused(release, capsys, CORE, "0.3.0")
    (root / "stray.txt").unlink()
    assert state(root) == before


def test_an_ill_named_fragment_is_refused(
    root: Path, release: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    fragment(root, CORE, "+New.md")
    assert "+New.md is empty or not named" in refused(release, capsys, CORE, "0.3.0")


def test_a_version_must_come_after_the_tagged_ones(
    root: Path, release: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    git(root, "tag", f"{CORE}-v0.10.0")
    for version in ("0.10.0", "0.9.9"):
        said = refused(release, capsys, CORE, version)
        assert f"{CORE}-v0.10.0 is tagged; {version} does not come after it" in said


def test_ranges_between_the_packages_are_checked(
    root: Path, release: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    fragment(root, CORE, "+new.added.md")
    fragment(root, TORCH, "+new.added.md")
    assert "wants pytscope-core>=0.3,<0.4" in refused(release, capsys, CORE, "0.4.0")
    said = refused(release, capsys, TORCH, "0.3.0")
    needed = "pytscope-torch needs pytscope-core>=0.3,<0.4, of which none is tagged"
    assert said == f"{needed}: release it first"


@pytest.mark.parametrize(
    ("ranges", "version", "admitted"),
    [
        (">=0.3,<0.4", "0.3.0", True),
        (">=0.3,<0.4", "0.3.12", True),
        (">=0.3,<0.4", "0.4.0", False),
        (">=0.3.1,<0.4", "0.3.0", False),
        (">=0.3", "0.10.0", True),
    ],
)
def test_ranges(release: Any, ranges: str, version: str, admitted: bool) -> None:
    assert release.admits(ranges, version) is admitted


def test_a_rehearsal_does_everything_and_changes_nothing(root: Path) -> None:
    fragment(root, CORE, "+new.added.md")
    before = state(root)
    command = [sys.executable, "tools/release.py", CORE, "0.3.0"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "built pytscope_core-0.3.0-py3-none-any.whl" in done.stdout
    assert "ok   committed and tagged pytscope-core-v0.3.0" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("dry run: nothing changed here")
    assert state(root) == before
    assert not (root / "dist").exists()


def test_two_packages_released_for_real(
    root: Path, release: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Core with its hand-written first section, then the torch package as a later version."""
    fragment(root, CORE, "+export.added.md", "A verb, `pytscope export`.\n")
    assert release.main([CORE, "0.3.0", "--no-dry-run"]) == 0
    assert "git push origin HEAD pytscope-core-v0.3.0" in capsys.readouterr().out
    assert git(root, "describe", "--exact-match") == "pytscope-core-v0.3.0"
    assert git(root, "log", "-1", "--format=%an %s") == "A. Releaser Release pytscope-core 0.3.0"
    changes = (root / CORE / "CHANGELOG.md").read_text()
    assert changes.count("## 0.3.0") == 1
    assert changes.index("First version.") < changes.index("- A verb, `pytscope export`.")
    assert not list((root / CORE).glob("changelog.d/*"))

    fragment(root, TORCH, "12.fixed.md", "A fix.\n")
    assert release.main([TORCH, "0.3.1", "--no-dry-run"]) == 0
    changes = (root / TORCH / "CHANGELOG.md").read_text()
    assert changes.index("## 0.3.1\n\n### Fixed\n\n- A fix. (#12)") < changes.index("## 0.3.0")
    assert git(root, "tag", "-l").split() == ["pytscope-core-v0.3.0", "pytscope-torch-v0.3.1"]
    assert git(root, "status", "-s") == ""
    names = sorted(path.name for path in (root / "dist").iterdir())
    assert [name.split("-")[1] for name in names if name.endswith(".whl")] == ["0.3.0", "0.3.1"]
    with zipfile.ZipFile(root / "dist" / "pytscope_torch-0.3.1-py3-none-any.whl") as wheel:
        assert "pytscope_torch/py.typed" in wheel.namelist()


def test_a_wheel_that_lacks_a_file_or_has_a_dead_link_stops_the_release(
    root: Path, release: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = root / "pytscope-hf"
    text = (folder / "README.md").read_text()
    (folder / "README.md").write_text(text + "\nSee [the guide](../docs/usage.md).\n")
    for package in (CORE, TORCH):
        git(root, "tag", f"{package}-v0.3.0")
    fragment(root, "pytscope-hf", "+new.added.md")
    before = state(root)
    said = refused(release, capsys, "pytscope-hf", "0.3.0", "--no-dry-run")
    assert "README.md has a relative link" in said
    (folder / "README.md").write_text(text)
    metadata = (folder / "pyproject.toml").read_text()
    metadata += '[tool.hatch.build.targets.wheel.force-include]\n"LICENSE" = "pytscope_hf/extra"\n'
    (folder / "pyproject.toml").write_text(metadata)
    git(root, "commit", "-qam", "a file that git does not track there")
    said = refused(release, capsys, "pytscope-hf", "0.3.0", "--no-dry-run")
    assert "the wheel and git differ in 1 files, the first pytscope_hf/extra" in said
    assert state(root)[1:] == before[1:]

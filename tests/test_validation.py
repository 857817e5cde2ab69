"""docs/validation.md names tests and commands that exist, and its scripts run here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGE = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")


def test_every_test_it_names_exists() -> None:
    named = set(re.findall(r"tests/[\w/]+(?:\.py(?:::\w+)?)?", PAGE))
    assert len(named) > 30
    for name in sorted(named):
        path, _, function = name.partition("::")
        assert (ROOT / path).exists(), name
        if function:
            assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8"), name


TEXTS = [
    path
    for pattern in ("*.md", "docs/**/*.md", "pytscope-*/**/*.md", "examples/**/*.md", "bench/*.py")
    for path in sorted(ROOT.glob(pattern))
]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_session_and_script_a_text_names_exists(path: Path) -> None:
    found = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    sessions = re.findall(r"^@nox.session\ndef (\w+)", found, re.MULTILINE)
    text = path.read_text(encoding="utf-8")
    named = {name for names in re.findall(r"nox -s ((?:\w+ ?)+)", text) for name in names.split()}
    rows = re.findall(r"^\| ((?:`\w+` ?)+)\|", text, re.MULTILINE) if path == CONTRIBUTING else []
    assert bool(rows) == (path == CONTRIBUTING)
    assert named | {name for row in rows for name in re.findall(r"\w+", row)} <= set(sessions)
    for script in re.findall(r"(?<![/\w])(?:bench|examples)/\w+\.py", text):
        assert (ROOT / script).is_file(), script


def test_every_option_of_the_benchmarks_that_a_text_names_is_taken() -> None:
    taken = {"--auto", "--frameworks", "--ddp", "--fingerprints"} | {
        option
        for name in ("recording", "auto", "frameworks", "ddp", "fingerprints", "scale", "rates")
        for option in re.findall(
            r'"(--[\w-]+)"', (ROOT / "bench" / f"{name}.py").read_text("utf-8")
        )
    }
    named = {
        option
        for path in TEXTS
        for words in re.findall(
            r"nox -s (?:bench|scale|rates) -- ([^`\n]+)`", path.read_text("utf-8")
        )
        for option in re.findall(r"--[\w-]+", words)
    }
    assert {"--auto", "--write"} <= named <= taken


def test_every_section_it_points_to_exists() -> None:
    titles = re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) <= anchors


def check(script: str, *arguments: str) -> list[str]:
    """What a script prints, which has to end well."""
    sources = [str(ROOT / name / "src") for name in ("pytscope-core", "pytscope-torch")]
    paths = os.pathsep.join([*sources, os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(ROOT / "bench" / script), *arguments]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_the_device_check_says_what_it_skips() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        pytest.skip("this machine has a device: run the check by hand")
    lines = check("device_check.py")
    assert re.match(r"rank 0: device cpu, torch \d", lines[0])
    outcomes = {line.split()[3].rstrip(":"): line.split()[0] for line in lines[1:-1]}
    listed = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert [name for name in outcomes if name != "ranks"] == listed
    assert lines[-1] == "rank 0: 3 passed, 0 failed, 4 skipped"
    assert "`3 passed, 0 failed, 4 skipped`" in PAGE


def test_the_folder_check_passes_on_a_local_disk(tmp_path: Path) -> None:
    lines = check("folder_check.py", str(tmp_path))
    assert [line.split(":")[0] for line in lines[1:-1]] == [
        "passed  written_and_read",
        "passed  second_process",
        "passed  live_and_killed",
        "passed  stall",
    ]
    assert f"`{lines[-1]}`" in PAGE

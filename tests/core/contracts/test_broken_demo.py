"""The broken demo beside the good one: wheels of both, unpacked for a path of their own."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.core.plugins.throwaway import SOURCES, distribution

EXAMPLES = Path(__file__).parents[3] / "examples"
BROKEN, GOOD = EXAMPLES / "pytscope-broken-demo", EXAMPLES / "pytscope-rules-demo"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what installing the two wheels would put into site-packages."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling, which builds the wheels, is not installed")
    folder, wheels = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("wheels")
    for project in (GOOD, BROKEN):
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
        subprocess.run(build, cwd=project, check=True, capture_output=True)
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(folder)
    return distribution(folder, "pytscope-core", version="0.3.0")


def test_one_fault_a_file_and_one_entry_point_a_fault() -> None:
    modules = sorted((BROKEN / "src" / "pytscope_broken_demo").glob("[!_]*.py"))
    assert len(modules) == 8
    assert max(len(m.read_text(encoding="utf-8").splitlines()) for m in modules) <= 30
    text = (BROKEN / "pyproject.toml").read_text(encoding="utf-8")
    for module in modules:
        assert text.count(f'"pytscope_broken_demo.{module.stem}"\n') == 1


def test_its_own_tests_pass_where_it_is_installed(site: Path) -> None:
    """They run in the `alone` session, too, on wheels that pip installed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(BROKEN)]
    done = subprocess.run(
        command,
        env={**_environ(), "PYTHONPATH": f"{site}:{SOURCES}"},
        cwd=EXAMPLES.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    assert " passed" in done.stdout


def _environ() -> dict[str, str]:
    import os

    return {k: v for k, v in os.environ.items() if not k.startswith(("PYTSCOPE", "PYTEST"))}

"""Run an example as a user would, in a folder of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run_example(name: str, folder: Path, *options: str) -> str:
    """Standard output of an example that must end well and stay silent on standard error."""
    command = [sys.executable, str(ROOT / "examples" / name), *options]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout

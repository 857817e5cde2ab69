"""Throw-away distributions: a module and a dist-info folder, for a PYTHONPATH."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

SOURCES = Path(__file__).parents[3] / "pytscope-core" / "src"
RULE = '''
from pytscope import Finding, Severity, Run, hookimpl, rule

@rule("{id}", since="1.0")
def check(run: Run):
    """Detects nothing in particular."""
    {body}

@hookimpl
def pytscope_rules():
    return [check]
'''


def pack(rule_id: str, body: str) -> str:
    """Source of a module with one rule."""
    return RULE.format(id=rule_id, body=body)


def distribution(
    folder: Path,
    name: str,
    source: str | None = None,
    *,
    version: str = "1.0",
    entry: str | None = None,
    target: str | None = None,
    requires: Iterable[str] = (),
    entry_points: str | None = None,
) -> Path:
    """Write an importable, advertised distribution; returns the folder to put on the path."""
    module = name.replace("-", "_")
    if source is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{module}.py").write_text(source, encoding="utf-8")
    info = folder / f"{module}-{version}.dist-info"
    info.mkdir(parents=True)
    head = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines = [*head, *(f"Requires-Dist: {r}" for r in requires), ""]
    (info / "METADATA").write_text("\n".join(lines), encoding="utf-8")
    if entry_points is None and source is not None:
        entry_points = f"[pytscope]\n{entry or module} = {target or module}\n"
    if entry_points is not None:
        (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")
    return folder


def python(
    code: str, *folders: Path, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter that sees core and the given folders."""
    path = os.pathsep.join(map(str, (*folders, SOURCES)))
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTSCOPE", "PYTHON"))}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, "PYTHONPATH": path, **(environ or {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

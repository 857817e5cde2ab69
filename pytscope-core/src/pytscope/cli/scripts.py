"""Where the training script is, as seen from the root of the sources."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytscope.runs.run import Run


def script_of(run: Run, here: Path) -> str:
    """The script that a run was recorded by, relative to a folder.

    Args:
        run: The run.
        here: The folder.

    Returns:
        A path with forward slashes; empty when the script was not recorded, is
        not below the folder, or is not there.
    """
    environment: Mapping[str, Any] = run.environment
    arguments, folder = environment.get("argv"), environment.get("cwd")
    if not isinstance(arguments, list | tuple) or not arguments:
        return ""
    name = arguments[0]
    if not isinstance(name, str) or not name.endswith(".py") or not isinstance(folder, str):
        return ""
    try:
        script = (Path(folder) / name).resolve()
        root = here.resolve()
        found = script.is_file() and script.is_relative_to(root)
    except (OSError, ValueError):  # a name that no file can have
        return ""
    return script.relative_to(root).as_posix() if found else ""

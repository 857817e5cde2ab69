"""`[tool.pytscope.check]`: what a project's runs have to keep."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from pytscope.cli import parameters as read
from pytscope.cli.parameters import Never
from pytscope.gates.demands import Demand, demand
from pytscope.model.findings import Severity
from pytscope.model.gate import Place
from pytscope.model.wording import did_you_mean, listed

TABLE = "[tool.pytscope.check]"


@attrs.frozen(kw_only=True)
class CheckSettings:
    """The table; None where it says nothing.

    Attributes:
        run: The run to check, relative to the settings file.
        budgets: The budgets.
        fail_on: Findings at or above it fail the gate.
        baseline: The baseline's file, relative to the settings file.
    """

    run: str | None = None
    budgets: tuple[Demand, ...] = ()
    fail_on: Severity | Never | None = None
    baseline: str | None = None


def check_settings(value: Any) -> CheckSettings:
    """Read the table.

    Raises:
        ValueError: A setting is unknown or has a value that does not fit.
    """
    if not isinstance(value, dict):
        msg = f"{TABLE} must be a table"
        raise ValueError(msg)  # noqa: TRY004  # the readers' one exception
    values: dict[str, Any] = {}
    for key, given in value.items():
        if key not in _READERS:
            guess = did_you_mean(key, _READERS)
            msg = f"unknown setting {key!r}; settings: {listed(sorted(_READERS))}{guess}"
            raise ValueError(msg)
        try:
            values[key.replace("-", "_")] = _READERS[key](given)
        except ValueError as error:
            msg = f"{key}: {error}"
            raise ValueError(msg) from error
    return CheckSettings(**values)


def _path(value: Any) -> str:
    if not isinstance(value, str) or not value:
        msg = f"{value!r} is not a path"
        raise ValueError(msg)
    return value


def _budgets(value: Any) -> tuple[Demand, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        msg = f"{value!r} is not a list of budgets, such as 'step_ms.median <= 120'"
        raise ValueError(msg)
    return tuple(map(demand, value))


def _severity(value: Any) -> Severity | Never:
    if not isinstance(value, str):
        msg = f"{value!r} is not a severity"
        raise ValueError(msg)  # noqa: TRY004  # the readers' one exception
    gate: Severity | Never = read.gate(value)
    return gate


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "run": _path,
    "budgets": _budgets,
    "fail-on": _severity,
    "baseline": _path,
}


def beside(settings: Path | None, path: str) -> Path:
    """A path that a settings file names: relative to the file's folder."""
    return Path(path) if settings is None else settings.parent / path


def shown(path: Path, root: Path | None = None) -> str:
    """A path as it is shown: relative to a folder where it lies below it.

    Args:
        path: The path.
        root: The folder; the current one by default.
    """
    whole, root = path.absolute(), Path.cwd() if root is None else root
    return whole.relative_to(root).as_posix() if whole.is_relative_to(root) else str(whole)


def placed(path: Path, root: Path) -> str:
    """A path as others look for it below a folder: relative to it, without `..` in it."""
    return shown(Path(os.path.normpath(path.absolute())), root)


def source_root(environ: Mapping[str, str]) -> Path:
    """The folder that others take the paths of sources to be relative to.

    Args:
        environ: Of a job of GitHub Actions it tells where the repository is.
    """
    here, told = Path.cwd(), environ.get("GITHUB_WORKSPACE")
    return Path(told) if told and here.is_relative_to(told) else here


def places(settings: Path, budgets: tuple[Demand, ...], root: Path) -> list[Place]:
    """Where budgets are written, by looking for their text in the file."""
    file = shown(settings, root)
    lines = _lines(settings)
    return [Place(file, _line(lines, budget.text)) for budget in budgets]


def place_of_key(settings: Path, key: str, root: Path) -> Place:
    """Where a key of the table is set."""
    lines = _lines(settings)
    begin = next((i for i, line in enumerate(lines) if line.strip().startswith(TABLE)), 0)
    found = (i for i, line in enumerate(lines[begin:], begin + 1) if _sets(line, key))
    return Place(shown(settings, root), next(found, None))


def _sets(line: str, key: str) -> bool:
    name, equals, _ = line.partition("=")
    return bool(equals) and name.strip().strip("\"'") == key


def _lines(settings: Path) -> list[str]:
    try:
        return settings.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):  # it has gone since it was read
        return []


def _line(lines: list[str], text: str) -> int | None:
    spelled = (f"'{text}'", f'"{text}"', json.dumps(text))
    for number, line in enumerate(lines, 1):
        squeezed = " ".join(line.split())
        if squeezed.startswith("#"):
            continue
        if any(form in squeezed for form in spelled):
            return number
    return None

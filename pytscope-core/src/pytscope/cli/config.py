"""Settings of `[tool.pytscope]` in `pytscope.toml` or `pyproject.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from pytscope.cli import parameters as read
from pytscope.cli.check_settings import CheckSettings, check_settings
from pytscope.cli.parameters import Auto, Never
from pytscope.cli.presentation import COLORS
from pytscope.model.errors import UsageError
from pytscope.model.findings import Severity
from pytscope.model.wording import did_you_mean, listed

OWN = "pytscope.toml"
SHARED = "pyproject.toml"
TABLE = "[tool.pytscope]"


@attrs.frozen(kw_only=True)
class Config:
    """What the nearest settings file says; None where it says nothing.

    Attributes:
        path: The file, or None when there is none.
        select: Rules to check.
        ignore: Rules to leave out.
        severity: Findings below it are not shown.
        fail_on: Findings at or above it fail the command.
        strict: Whether failures and losses fail the command.
        show_passed: Whether passed checks are listed.
        warmup: Warm-up steps.
        flops_per_step: FLOPs of a step.
        peak_tflops: Peak of one device, TFLOP/s.
        color: When to use colour.
        width: Columns.
        ascii: Whether only ASCII may be used.
        rules: Thresholds by rule.
        check: What `pytscope check` holds runs to.
    """

    path: Path | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    severity: Severity | None = None
    fail_on: Severity | Never | None = None
    strict: bool | None = None
    show_passed: bool | None = None
    warmup: int | Auto | None = None
    flops_per_step: float | None = None
    peak_tflops: float | None = None
    color: str | None = None
    width: int | None = None
    ascii: bool | None = None
    rules: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    check: CheckSettings | None = None


def find_config(folder: Path) -> Config:
    """Read the nearest settings file, from a folder upwards.

    Of one folder, `pytscope.toml` counts before a `pyproject.toml`; one
    without the table `[tool.pytscope]` does not count.

    Args:
        folder: Usually the current one.

    Raises:
        UsageError: A file is not TOML or cannot be read, or a setting is
            unknown or has a value that does not fit.
    """
    for place in (folder, *folder.parents):
        for name in (OWN, SHARED):
            path = place / name
            if path.is_file() and (table := _table(path)) is not None:
                return read_config(path, table)
    return Config()


def _table(path: Path) -> Mapping[str, Any] | None:
    """The file's table; None when a file shared with other tools has none."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except RecursionError as error:
        msg = f"{path} nests its values too deeply"
        raise UsageError(msg) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path} is not valid TOML: {error}"
        raise UsageError(msg) from error
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror or error}"
        raise UsageError(msg) from error
    tool = document.get("tool", {})
    table = tool.get("pytscope") if isinstance(tool, dict) else None
    if table is None:
        if path.name == OWN:
            msg = f"{path} has no table {TABLE}"
            raise UsageError(msg, hint=f"Settings belong under {TABLE} in both files.")
        return None
    if not isinstance(table, dict):
        msg = f"{path}: tool.pytscope must be a table"
        raise UsageError(msg)
    return table


def read_config(path: Path, table: Mapping[str, Any]) -> Config:
    """Settings from a parsed table.

    Args:
        path: The file, for messages.
        table: What is under `[tool.pytscope]`.

    Raises:
        UsageError: A setting is unknown or has a value that does not fit.
    """
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _READERS:
            msg = f"{path}: unknown setting {key!r} in {TABLE}{did_you_mean(key, _READERS)}"
            raise UsageError(msg, hint=f"Settings: {listed(sorted(_READERS))}.")
        try:
            values[key.replace("-", "_")] = _READERS[key](value)
        except ValueError as error:
            msg = f"{path}: {key}: {error}"
            raise UsageError(msg) from error
    return Config(path=path, **values)


def _text(parse: Callable[[str], Any]) -> Callable[[Any], Any]:
    """A reader of text, or of numbers as the text they are written as."""

    def convert(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            msg = f"{value!r} is of the wrong type"
            raise ValueError(msg)  # noqa: TRY004  # the readers' one exception
        return parse(str(value))

    return convert


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        msg = f"{value!r} is neither true nor false"
        raise ValueError(msg)  # noqa: TRY004  # the readers' one exception
    return value


def _patterns(value: Any) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        msg = f"{value!r} is not a list of rule ids"
        raise ValueError(msg)
    return tuple(pattern for item in items for pattern in read.patterns(item))


def _color(value: Any) -> str:
    if value not in COLORS:
        msg = f"{value!r} is none of: {', '.join(COLORS)}"
        raise ValueError(msg)
    return str(value)


def _rules(value: Any) -> dict[str, dict[str, Any]]:
    if not isinstance(value, dict) or not all(isinstance(v, dict) for v in value.values()):
        msg = 'thresholds are set as [tool.pytscope.rules."AREA.NAME"] with key = value'
        raise ValueError(msg)
    return {str(rule).upper(): dict(thresholds) for rule, thresholds in value.items()}


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "select": _patterns,
    "ignore": _patterns,
    "severity": _text(read.severity),
    "fail-on": _text(read.gate),
    "strict": _flag,
    "show-passed": _flag,
    "warmup": _text(read.warmup),
    "flops-per-step": _text(read.positive),
    "peak-tflops": _text(read.positive),
    "color": _color,
    "width": _text(read.columns),
    "ascii": _flag,
    "rules": _rules,
    "check": check_settings,
}

"""Values of options and settings, read strictly: text in, a value or a sentence out."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import attrs
import click

from pytscope.model.findings import Severity

Parse = Callable[[str], Any]
Auto = Literal["auto"]
Never = Literal["never"]

_NARROWEST, _WIDEST = 40, 1000
_MOST_DIGITS = 18


class Parsed(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4 only
    """A parameter whose text a function reads.

    Args:
        name: What help calls the value.
        parse: Reads the text; raises `ValueError` with a sentence.
    """

    def __init__(self, name: str, parse: Parse) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the text; what is no text has been read already."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def whole(text: str) -> int:
    """A whole number of at least 0."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS):
        msg = f"{text!r} is not a whole number of at least 0"
        raise ValueError(msg)
    return int(digits)


def columns(text: str) -> int:
    """A width in columns."""
    width = whole(text)
    if not _NARROWEST <= width <= _WIDEST:
        msg = f"{text!r} is not a width from {_NARROWEST} to {_WIDEST} columns"
        raise ValueError(msg)
    return width


def warmup(text: str) -> int | Auto:
    """A number of steps, or `auto`."""
    if text.strip().lower() == "auto":
        return "auto"
    try:
        return whole(text)
    except ValueError as error:
        msg = f"{error}, nor 'auto'"
        raise ValueError(msg) from None


def positive(text: str) -> float:
    """A finite number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        msg = f"{text!r} is not a number above 0"
        raise ValueError(msg)
    return value


def window(text: str) -> tuple[int | None, int | None]:
    """`A:B`, either end open."""
    first, colon, last = text.partition(":")
    try:
        bounds = whole(first) if first else None, whole(last) if last else None
    except ValueError:
        bounds = None, None
    if not colon or bounds == (None, None):
        msg = f"{text!r} is not A:B, A: or :B with whole numbers"
        raise ValueError(msg)
    if None not in bounds and bounds[0] > bounds[1]:  # type: ignore[operator]  # neither is None
        msg = f"{text!r} ends before it begins"
        raise ValueError(msg)
    return bounds


def ranks(text: str) -> tuple[tuple[int, int], ...]:
    """Ranks and ranges of them, with commas between: `0,4-7`."""
    found = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        try:
            a = whole(first)
            b = whole(last) if dash else a
        except ValueError:
            a, b = 1, 0
        if a > b:
            msg = f"{text!r} is not ranks, such as 0,4-7"
            raise ValueError(msg)
        found.append((a, b))
    return tuple(found)


def place(text: str) -> Path | None:
    """A file, or None for `-`: standard output."""
    if not text:
        msg = "the name of the file is empty"
        raise ValueError(msg)
    return None if text == "-" else Path(text)


def file(text: str) -> Path:
    """A file, which standard output is not."""
    found = place(text)
    if found is None:
        msg = f"{text!r} is not the name of a file"
        raise ValueError(msg)
    return found


severity = Severity.named


def gate(text: str) -> Severity | Never:
    """A severity, or `never`."""
    if text.strip().lower() == "never":
        return "never"
    try:
        return severity(text)
    except ValueError as error:
        msg = f"{error}, never"
        raise ValueError(msg) from None


def patterns(text: str) -> tuple[str, ...]:
    """Rule ids, areas or globs, with commas between them; in capitals, as ids are."""
    return tuple(filter(None, (part.strip().upper() for part in text.split(","))))


@attrs.frozen
class Setting:
    """`RULE.key=value` as its parts."""

    rule: str
    key: str
    value: str


def setting(text: str) -> Setting:
    """`RULE.key=value`."""
    name, equals, value = text.partition("=")
    rule, dot, key = name.strip().rpartition(".")
    if not (equals and dot and "." in rule and key):
        msg = f"{text!r} is not RULE.key=value, such as TIMING.JITTER.min_share=0.1"
        raise ValueError(msg)
    return Setting(rule.upper(), key, value.strip())


def blocked(text: str) -> str:
    """The name in `no:NAME`."""
    prefix, colon, name = text.partition(":")
    if prefix != "no" or not colon or not name.strip():
        msg = f"{text!r} is not no:NAME"
        raise ValueError(msg)
    return name.strip()


def names(text: str) -> tuple[str, ...]:
    """Plugin names with commas between them; at least one."""
    given = tuple(filter(None, (part.strip() for part in text.split(","))))
    if not given:
        msg = "a value is a list of plugin names; without one the option shows the plugins"
        raise ValueError(msg)
    return given


@attrs.frozen
class Target:
    """A reporter, and where its text goes.

    Attributes:
        name: The reporter.
        file: The file; None for standard output.
        added_to: What the file is called, where the text is added to what it holds
            already; an empty string where it takes its place.
    """

    name: str
    file: Path | None = None
    added_to: str = ""


def target(text: str) -> Target:
    """`FORMAT` or `FORMAT:FILE`."""
    name, colon, file = text.partition(":")
    if not name or (colon and not file):
        msg = f"{text!r} is not FORMAT or FORMAT:FILE"
        raise ValueError(msg)
    return Target(name, None if file in ("", "-") else Path(file))

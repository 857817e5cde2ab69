"""Declared objects: what a plugin's hooks return. Declaring does no work."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from pytscope.model.comparison import Comparison
from pytscope.model.findings import Finding
from pytscope.model.gate import Gate
from pytscope.model.report import Report
from pytscope.runs.run import Run
from pytscope.runs.source import Source as Source  # noqa: PLC0414  # part of this module's API

RULE_ID = re.compile(r"[A-Z][A-Z0-9]*\.[A-Z][A-Z0-9_]*")


@attrs.frozen
class Rule:
    """A rule: a function from analyses to findings, with its identity.

    Attributes:
        id: `AREA.NAME`, for ever.
        check: The function; its positional parameters are its needs, its
            keyword-only parameters its thresholds, its docstring its page.
        since: Version of its package that brought it.
        aliases: Ids it had before.
        needs: Types by parameter name, where annotations cannot say it.
    """

    id: str
    check: Callable[..., Iterable[Finding] | None]
    since: str
    aliases: tuple[str, ...] = ()
    needs: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def page(self) -> str:
        """The docstring, dedented."""
        return inspect.getdoc(self.check) or ""

    def __call__(self, *args: Any, **thresholds: Any) -> list[Finding]:
        """Run the rule on given analyses, as a unit test would."""
        return list(self.check(*args, **thresholds) or ())


@attrs.frozen
class Analyzer:
    """An analyzer: a function from a run and other analyses to one typed value.

    Attributes:
        name: Key of the analysis in JSON.
        compute: The function; its positional parameters are its needs, its
            return annotation the type it provides.
        provides: The type it provides, where the annotation cannot say it.
        needs: Types by parameter name, where annotations cannot say it.
    """

    name: str
    compute: Callable[..., Any]
    provides: type | None = None
    needs: Mapping[str, Any] = attrs.field(factory=dict)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the analysis, as a unit test would."""
        return self.compute(*args, **kwargs)


@attrs.frozen
class RenderOptions:
    """How a reporter is asked to draw.

    Attributes:
        width: Columns.
        color: Whether escapes for colour may be used.
        ascii: Whether only ASCII may be used.
        show_passed: Whether to list the checks that passed.
        verbose: Whether to show evidence, thresholds and tracebacks.
        reproducible: Whether to leave out times of day, load times and paths.
    """

    width: int = 88
    color: bool = False
    ascii: bool = False
    show_passed: bool = False
    verbose: bool = False
    reproducible: bool = False


@attrs.frozen
class Reporter:
    """A reporter: pure functions from a report, a comparison and a gate to text.

    Attributes:
        name: Value of `--format`.
        render: The function.
        compare: The same for what `pytscope diff` finds; None when it draws
            no comparisons.
        check: The same for what `pytscope check` finds; None when it draws no
            gates.
    """

    name: str
    render: Callable[[Report, RenderOptions], str]
    compare: Callable[[Comparison, RenderOptions], str] | None = None
    check: Callable[[Gate, RenderOptions], str] | None = None

    def __call__(self, report: Report, options: RenderOptions) -> str:
        """Draw the report."""
        return self.render(report, options)


def rule(
    id: str,  # noqa: A002  # the name users read in the call
    *,
    since: str,
    aliases: Iterable[str] = (),
    needs: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., Iterable[Finding] | None]], Rule]:
    """Declare a rule.

    Args:
        id: `AREA.NAME`: capitals, digits and underscores.
        since: Version of the package that brings it.
        aliases: Former ids, still accepted by `--select` and the like.
        needs: Types by parameter name; overrides annotations.

    Raises:
        ValueError: The id has another form.
    """
    for name in (id, *aliases):
        if not RULE_ID.fullmatch(name):
            msg = f"rule id {name!r} must look like AREA.NAME, in capitals"
            raise ValueError(msg)
    return lambda check: Rule(id, check, since, tuple(aliases), dict(needs or {}))


def analyzer(
    name: str, *, provides: type | None = None, needs: Mapping[str, Any] | None = None
) -> Callable[[Callable[..., Any]], Analyzer]:
    """Declare an analyzer.

    Args:
        name: Key of the analysis in JSON.
        provides: Type of the analysis; else the return annotation.
        needs: Types by parameter name; overrides annotations.
    """
    return lambda compute: Analyzer(name, compute, provides, dict(needs or {}))


def reporter(
    name: str,
    *,
    compare: Callable[[Comparison, RenderOptions], str] | None = None,
    check: Callable[[Gate, RenderOptions], str] | None = None,
) -> Callable[[Callable[[Report, RenderOptions], str]], Reporter]:
    """Declare a reporter, selected by `--format NAME`.

    Args:
        name: Value of `--format`.
        compare: Draws what `pytscope diff` finds, where the reporter can.
        check: Draws what `pytscope check` finds, where the reporter can.
    """
    return lambda render: Reporter(name, render, compare, check)


def source(name: str, *, detects: Callable[[Path], bool]) -> Callable[[Callable[..., Run]], Source]:
    """Declare a source, tried when `detects` says so or by `--source NAME`."""
    return lambda open_run: Source(name, detects, open_run)

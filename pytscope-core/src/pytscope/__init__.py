"""pytscope: one aligned per-step timeline of a training run, and what to change.

Names load when they are first used, so that importing this package in a
training script costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pytscope.api import analyze, check, diff, open  # noqa: A004  # `pytscope.open` is the documented name
    from pytscope.model.errors import (
        Inconclusive,
        NotApplicable,
        NothingUsable,
        NotMeasured,
        PluginError,
        PytscopeError,
        RunNotFound,
        RunUnreadable,
        UsageError,
    )
    from pytscope.model.findings import Confidence, Cost, Evidence, Finding, Severity
    from pytscope.model.panels import Meter, Panel, Spark, Status, Table, Text
    from pytscope.model.records import Flag, StepRecord
    from pytscope.model.report import Outcome, Report
    from pytscope.plugins.declare import (
        Analyzer,
        RenderOptions,
        Reporter,
        Rule,
        Source,
        analyzer,
        reporter,
        rule,
        source,
    )
    from pytscope.plugins.hookspecs import hookimpl
    from pytscope.plugins.thresholds import Bounds
    from pytscope.recording.profiler import Profiler
    from pytscope.recording.tile import tile
    from pytscope.runs.run import Run

    __version__: str

_HOME = {
    "api": ("analyze", "check", "diff", "open"),
    "model.errors": (
        "Inconclusive",
        "NotApplicable",
        "NotMeasured",
        "NothingUsable",
        "PluginError",
        "PytscopeError",
        "RunNotFound",
        "RunUnreadable",
        "UsageError",
    ),
    "model.findings": ("Confidence", "Cost", "Evidence", "Finding", "Severity"),
    "model.panels": ("Meter", "Panel", "Spark", "Status", "Table", "Text"),
    "model.records": ("Flag", "StepRecord"),
    "model.report": ("Outcome", "Report"),
    "plugins.declare": (
        "Analyzer",
        "RenderOptions",
        "Reporter",
        "Rule",
        "Source",
        "analyzer",
        "reporter",
        "rule",
        "source",
    ),
    "plugins.hookspecs": ("hookimpl",),
    "plugins.thresholds": ("Bounds",),
    "recording.profiler": ("Profiler",),
    "recording.tile": ("tile",),
    "runs.run": ("Run",),
}
"""Module of every public name."""

__all__ = [
    "Analyzer",
    "Bounds",
    "Confidence",
    "Cost",
    "Evidence",
    "Finding",
    "Flag",
    "Inconclusive",
    "Meter",
    "NotApplicable",
    "NotMeasured",
    "NothingUsable",
    "Outcome",
    "Panel",
    "PluginError",
    "Profiler",
    "PytscopeError",
    "RenderOptions",
    "Report",
    "Reporter",
    "Rule",
    "Run",
    "RunNotFound",
    "RunUnreadable",
    "Severity",
    "Source",
    "Spark",
    "Status",
    "StepRecord",
    "Table",
    "Text",
    "UsageError",
    "__version__",
    "analyze",
    "analyzer",
    "check",
    "diff",
    "hookimpl",
    "open",
    "reporter",
    "rule",
    "source",
    "tile",
]


if not TYPE_CHECKING:  # for a type checker the names are those imported above, no others

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            value: Any = _installed_version()
        else:
            home = next((module for module, names in _HOME.items() if name in names), None)
            if home is None:
                msg = f"module {__name__!r} has no attribute {name!r}"
                raise AttributeError(msg)
            from importlib import import_module

            value = getattr(import_module(f"{__name__}.{home}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _installed_version() -> str:
    """Version of the installed distribution; a checkout that is not installed has none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("pytscope-core")
    except PackageNotFoundError:
        return "0+unknown"

"""The report: everything an analysis found, and everything it could not tell."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs

from pytscope.model.findings import Finding
from pytscope.model.panels import Panel


class Outcome(enum.Enum):
    """What became of a rule."""

    FINDING = "finding"
    PASSED = "passed"
    INCONCLUSIVE = "inconclusive"
    NOT_MEASURED = "not_measured"
    NOT_APPLICABLE = "not_applicable"
    DISABLED = "disabled"
    ERROR = "error"


@attrs.frozen
class Check:
    """One rule's outcome and, where it is neither passed nor a finding, why."""

    rule: str
    outcome: Outcome
    reason: str = ""
    thresholds: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class Problem:
    """A plugin's failure.

    Attributes:
        plugin: Entry-point name of the plugin.
        distribution: Distribution that brings it, or an empty string.
        version: Version of the distribution, or an empty string.
        stage: Where it failed: `find`, `load`, `register`, a hook's name,
            `analyzer NAME`, `panel of analyzer NAME`, `JSON of analyzer NAME`,
            `attachment TYPE`, `rule ID`, `reporter NAME`, `source NAME`.
        message: One line: what happened.
        traceback: The full traceback, for `-v`; not part of the JSON.
    """

    plugin: str
    distribution: str
    version: str
    stage: str
    message: str
    traceback: str = attrs.field(default="", repr=False, eq=False)


def credited(plugin: str, distribution: str, version: str) -> str:
    """A plugin with the distribution that brings it: `acme (acme-pack 1.0)`."""
    brought = " ".join(filter(None, (distribution, version)))
    return f"{plugin} ({brought})" if brought else plugin


class PluginState(enum.Enum):
    """What became of an advertised plugin."""

    LOADED = "loaded"
    DISABLED = "disabled"
    INCOMPATIBLE = "incompatible"
    BROKEN = "broken"


@attrs.frozen
class PluginInfo:
    """One row of the plugin listing.

    Attributes:
        name: Entry-point name.
        distribution: Distribution name, or an empty string for none.
        version: Distribution version, or an empty string.
        state: What became of it.
        registers: Names of what it brings, by kind: `rules`, `analyzers`,
            `reporters`, `sources`.
        load_ns: Time to import and register it; 0 when it was not loaded.
        reason: Why it is not loaded, what failed first of a plugin that is, or
            an empty string.
        builtin: Whether it is part of pytscope-core.
        slow_ns: Nanoseconds by stage, of stages that took a second or more, the
            longest first.
    """

    name: str
    distribution: str
    version: str
    state: PluginState
    registers: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)
    load_ns: int = attrs.field(default=0, eq=False)
    reason: str = ""
    builtin: bool = False
    slow_ns: Mapping[str, int] = attrs.field(factory=dict, eq=False)


@attrs.frozen
class RunSummary:
    """The run as the report names it.

    Attributes:
        name: Name given to the run.
        path: Where it was read from.
        ranks: Ranks present.
        world_size: Ranks expected, or None when not recorded.
        steps: Optimizer steps in the analysed window, on the shown rank.
        wall_ns: Measured wall time of the shown rank, or None when it was not.
        finished: Whether every analysed rank wrote its end.
        source: Name of the source that opened it.
        window: Steps asked for, or None for all of them.
        attempts: Attempts analysed.
        other_attempts: Attempts in the folder that were not analysed.
        created_epoch_ns: Start of the first analysed attempt, or None.
        live: Whether a recorder still holds one of its files.
        recorded_ns: Sum of the shown rank's recorded durations where no wall
            was measured, else None.
        environment: What it was made with, as far as that was recorded: `python`, `torch`.
    """

    name: str
    path: str
    ranks: tuple[int, ...]
    world_size: int | None
    steps: int
    wall_ns: int | None
    finished: bool
    source: str
    window: tuple[int | None, int | None] | None = None
    attempts: tuple[int, ...] = (0,)
    other_attempts: tuple[int, ...] = ()
    created_epoch_ns: int | None = None
    live: bool = False
    recorded_ns: int | None = None
    environment: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class FoldedFinding:
    """A finding with those that it accounts for folded under it; they may be graver."""

    finding: Finding
    also: tuple[Finding, ...] = ()


@attrs.frozen(eq=False)
class Report:
    """The result of an analysis.

    Attributes:
        run: What was analysed.
        folded: Findings by importance, each with those folded under it.
        checks: Outcome of every known rule, by rule id.
        panels: Sections, in drawing order.
        problems: Plugin failures.
        plugins: Every advertised plugin.
        analyses: Typed analyses by analyzer name.
        tool_version: Version of pytscope-core.
        show_plugins: Whether the plugin table was asked for.
    """

    run: RunSummary
    folded: tuple[FoldedFinding, ...]
    checks: tuple[Check, ...]
    panels: tuple[Panel, ...]
    problems: tuple[Problem, ...]
    plugins: tuple[PluginInfo, ...]
    analyses: Mapping[str, Any]
    tool_version: str
    show_plugins: bool = False

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every finding, the folded ones after the one that accounts for them."""
        return tuple(f for row in self.folded for f in (row.finding, *row.also))

    def to_json(self, *, reproducible: bool = False) -> str:
        """The `pytscope.report/1` document as text.

        Args:
            reproducible: Leave out times of day, load times and paths.
        """
        from pytscope.model.document import report_json  # the document module imports this one

        return report_json(self, reproducible=reproducible)

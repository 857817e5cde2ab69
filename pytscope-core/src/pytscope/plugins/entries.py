"""Registered objects: a declared object, who owns it, and what was read from it."""

from __future__ import annotations

import attrs

from pytscope.model.report import PluginInfo
from pytscope.plugins.declare import Analyzer, Reporter, Rule
from pytscope.plugins.isolation import Origin
from pytscope.plugins.needs import Need
from pytscope.plugins.thresholds import Threshold


@attrs.frozen
class Registered:
    """What the registry accepted, and the plugin that brings it."""

    owner: PluginInfo = attrs.field(kw_only=True)

    @property
    def origin(self) -> Origin:
        """Whom to name when it fails."""
        return Origin.of(self.owner)


@attrs.frozen
class RegisteredRule(Registered):
    """A rule that the registry accepted.

    Attributes:
        rule: The rule; its aliases are those that were free.
        wants: Its needs, in the order of its positional parameters.
        thresholds: Its thresholds.
        page: Its docstring, dedented and printable.
    """

    rule: Rule
    wants: tuple[Need, ...]
    thresholds: tuple[Threshold, ...]
    page: str = attrs.field(repr=False)

    @property
    def stage(self) -> str:
        """The stage of its failures."""
        return f"rule {self.rule.id}"


@attrs.frozen
class RegisteredAnalyzer(Registered):
    """An analyzer that the registry accepted.

    Attributes:
        analyzer: The analyzer.
        wants: Its needs, in the order of its positional parameters.
        provides: The type of its analysis.
        optional: Whether it may return None: nothing to say.
    """

    analyzer: Analyzer
    wants: tuple[Need, ...]
    provides: type
    optional: bool = False

    @property
    def name(self) -> str:
        """Key of the analysis."""
        return self.analyzer.name

    @property
    def stage(self) -> str:
        """The stage of its failures."""
        return f"analyzer {self.analyzer.name}"


@attrs.frozen
class RegisteredReporter(Registered):
    """A reporter that the registry accepted."""

    reporter: Reporter

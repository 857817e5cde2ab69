"""Installed packages of the family that bring no plugin: what they are, and their collectors."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from importlib.metadata import Distribution, distributions

import attrs
from packaging.utils import canonicalize_name

from pytscope.model.report import PluginInfo
from pytscope.model.wording import one_line
from pytscope.plugins.discovery import CORE, UNNAMED
from pytscope.plugins.isolation import Failure, guard
from pytscope.recording.collectors import GROUP

FAMILY = "pytscope-"


@attrs.frozen
class Package:
    """An installed distribution without a plugin.

    Attributes:
        distribution: Its name.
        version: Its version.
        summary: What its metadata says it is.
        collectors: Names of the collectors it advertises, sorted.
    """

    distribution: str
    version: str
    summary: str
    collectors: tuple[str, ...]


def packages_without_plugin(plugins: Iterable[PluginInfo]) -> tuple[Package, ...]:
    """Packages named like ours, or with collectors, by name.

    Args:
        plugins: The rows of the listing; whoever has one is left out. Packages
            whose metadata cannot be read are left out too.
    """
    seen = {canonicalize_name(plugin.distribution) for plugin in plugins} | {CORE}
    found: dict[str, Package] = {}
    for candidate in distributions():
        read = guard(UNNAMED, "find", partial(_read, candidate))
        if type(read) is not Failure and read is not None:
            found.setdefault(canonicalize_name(read.distribution), read)
    return tuple(found[name] for name in sorted(set(found) - seen))


def _read(candidate: Distribution) -> Package | None:
    collectors = sorted({point.name for point in candidate.entry_points if point.group == GROUP})
    told = candidate.metadata
    name = one_line(told["Name"])
    if not collectors and not canonicalize_name(name).startswith(FAMILY):
        return None
    summary = one_line(told["Summary"]) if "Summary" in told else ""
    return Package(name, one_line(told["Version"]), summary, tuple(collectors))

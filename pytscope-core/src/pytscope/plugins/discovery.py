"""Find what is advertised, without importing any of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from importlib.metadata import Distribution, EntryPoint, distribution, distributions

import attrs
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from pytscope import __version__
from pytscope.model.report import Problem
from pytscope.plugins.isolation import Failure, Origin, guard
from pytscope.plugins.selection import PluginSelection
from pytscope.plugins.wording import did_you_mean, one_line

GROUP = "pytscope"
CORE = canonicalize_name("pytscope-core")
BUILTIN = Origin("builtin", str(CORE), __version__, builtin=True)
UNNAMED = Origin("a distribution without a name")
UNKNOWN_VERSION = "0+unknown"


@attrs.frozen
class Advertised:
    """One entry point of the plugin group, not imported.

    Attributes:
        origin: Who advertises it.
        entry_point: What to load.
        incompatible: Why it does not fit the installed core, or an empty string.
    """

    origin: Origin
    entry_point: EntryPoint
    incompatible: str = ""


def find_plugins() -> tuple[tuple[Advertised, ...], tuple[Problem, ...]]:
    """List the advertised plugins, by distribution and entry-point name.

    Returns:
        The plugins, and a problem for each distribution that cannot be read.
    """
    plugins: dict[str, list[Advertised]] = {}
    problems: list[Problem] = []
    for candidate in distributions():
        read = guard(UNNAMED, "find", partial(_read_first, candidate))
        if type(read) is Failure:
            problems.append(attrs.evolve(read.problem, plugin=_name_of(candidate)))
        elif read:
            plugins[canonicalize_name(read[0].origin.distribution)] = read
    in_order = tuple(p for name in sorted(plugins) for p in plugins[name])
    return in_order, tuple(sorted(problems, key=lambda p: p.message))


def _name_of(candidate: Distribution) -> str:
    name = guard(UNNAMED, "find", lambda: one_line(candidate.metadata["Name"]))
    return UNNAMED.plugin if type(name) is Failure else name


def _read_first(candidate: Distribution) -> list[Advertised]:
    """What the distribution advertises, if it is the first of its name on the path."""
    if not any(p.group == GROUP for p in candidate.entry_points):
        return []
    return _read(distribution(candidate.metadata["Name"]))


def _read(found: Distribution) -> list[Advertised]:
    points = {p.name: p for p in reversed(list(found.entry_points)) if p.group == GROUP}
    name = one_line(found.metadata["Name"])
    version = one_line(found.metadata["Version"] or "")
    unfit = incompatibility(found.requires or ())
    return [Advertised(Origin(n, name, version), points[n], unfit) for n in sorted(points)]


def incompatibility(requirements: Iterable[str], installed: str = __version__) -> str:
    """Why requirements exclude the installed core, or an empty string.

    Args:
        requirements: `Requires-Dist` values.
        installed: Version of pytscope-core; when it is unknown (a checkout
            that was never installed) every range is taken to fit.
    """
    for requirement in _on_core(requirements):
        fits = requirement.specifier.contains(installed, prereleases=True)
        if not fits and installed != UNKNOWN_VERSION:
            return f"requires {CORE}{requirement.specifier}, and {installed} is installed"
    return ""


def _on_core(requirements: Iterable[str]) -> Iterator[Requirement]:
    for text in requirements:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue  # pip's business, and not a reason to leave the plugin out
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if applies and canonicalize_name(requirement.name) == CORE:
            yield requirement


def unknown_names(selection: PluginSelection, plugins: Iterable[Advertised]) -> tuple[Problem, ...]:
    """A problem for each selected or disabled name that no plugin has."""
    origins = [p.origin for p in plugins]
    known = {o.plugin for o in origins} | {o.distribution for o in origins}
    canonical = {canonicalize_name(o.distribution) for o in origins}
    problems: list[Problem] = []
    for name in selection.names:
        if name == BUILTIN.plugin or canonicalize_name(name) == CORE:
            if name in selection.disabled:
                said = "the built-ins cannot be disabled as a whole; ignore single rules instead"
                problems.append(Origin(name).problem("find", said))
        elif name not in known and canonicalize_name(name) not in canonical:
            said = f"no installed plugin has this name{did_you_mean(name, known)}"
            problems.append(Origin(name).problem("find", said))
    return tuple(problems)

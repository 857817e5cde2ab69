"""Find what is advertised, without importing any of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from functools import partial
from importlib.metadata import (
    Distribution,
    EntryPoint,
    PackageNotFoundError,
    distribution,
    distributions,
    version,
)

import attrs
from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from pytscope import __version__
from pytscope.model.report import Problem
from pytscope.model.wording import did_you_mean, one_line
from pytscope.plugins.isolation import Failure, Origin, Refusal, guard
from pytscope.plugins.selection import PluginSelection

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
        requires: What its distribution requires, as its metadata says it.
    """

    origin: Origin
    entry_point: EntryPoint
    incompatible: str = ""
    requires: tuple[str, ...] = ()


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
    name = guard(UNNAMED, "find", lambda: one_line(_field(candidate, "Name")))
    return UNNAMED.plugin if type(name) is Failure or not name else name


def _read_first(candidate: Distribution) -> list[Advertised]:
    """What the distribution advertises, if it is the first of its name on the path.

    Raises:
        Refusal: It advertises something, and cannot be read.
    """
    if f"[{GROUP}]" not in _entry_points(candidate):
        return []
    place = one_line(getattr(getattr(candidate, "_path", None), "name", "")) or "its folder"
    try:
        name = _field(candidate, "Name").strip()
        found = distribution(name) if name else None
        if found is not None:
            return _read(found)
    except PackageNotFoundError as error:
        msg = f"{place} calls itself {name!r}, and nothing of this name is installed"
        raise Refusal(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{place} cannot be read: it is not encoded in UTF-8"
        raise Refusal(msg) from error
    msg = f"the metadata in {place} gives no name"
    raise Refusal(msg)


def _entry_points(candidate: Distribution) -> str:
    """The text that advertises; most distributions have none, or none for pytscope."""
    try:
        return candidate.read_text("entry_points.txt") or ""
    except UnicodeDecodeError as error:
        return error.object.decode("latin-1")


def _field(found: Distribution, name: str) -> str:
    """A field of the metadata, empty when it is missing."""
    return found.metadata[name] if name in found.metadata else ""  # noqa: SIM401  # newer Pythons warn where a field is missing


def _read(found: Distribution) -> list[Advertised]:
    points = {p.name: p for p in reversed(list(found.entry_points)) if p.group == GROUP}
    name, release = one_line(_field(found, "Name")), one_line(_field(found, "Version"))
    requires = tuple(found.requires or ())
    unfit = incompatibility(requires)
    return [
        Advertised(Origin(n, name, release), points[n], unfit, requires) for n in sorted(points)
    ]


def incompatibility(requirements: Iterable[str], installed: str = __version__) -> str:
    """Why requirements exclude the installed core, or an empty string.

    Args:
        requirements: `Requires-Dist` values.
        installed: Version of pytscope-core; when it is unknown (a checkout
            that was never installed) every range is taken to fit.
    """
    for requirement in _applicable(requirements):
        if canonicalize_name(requirement.name) != CORE or installed == UNKNOWN_VERSION:
            continue
        if not requirement.specifier.contains(installed, prereleases=True):
            return f"requires {CORE}{requirement.specifier}, and {installed} is installed"
    return ""


def unmet(requirements: Iterable[str]) -> str:
    """What is required and not there, as a clause, or an empty string.

    Args:
        requirements: `Requires-Dist` values.
    """
    for requirement in _applicable(requirements):
        if canonicalize_name(requirement.name) == CORE:
            continue
        wanted = f"requires {requirement.name}{requirement.specifier}"
        try:
            installed = version(requirement.name)
        except PackageNotFoundError:
            return f"{wanted}, which is not installed"
        if not requirement.specifier.contains(installed, prereleases=True):
            return f"{wanted}, and {installed} is installed"
    return ""


def _applicable(requirements: Iterable[str]) -> Iterator[Requirement]:
    """What can be read of the requirements that hold here, without extras."""
    for text in requirements:
        # What cannot be read is pip's business, and no reason to leave the plugin out.
        with contextlib.suppress(InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName):
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
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

"""Load one plugin: import it, register it alone, call its hooks one by one."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

import attrs
import pluggy

from pytscope.model.report import Problem
from pytscope.model.wording import did_you_mean, one_line
from pytscope.plugins import hookspecs
from pytscope.plugins.discovery import BUILTIN, Advertised, unmet
from pytscope.plugins.hookspecs import HOOKS, PROJECT
from pytscope.plugins.isolation import Failure, Guard, Origin, Refusal

COLLECTORS = "pytscope.collectors"
BUILTIN_MODULE = "pytscope.builtin.plugin"
MOST_ITEMS = 10_000
"""Items taken from one hook: a generator without end must not hang the host."""


@attrs.frozen(eq=False)
class LoadedPlugin:
    """What one plugin declared, not yet examined.

    Attributes:
        origin: Who it is.
        declared: Items by kind (`sources analyzers rules reporters`).
        problems: What failed on the way.
        load_ns: Time it took, nanoseconds.
    """

    origin: Origin
    declared: Mapping[str, tuple[Any, ...]] = attrs.field(factory=dict)
    problems: tuple[Problem, ...] = ()
    load_ns: int = 0


def load_builtins(guard: Guard) -> LoadedPlugin:
    """Load pytscope's own analyzers, rules, reporters and sources."""
    return _timed(BUILTIN, lambda: importlib.import_module(BUILTIN_MODULE), guard)


def load(plugin: Advertised, guard: Guard) -> LoadedPlugin:
    """Load an advertised plugin."""
    return _timed(plugin.origin, partial(_imported, plugin), guard)


def _imported(plugin: Advertised) -> Any:
    point = plugin.entry_point
    if not point.value.strip() or point.pattern.match(point.value) is None:
        msg = f"its entry point names no module: {point.value!r}"
        raise Refusal(msg)
    try:
        return point.load()
    except ImportError as error:
        missing = unmet(plugin.requires)
        if not missing:
            raise
        msg = f"{one_line(str(error))}; {plugin.origin.distribution} {missing}"
        raise ImportError(msg) from error


def _timed(origin: Origin, imported: Callable[[], Any], guard: Guard) -> LoadedPlugin:
    began = guard.clock()
    plugin = guard(origin, "load", imported)
    loaded = (
        LoadedPlugin(origin, problems=(plugin.problem,))
        if type(plugin) is Failure
        else collect(origin, plugin, guard)
    )
    return attrs.evolve(loaded, load_ns=guard.clock() - began)


def collect(origin: Origin, plugin: Any, guard: Guard) -> LoadedPlugin:
    """Call every hook of an imported plugin.

    Args:
        origin: Who it is.
        plugin: A module, an instance, or a class, which is instantiated.
        guard: Calls it.
    """
    hooks = guard(origin, "register", partial(_hooks, origin, plugin))
    if type(hooks) is Failure:
        return LoadedPlugin(origin, problems=(hooks.problem,))
    declared: dict[str, tuple[Any, ...]] = {}
    problems: list[Problem] = []
    for name, function in hooks:
        items = guard(origin, name, partial(_items, name, function))
        if type(items) is Failure:
            problems.append(items.problem)
        else:
            kind = HOOKS[name][0]
            declared[kind] = declared.get(kind, ()) + items
    return LoadedPlugin(origin, declared, tuple(problems))


def _hooks(origin: Origin, plugin: Any) -> list[tuple[str, Callable[[], Any]]]:
    """Hook names and functions of a plugin; one that cannot be used raises when called.

    A plugin manager of its own keeps one plugin's equality, validation and
    left-overs away from every other's.
    """
    if inspect.isclass(plugin):
        plugin = plugin()
    if plugin is None:
        msg = "the entry point names None"
        raise Refusal(msg)
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(plugin, origin.plugin)
    except pluggy.PluginValidationError as error:
        msg = f"{one_line(str(error))}: its arguments or options are not the specification's"
        raise Refusal(msg) from error
    relay = vars(manager.hook)
    hooks = [
        (name, _checked(name, implementation))
        for name in (*HOOKS, *sorted(relay.keys() - HOOKS.keys()))
        for implementation in relay[name].get_hookimpls()
        if name in HOOKS or not implementation.optionalhook
    ]
    hooks += _unmarked(plugin, {name for name, _ in hooks})
    if not hooks:
        msg = "it registers nothing: no function of it is marked with @hookimpl"
        raise Refusal(msg)
    return hooks


def _checked(name: str, implementation: pluggy.HookImpl) -> Callable[[], Any]:
    if name == "pytscope_collectors":
        return partial(_refuse, "collectors have an entry-point group of their own: " + COLLECTORS)
    if name not in HOOKS:
        return partial(_refuse, f"there is no hook {name!r}{did_you_mean(name, HOOKS)}")
    if implementation.wrapper or implementation.hookwrapper:
        return partial(_refuse, "a hook that registers values cannot be wrapped; return them")
    function: Callable[[], Any] = implementation.function
    return function


def _unmarked(plugin: Any, marked: AbstractSet[str]) -> list[tuple[str, Callable[[], Any]]]:
    """Functions named like a hook that nobody marked."""
    refuse = partial(_refuse, "the function of this name is not marked with @hookimpl")
    return [
        (name, refuse)
        for name in HOOKS
        if name not in marked and inspect.isroutine(inspect.getattr_static(plugin, name, None))
    ]


def _refuse(reason: str) -> Any:
    raise Refusal(reason)


def _items(name: str, function: Callable[[], Any]) -> tuple[Any, ...]:
    """What a hook returned, as a tuple."""
    returned = function()
    kind, wanted = HOOKS[name]
    if returned is None or isinstance(returned, str | bytes | Mapping | wanted):
        msg = f"it returned {type(returned).__name__}, not a list of {wanted.__name__} objects"
        raise Refusal(msg)
    items: list[Any] = []
    for item in returned:
        items.append(item)
        if len(items) > MOST_ITEMS:
            msg = f"it returned more than {MOST_ITEMS} {kind}"
            raise Refusal(msg)
    return tuple(items)

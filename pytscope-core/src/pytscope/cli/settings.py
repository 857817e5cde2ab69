"""The settings file and the command line as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pytscope.analysis.options import AnalyzeOptions
from pytscope.analysis.settings import threshold_values
from pytscope.cli.config import Config
from pytscope.cli.output import say
from pytscope.cli.parameters import Setting
from pytscope.model.errors import UsageError
from pytscope.model.report import PluginState
from pytscope.model.wording import did_you_mean
from pytscope.plugins.registry import Registry

T = TypeVar("T")
Thresholds = Mapping[str, Mapping[str, Any]]


def first(*values: T | None) -> T | None:
    """The first value that is there."""
    return next((value for value in values if value is not None), None)


def thresholds(config: Config, given: Iterable[Setting], registry: Registry) -> Thresholds:
    """Thresholds of the file with those of the command line on top.

    Raises:
        UsageError: The file sets one that does not exist or does not fit.
    """
    merged = {rule: dict(values) for rule, values in _of_file(config, registry).items()}
    for setting in given:
        merged.setdefault(setting.rule, {})[setting.key] = setting.value
    return merged


def patterns(config: Config, name: str, registry: Registry) -> tuple[str, ...]:
    """The file's `select` or `ignore`, without rules of plugins that are not loaded.

    Raises:
        UsageError: A pattern names no rule although every plugin is loaded.
    """
    given: tuple[str, ...] = getattr(config, name) or ()
    kept = []
    for pattern in given:
        try:
            registry.resolve_rule_ids(pattern)
        except UsageError as error:
            _missing(config, f"{name}: {error}", registry)
        else:
            kept.append(pattern)
    if given and not kept and name == "select":
        msg = f"{config.path}: select names no rule of the plugins that are loaded"
        raise UsageError(msg)
    return tuple(kept)


def _of_file(config: Config, registry: Registry) -> Thresholds:
    names = registry.rule_names
    for rule in config.rules.keys() - names.keys():
        _missing(config, f"there is no rule {rule!r}", registry, did_you_mean(rule, names))
    known = {rule: values for rule, values in config.rules.items() if rule in names}
    try:
        threshold_values(registry, AnalyzeOptions(thresholds=known))
    except UsageError as error:
        msg = f"{config.path}: {error}"
        raise UsageError(msg, hint=error.hint) from error
    return known


def _missing(config: Config, sentence: str, registry: Registry, guess: str = "") -> None:
    """A rule in the file that nobody brings: a mistake, unless a plugin is not loaded.

    A file is shared by people with different plugins, and one that fails must
    not take the report with it.
    """
    absent = [p.name for p in registry.plugins if p.state is not PluginState.LOADED]
    if not absent:
        msg = f"{config.path}: {sentence}{guess}"
        raise UsageError(msg)
    say(f"warning: {config.path}: {sentence}; not loaded: {', '.join(absent)}")

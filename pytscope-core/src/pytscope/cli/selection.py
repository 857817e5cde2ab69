"""Which plugins the environment and the command line ask for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytscope.plugins.registry import Registry
    from pytscope.plugins.selection import PluginSelection


def selected_registry(only: Iterable[str] | None, blocked: Iterable[str]) -> Registry:
    """Load the plugins asked for.

    Args:
        only: The names of `--plugins=…`, or None when it has no value.
        blocked: The names of `-p no:…`.

    Raises:
        UsageError: One of the names is that of no plugin; in the environment
            it is a warning.
    """
    from pytscope.cli.reserved import reserve_stdout
    from pytscope.plugins.registry import load_registry
    from pytscope.plugins.selection import PluginSelection, raises_plugin_errors

    reserve_stdout()
    selection = PluginSelection.from_environment(os.environ)
    _must_be_known(selection, PluginSelection().narrowed(only=only, disabled=blocked))
    return load_registry(
        selection.narrowed(only=only, disabled=blocked),
        raise_errors=raises_plugin_errors(os.environ),
    )


def _must_be_known(environment: PluginSelection, typed: PluginSelection) -> None:
    """Refuse names on the command line that no plugin has, and warn of those in the environment."""
    if not environment.names and not typed.names:
        return
    from pytscope.cli.output import say
    from pytscope.model.errors import UsageError
    from pytscope.plugins.discovery import find_plugins, unknown_names
    from pytscope.plugins.selection import DISABLED, ONLY

    plugins, _ = find_plugins()
    for unknown in unknown_names(typed, plugins):
        msg = f"{unknown.plugin!r}: {unknown.message}"
        raise UsageError(msg, hint="'pytscope plugins' lists those that are installed.")
    for variable, names in ((ONLY, environment.only), (DISABLED, environment.disabled)):
        for unknown in unknown_names(environment, plugins):
            if unknown.plugin in (names or ()):
                say(f"warning: {variable}: {unknown.plugin!r}: {unknown.message}")

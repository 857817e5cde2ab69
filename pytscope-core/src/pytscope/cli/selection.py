"""Which plugins the environment and the command line ask for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytscope.plugins.registry import Registry


def selected_registry(only: Iterable[str] | None, blocked: Iterable[str]) -> Registry:
    """Load the plugins asked for.

    Args:
        only: The names of `--plugins=…`, or None when it has no value.
        blocked: The names of `-p no:…`.
    """
    from pytscope.cli.reserved import reserve_stdout
    from pytscope.plugins.registry import load_registry
    from pytscope.plugins.selection import PluginSelection, raises_plugin_errors

    reserve_stdout()
    selection = PluginSelection.from_environment(os.environ)
    return load_registry(
        selection.narrowed(only=only, disabled=blocked),
        raise_errors=raises_plugin_errors(os.environ),
    )

"""The built-ins' own hook functions.

Each imports what it brings when it is called, so that one part that cannot be
imported leaves the others in place.
"""

from __future__ import annotations

from collections.abc import Iterable

from pytscope.plugins.declare import Analyzer, Reporter, Rule, Source
from pytscope.plugins.hookspecs import hookimpl


@hookimpl
def pytscope_sources() -> Iterable[Source]:
    """The run directory, and that of pytscope 0.2.x."""
    from pytscope.runs.sources.legacy import legacy
    from pytscope.runs.sources.run_directory import run_directory

    return [run_directory, legacy]


@hookimpl
def pytscope_analyzers() -> Iterable[Analyzer]:
    """One file an analyzer, in `builtin.analyzers`."""
    from pytscope.builtin.analyzers import ALL

    return ALL


@hookimpl
def pytscope_rules() -> Iterable[Rule]:
    """One file a rule, in `builtin.rules`."""
    from pytscope.builtin.rules import ALL

    return ALL


@hookimpl
def pytscope_reporters() -> Iterable[Reporter]:
    """One file a reporter, in `builtin.reporters`."""
    from pytscope.builtin.reporters import ALL

    return ALL

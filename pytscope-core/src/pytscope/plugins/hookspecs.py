"""The hooks: what a plugin may register. A hook returns values; it does no work.

A plugin is any module, class or object that an entry point of the group
`pytscope` names. Its functions marked with `hookimpl` are called once, without
arguments, when the registry is built.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import pluggy

from pytscope.plugins.declare import Analyzer, Reporter, Rule, Source

PROJECT = "pytscope"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def pytscope_sources() -> Iterable[Source]:
    """Bring sources, which open something on disk as a `Run`.

    Called once, before a run is opened. Sources are asked in order, pytscope's
    own first; the first whose `detects` agrees opens the path.

    Example:
        ::

            @source("acme", detects=lambda path: path.suffix == ".acme")
            def acme(path, attempt=None):
                return read_acme(path)

            @hookimpl
            def pytscope_sources():
                return [acme]

    Added in 0.3.0.
    """
    raise NotImplementedError


@hookspec
def pytscope_analyzers() -> Iterable[Analyzer]:
    """Bring analyzers, which compute one typed value from a run and other analyses.

    Called once. What an analyzer needs is read from its positional parameters,
    what it provides from its return annotation; the order in which analyzers
    run follows from both.

    Example:
        ::

            @analyzer("acme_clock")
            def acme_clock(run: Run) -> AcmeClock:
                return AcmeClock(ticks=len(run.shown))

            @hookimpl
            def pytscope_analyzers():
                return [acme_clock]

    Added in 0.3.0.
    """
    raise NotImplementedError


@hookspec
def pytscope_rules() -> Iterable[Rule]:
    """Bring rules, which read analyses and yield findings.

    Called once. Needs are the positional parameters, thresholds the
    keyword-only ones, and the docstring is the rule's page.

    Example:
        ::

            @rule("ACME.SLOW_OPTIMIZER", since="1.0")
            def slow_optimizer(timing: Timing, *, min_share: float = 0.3):
                if timing.share("optimizer") >= min_share:
                    yield Finding(severity=Severity.MEDIUM, title="The optimizer is slow")

            @hookimpl
            def pytscope_rules():
                return [slow_optimizer]

    Added in 0.3.0.
    """
    raise NotImplementedError


@hookspec
def pytscope_reporters() -> Iterable[Reporter]:
    """Bring reporters, which turn a report into text.

    Called once. A reporter's name is a value of `--format`.

    Example:
        ::

            @reporter("count")
            def count(report, options):
                return f"{len(report.findings)} findings"

            @hookimpl
            def pytscope_reporters():
                return [count]

    Added in 0.3.0.
    """
    raise NotImplementedError


HOOKS: Mapping[str, tuple[str, type]] = MappingProxyType(
    {
        "pytscope_sources": ("sources", Source),
        "pytscope_analyzers": ("analyzers", Analyzer),
        "pytscope_rules": ("rules", Rule),
        "pytscope_reporters": ("reporters", Reporter),
    }
)
"""Hook name -> what it brings, as listings call it, and the type of its items."""

"""An analyzer that calls itself without end."""

from pytscope import Analyzer, Run, analyzer, hookimpl


class Depth:
    """An analysis that is never there."""


@analyzer("broken_depth")
def broken_depth(run: Run) -> Depth:
    """Compute the depth below this one first."""
    deeper: Depth = broken_depth(run)
    return deeper


@hookimpl
def pytscope_analyzers() -> list[Analyzer]:
    return [broken_depth]

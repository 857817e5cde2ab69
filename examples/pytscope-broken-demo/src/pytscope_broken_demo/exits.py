"""A rule that was a script once, and still ends the process."""

import sys

from pytscope import Rule, Run, hookimpl, rule


@rule("BROKEN.EXITS", since="1.0.0")
def exits(run: Run) -> None:  # noqa: ARG001  # what it needs
    """Detects nothing, and leaves."""
    sys.exit("nothing to report")


@hookimpl
def pytscope_rules() -> list[Rule]:
    return [exits]

"""When a finding of the pack accounts for core's EFFICIENCY.RECOVERABLE."""

from __future__ import annotations

from pytscope.analyses import Budget


def recoverable(budget: Budget | None, *lines: str) -> tuple[str, ...]:
    """The `explains` of a finding that is the cause of some lines of the budget.

    Args:
        budget: The run's budget, where it has one.
        lines: Lines of it whose cause the finding names.

    Returns:
        The id of the rule, where one of the lines is the one it starts with.
    """
    led = budget is not None and any(budget.led_by(line) for line in lines)
    return ("EFFICIENCY.RECOVERABLE",) if led else ()

"""When a finding of the pack accounts for those of core's rules."""

from __future__ import annotations

from collections.abc import Iterator

from pytscope.analyses import Budget

PHASE_RULES = {
    "eval": "EFFICIENCY.EVAL_HEAVY",
    "checkpoint": "EFFICIENCY.CHECKPOINT_HEAVY",
    "data": "TIMING.DATALOADER_BOUND",
    "h2d": "TIMING.H2D_BOUND",
    "gc": "TIMING.GC_PAUSES",
    "compile": "TIMING.RECOMPILATION",
}
"""Rules that find the same seconds on the rank itself."""
EVERY_RANKS = ("data", "gc")
"""Phases whose rule looks at every rank, not only at the shown one."""


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


def line_of(phase: str) -> str:
    """The line of a budget that a phase is."""
    return "data_stall" if phase == "data" else phase


def phase_rules(phase: str, *, shown: bool) -> Iterator[str]:
    """The rule that finds the seconds which a rank spends in a phase on the rank itself.

    Args:
        phase: The phase.
        shown: Whether the rank is the shown one.
    """
    if phase in PHASE_RULES and (shown or phase in EVERY_RANKS):
        yield PHASE_RULES[phase]

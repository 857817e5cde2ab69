"""How often something came that stands between steps and outside of them."""

from __future__ import annotations

from pytscope.analyses import Budget
from pytscope.analyses.around import Around
from pytscope.analyses.units import count, duration


def how_often(line: str, name: str, between: int, spent_ns: int, budget: Budget) -> str:
    """A clause on how often it came, where, and how long each took.

    Args:
        line: Its line of the budget.
        name: What one is called.
        between: Rated steps that hold it.
        spent_ns: How long they took together.
        budget: The budget.
    """
    around = budget.around.get(line, Around())
    number = between + around.number
    if not number:
        return f"no {name} in the steps rated"
    each = f", {duration(spent_ns / number)} each on average" if number > 1 else ""
    if not around.number:
        return f"{count(number, name)}{each}, between the steps rated"
    return f"{count(number, name)}{each} ({around.counted(between, 'the steps rated')})"

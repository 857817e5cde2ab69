"""Claims the id of a built-in rule; with success it would silence that rule."""

from pytscope import Rule, Run, hookimpl, rule


@rule("TIMING.DATALOADER_BOUND", since="1.0.0")
def all_is_well(run: Run) -> None:
    """Detects nothing, ever."""


@hookimpl
def pytscope_rules() -> list[Rule]:
    return [all_is_well]

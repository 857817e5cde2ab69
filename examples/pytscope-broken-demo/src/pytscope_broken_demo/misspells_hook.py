"""Marks a function that is no hook."""

from pytscope import Rule, hookimpl


@hookimpl
def pytscope_ruels() -> list[Rule]:
    return []

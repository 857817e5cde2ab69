"""A command whose runs stand in two arms: `A B --vs C D`."""

from __future__ import annotations

from typing import Any

import click

_OPTION = "--vs"
_BETWEEN = "\0vs"
"""Stands between the arms while click takes the line apart; no file has a NUL in its name."""


class TwoArms(click.Command):
    """Reads every run after `--vs` as one of the second arm, wherever options stand."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments with the option replaced, up to a `--`."""
        end = args.index("--") if "--" in args else len(args)
        spelled: list[str] = []
        for arg in args[:end]:
            if arg == _OPTION:
                spelled.append(_BETWEEN)
            elif arg.startswith(f"{_OPTION}="):
                spelled += [_BETWEEN, arg.removeprefix(f"{_OPTION}=")]
            else:
                spelled.append(arg)
        return super().parse_args(ctx, [*spelled, *args[end:]])


def parted(
    context: click.Context, _parameter: click.Parameter, value: Any
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Callback of the argument: the runs of the first arm, and of the second.

    Raises:
        UsageError: There is nothing to compare, or there are more than two arms.
    """
    given = tuple(value)
    marks = given.count(_BETWEEN)
    if not marks:
        if len(given) < 2 and not context.resilient_parsing:  # noqa: PLR2004  # A and B
            msg = "Give two runs at least: pytscope diff A B"
            raise click.UsageError(msg, context)
        return given, ()
    at = given.index(_BETWEEN)
    first, second = given[:at], given[at + 1 :]
    if marks > 1:
        msg = "--vs stands once, between the runs of the two arms"
        raise click.UsageError(msg, context)
    if not (first and second):
        msg = "--vs stands between the runs of the two arms: pytscope diff A B --vs C D"
        raise click.UsageError(msg, context)
    return first, second

"""The options that several verbs have, each declared once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from pytscope.cli import parameters as read
from pytscope.cli.parameters import Parsed

F = TypeVar("F", bound=Callable[..., Any])
Option = Callable[[F], F]

_POSITIVE = Parsed("NUMBER", read.positive)
_PATTERNS = Parsed("RULES", read.patterns)


def together(*options: Option[Any]) -> Option[Any]:
    """Several options as one decorator, shown in this order."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def formats(names: str) -> Option[Any]:
    """Where to draw, and in which of the formats named."""
    return click.option(
        "--format",
        "formats",
        type=Parsed("FORMAT[:FILE]", read.target),
        multiple=True,
        help=f"{names} or a plugin's format; to standard output or a file; repeatable.",
    )


warmup = click.option(
    "--warmup",
    type=Parsed("N|auto", read.warmup),
    help="Warm-up steps of each rank and attempt; auto takes what was recorded or finds them.",
)
steps = click.option(
    "--steps", type=Parsed("A:B", read.window), help="Steps A to B only, both included."
)
attempt = click.option(
    "--attempt", type=Parsed("N", read.whole), help="Only the attempt of this number."
)
source = click.option("--source", metavar="NAME", help="Open runs with this source.")
blocked = click.option(
    "-p", "blocked", type=Parsed("no:NAME", read.blocked), multiple=True, help="Leave a plugin out."
)


def only_plugins(more: str = "") -> Option[Any]:
    """The plugins to load, in place of all."""
    return click.option(
        "--plugins",
        "only_plugins",
        type=Parsed("NAMES", read.names),
        multiple=True,
        help=f"With =a,b: load only these plugins.{more}",
    )


def strict(more: str = "") -> Option[Any]:
    """A code of its own for what failed beside the result."""
    said = "Exit with 4 when a plugin or check failed, or records are lost or unreadable"
    return click.option("--strict", is_flag=True, help=f"{said}{more}.")


def verbose(shown: str) -> Option[Any]:
    """More of everything."""
    return click.option("-v", "--verbose", is_flag=True, help=f"Show {shown}.")


reproducible = click.option(
    "--reproducible", is_flag=True, help="Leave out times of day, load times and paths."
)
rules = together(
    click.option(
        "--select", type=_PATTERNS, multiple=True, help="Check only these rules or areas."
    ),
    click.option("--ignore", type=_PATTERNS, multiple=True, help="Leave these rules or areas out."),
    click.option(
        "--set",
        "settings",
        type=Parsed("RULE.key=value", read.setting),
        multiple=True,
        help="Set a threshold of a rule; repeatable.",
    ),
    click.option(
        "--flops-per-step", type=_POSITIVE, help="FLOPs of an optimizer step on one rank."
    ),
    click.option("--peak-tflops", type=_POSITIVE, help="Peak of one rank's device, in TFLOP/s."),
)
analysis = together(warmup, steps, attempt, rules, source)
"""What an analysis of one run is made with."""

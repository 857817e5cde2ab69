"""`pytscope diff`: why two runs differ, and whether one is worse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pytscope.cli import parameters as read
from pytscope.cli.arms import TwoArms, parted
from pytscope.cli.parameters import Parsed
from pytscope.cli.presentation import Presentation, presentation_options


def _regression(text: str) -> Any:
    from pytscope.cli.diff_values import regression  # start-up of other verbs stays light

    return regression(text)


def _attempt(text: str) -> Any:
    from pytscope.cli.diff_values import attempt  # as above

    return attempt(text)


@click.command(cls=TwoArms)
@click.argument("runs", nargs=-1, required=True, metavar="A B [C…]", callback=parted)
@click.option(
    "--vs",
    metavar="RUN…",
    expose_value=False,
    help="The runs behind it are the second arm, those before it the first: repeats of each "
    "other, compared as two groups.",
)
@click.option(
    "--format",
    "formats",
    type=Parsed("FORMAT[:FILE]", read.target),
    multiple=True,
    help="text, json, markdown or a plugin's format, to standard output or a file; repeatable.",
)
@click.option(
    "--noise-store",
    type=Parsed("FILE", read.file),
    help="Keep in FILE what repeats of each configuration came to, and judge by what it holds; "
    "made if it is not there, renewed after each comparison.",
)
@click.option(
    "--fail-on",
    type=Parsed("regression[:5%]|never", _regression),
    help="Exit with 1 when the second arm, or any later run, is worse, by 5% or more.",
)
@click.option(
    "--warmup",
    type=Parsed("N|auto", read.warmup),
    help="Warm-up steps of each rank and attempt, which leave the durations; as for analyze.",
)
@click.option("--steps", type=Parsed("A:B", read.window), help="Steps A to B only, both included.")
@click.option(
    "--attempt",
    "attempts",
    type=Parsed("N|B=N", _attempt),
    multiple=True,
    help="Only the attempt of this number, of every run or, as B=N, of one; repeatable.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 4 when a plugin or check failed, records are lost or unreadable, or "
    "--fail-on could not be evaluated.",
)
@click.option(
    "-v", "--verbose", is_flag=True, help="Show what hardly changes numbers, and tracebacks."
)
@click.option("--source", metavar="NAME", help="Open the runs with this source.")
@click.option(
    "--plugins",
    "only_plugins",
    type=Parsed("NAMES", read.names),
    multiple=True,
    help="Load only these plugins: --plugins=a,b.",
)
@click.option(
    "-p", "blocked", type=Parsed("no:NAME", read.blocked), multiple=True, help="Leave a plugin out."
)
@click.option("--reproducible", is_flag=True, help="Leave out times of day and paths.")
@presentation_options
def diff(
    runs: tuple[tuple[str, ...], tuple[str, ...]],
    noise_store: Path | None,
    fail_on: Any,
    attempts: tuple[Any, ...],
    **options: Any,
) -> int:
    """Say why runs differ: what they were made with, where they part, what came of it.

    \b
    pytscope diff A B            B against A
    pytscope diff A B C          B against A, and C against A
    pytscope diff A B --vs C D   two arms of repeats; with three runs or more an
                                 arm, results are compared as runs, not as steps

    Steps are matched by their global number, from the first on. The runs are
    named A, B, C, … in the order given. One run an arm never makes a
    regression, unless --noise-store knows what repeats of it do.

    Exit codes: 0 done, 1 --fail-on, 2 usage, 3 input missing, unreadable or
    without a step, or nowhere to write, 4 --strict.
    """  # noqa: D301  # the backslash is click's mark, not a character to show
    from pytscope.cli.asked import Asked
    from pytscope.cli.compared import DiffAsked, compare_runs
    from pytscope.cli.shadowing import warn_of_other_distribution

    warn_of_other_distribution()
    asked = DiffAsked(
        analysis=Asked(**options),
        runs=runs,
        noise_store=noise_store,
        fail_on=fail_on,
        attempts=attempts,
    )
    return compare_runs(asked, Presentation.current())

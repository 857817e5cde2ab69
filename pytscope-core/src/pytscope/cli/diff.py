"""`pytscope diff`: why two runs differ, and whether one is worse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pytscope.cli import options
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
@options.formats("text, json, markdown")
@click.option(
    "--noise-store",
    type=Parsed("FILE", read.file),
    help="Keep in FILE what repeats of each configuration came to, and hold single runs against "
    "how much those differ; made if it is not there, renewed after each comparison.",
)
@click.option(
    "--fail-on",
    type=Parsed("regression[:5%]|never", _regression),
    help="Exit with 1 when the second arm, or any later run, is worse, by 5% or more.",
)
@options.warmup
@options.steps
@click.option(
    "--attempt",
    "attempts",
    type=Parsed("N|B=N", _attempt),
    multiple=True,
    help="Only the attempt of this number, of every run or, as B=N, of one; repeatable.",
)
@options.strict(", or --fail-on could not be evaluated")
@options.verbose("what hardly changes numbers, how phases were tested, and tracebacks")
@options.source
@options.only_plugins()
@options.blocked
@options.reproducible
@presentation_options
def diff(
    runs: tuple[tuple[str, ...], tuple[str, ...]],
    noise_store: Path | None,
    fail_on: Any,
    attempts: tuple[Any, ...],
    **asked: Any,
) -> int:
    """Say why runs differ: what they were made with, where they part, what came of it.

    \b
    pytscope diff A B            B against A
    pytscope diff A B C          B against A, and C against A
    pytscope diff A B --vs C D   two arms of repeats; with three runs or more an
                                 arm, results are compared as runs, not as steps

    Steps are matched by their global number, from the first on. The runs are
    named A, B, C, … in the order given. With fewer than three runs an arm
    nothing is called a regression; --noise-store then says by how much more
    than repeats they differ. A run that cannot be read or has no step is left
    out, and named, where two others are not, one of each arm; a path where
    nothing is stops the comparison.

    Exit codes: 0 done, 1 --fail-on, 2 usage, 3 input missing, unreadable or
    without a step and too few left, or nowhere to write, 4 --strict.
    """  # noqa: D301  # the backslash is click's mark, not a character to show
    from pytscope.cli.asked import Asked
    from pytscope.cli.compared import DiffAsked, compare_runs
    from pytscope.cli.shadowing import warn_of_other_distribution

    warn_of_other_distribution()
    whole = DiffAsked(
        analysis=Asked(**asked),
        runs=runs,
        noise_store=noise_store,
        fail_on=fail_on,
        attempts=attempts,
    )
    return compare_runs(whole, Presentation.current())

"""`pytscope diff`: why two runs differ, and whether one is worse."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from pytscope.cli import parameters as read
from pytscope.cli.arms import TwoArms, parted
from pytscope.cli.parameters import Auto, Never, Parsed, Target
from pytscope.cli.presentation import Presentation, presentation_options

if TYPE_CHECKING:
    from pytscope.cli.diff_values import AttemptOf
    from pytscope.diffing.gate import RegressionGate


def _regression(text: str) -> RegressionGate | Never:
    from pytscope.cli.diff_values import regression

    return regression(text)


def _store(text: str) -> Path:
    from pytscope.cli.diff_values import store

    return store(text)


def _attempt(text: str) -> AttemptOf:
    from pytscope.cli.diff_values import attempt

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
    type=Parsed("FILE", _store),
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
def diff(**options: Any) -> int:
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
    return _diff(Wanted(**options), Presentation.current())


@attrs.frozen(kw_only=True)
class Wanted:
    """What was written after `pytscope diff`, option by option."""

    runs: tuple[tuple[str, ...], tuple[str, ...]]
    formats: tuple[Target, ...] = ()
    noise_store: Path | None = None
    fail_on: RegressionGate | Never | None = None
    warmup: int | Auto | None = None
    steps: tuple[int | None, int | None] | None = None
    attempts: tuple[AttemptOf, ...] = ()
    strict: bool = False
    verbose: bool = False
    source: str | None = None
    only_plugins: tuple[tuple[str, ...], ...] = ()
    blocked: tuple[str, ...] = ()
    reproducible: bool = False

    @property
    def only(self) -> tuple[str, ...] | None:
        """The plugins to load, or None for all."""
        return tuple(name for group in self.only_plugins for name in group) or None


def _diff(wanted: Wanted, presentation: Presentation) -> int:
    from pytscope.cli.compared import compare_runs
    from pytscope.cli.config import find_config
    from pytscope.cli.selection import selected_registry
    from pytscope.cli.shadowing import warn_of_other_distribution

    warn_of_other_distribution()
    registry = selected_registry(wanted.only, wanted.blocked)
    return compare_runs(wanted, find_config(Path.cwd()), registry, presentation)

"""`pytscope check`: hold a run to its budgets, for continuous integration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pytscope.cli import options
from pytscope.cli import parameters as read
from pytscope.cli.parameters import Parsed
from pytscope.cli.presentation import Presentation, presentation_options


def _budget(text: str) -> Any:
    from pytscope.gates.demands import demand  # start-up of other verbs stays light

    return demand(text)


@click.command()
@click.argument("run", required=False)
@click.option(
    "--budget",
    "budgets",
    type=Parsed("BUDGET", _budget),
    multiple=True,
    help="A budget beside those of the settings, such as 'step_ms.median <= 120'; repeatable.",
)
@click.option(
    "--fail-on",
    type=Parsed("SEVERITY|never", read.gate),
    help="Fail when there is a finding of this severity or above.",
)
@click.option(
    "--baseline",
    type=Parsed("FILE", read.file),
    help="What budgets with 'baseline' in them refer to.",
)
@click.option(
    "--update-baseline",
    is_flag=True,
    help="Make this run the baseline, whatever it is worth: write its file anew.",
)
@click.option("--list", "listing", is_flag=True, help="List what can have a budget, and stop.")
@options.formats("text, json, markdown, github, junit, sarif")
@options.analysis
@options.strict()
@options.verbose("the analysis too, with evidence and tracebacks")
@options.only_plugins()
@options.blocked
@options.reproducible
@presentation_options
def check(
    budgets: tuple[Any, ...],
    baseline: Path | None,
    *,
    update_baseline: bool,
    listing: bool,
    **asked: Any,
) -> int:
    """Hold a recorded RUN to its budgets.

    The budgets, the run and the baseline are those of [tool.pytscope.check] in
    the settings file, and of the options. A budget is METRIC <= LIMIT, with
    <=, >=, <, > or ==; a limit is a number, with a unit or without, or
    F * baseline. What was not measured fails its budget, unless that ends in
    'if measured'.

    \b
    step_ms.median <= 120 ms
    step_ms.median <= 1.1 * baseline
    data.share <= 20%
    mfu >= 0.35 if measured
    findings.high == 0

    With github among the formats, the file that GITHUB_STEP_SUMMARY names gets
    a summary. Exit codes: 0 passed, 1 failed, 2 usage, 3 input missing,
    unreadable or without a usable step, or nowhere to write, 4 --strict.
    """  # noqa: D301  # the backslash is click's mark, not a character to show
    from pytscope.cli.asked import Asked
    from pytscope.cli.checking import CheckAsked, check_run
    from pytscope.cli.shadowing import warn_of_other_distribution

    warn_of_other_distribution()
    whole = CheckAsked(
        analysis=Asked(**asked),
        budgets=budgets,
        baseline=baseline,
        updating=update_baseline,
        listing=listing,
    )
    return check_run(whole, Presentation.current())

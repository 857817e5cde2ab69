"""`pytscope analyze`: read a run, diagnose it, print the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pytscope.cli import options
from pytscope.cli import parameters as read
from pytscope.cli.parameters import Parsed
from pytscope.cli.presentation import Presentation, presentation_options
from pytscope.cli.switches import TABLE_FLAG, PluginsSwitch

if TYPE_CHECKING:
    from pytscope.cli.asked import Asked


@click.command(cls=PluginsSwitch)
@click.argument("run", required=False)
@options.formats("text, json, markdown, github, junit, sarif")
@options.analysis
@click.option(
    "--severity",
    type=Parsed("SEVERITY", read.severity),
    help="Show findings from this severity up: high, medium, low or info.",
)
@click.option(
    "--fail-on",
    type=Parsed("SEVERITY|never", read.gate),
    help="Exit with 1 when there is a finding of this severity or above.",
)
@options.strict()
@click.option("--show-passed", is_flag=True, help="List the checks that passed.")
@options.verbose("evidence, thresholds and tracebacks")
@options.only_plugins(" Alone: show the table of plugins.")
@click.option(TABLE_FLAG, "plugins_table", is_flag=True, hidden=True)
@options.blocked
@options.reproducible
@presentation_options
def analyze(**asked: Any) -> int:
    """Diagnose a recorded RUN: a folder, or a file of one rank.

    Exit codes: 0 done, 1 --fail-on, 2 usage, 3 input missing, unreadable or
    without a usable step, or nowhere to write, 4 --strict.
    """
    from pytscope.cli.asked import Asked

    return _analyze(Asked(**asked), Presentation.current())


def _analyze(asked: Asked, presentation: Presentation) -> int:
    from pytscope.cli.config import find_config
    from pytscope.cli.diagnosis import diagnose
    from pytscope.cli.listing import print_listing
    from pytscope.cli.selection import selected_registry
    from pytscope.cli.shadowing import warn_of_other_distribution

    if asked.run is None and not asked.plugins_table:
        msg = "Missing argument 'RUN'."
        raise click.UsageError(msg, click.get_current_context())
    warn_of_other_distribution()
    registry = selected_registry(asked.only, asked.blocked)
    if asked.run is None:
        print_listing(registry)
        return 0
    return diagnose(asked.run, asked, find_config(Path.cwd()), registry, presentation)

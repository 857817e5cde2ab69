"""`pytscope analyze`: read a run, diagnose it, print the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pytscope.cli import parameters as read
from pytscope.cli.parameters import Parsed
from pytscope.cli.presentation import Presentation, presentation_options
from pytscope.cli.switches import TABLE_FLAG, PluginsSwitch

if TYPE_CHECKING:
    from pytscope.cli.asked import Asked

_POSITIVE = Parsed("NUMBER", read.positive)
_WHOLE = Parsed("N", read.whole)
_PATTERNS = Parsed("RULES", read.patterns)


@click.command(cls=PluginsSwitch)
@click.argument("run", required=False)
@click.option(
    "--format",
    "formats",
    type=Parsed("FORMAT[:FILE]", read.target),
    multiple=True,
    help="text, json, markdown, github, junit, sarif or a plugin's format; to standard output or a "
    "file; repeatable.",
)
@click.option(
    "--warmup",
    type=Parsed("N|auto", read.warmup),
    help="Warm-up steps of each rank and attempt; auto takes what was recorded or finds them.",
)
@click.option("--steps", type=Parsed("A:B", read.window), help="Steps A to B only, both included.")
@click.option("--attempt", type=_WHOLE, help="Only the attempt of this number.")
@click.option("--select", type=_PATTERNS, multiple=True, help="Check only these rules or areas.")
@click.option("--ignore", type=_PATTERNS, multiple=True, help="Leave these rules or areas out.")
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
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 4 when a plugin or check failed, or records are lost or unreadable.",
)
@click.option("--show-passed", is_flag=True, help="List the checks that passed.")
@click.option("-v", "--verbose", is_flag=True, help="Show evidence, thresholds and tracebacks.")
@click.option(
    "--set",
    "settings",
    type=Parsed("RULE.key=value", read.setting),
    multiple=True,
    help="Set a threshold of a rule; repeatable.",
)
@click.option("--source", metavar="NAME", help="Open the run with this source.")
@click.option("--flops-per-step", type=_POSITIVE, help="FLOPs of an optimizer step on one rank.")
@click.option("--peak-tflops", type=_POSITIVE, help="Peak of one rank's device, in TFLOP/s.")
@click.option(
    "--plugins",
    "only_plugins",
    type=Parsed("NAMES", read.names),
    multiple=True,
    help="With =a,b: load only these plugins. Alone: show the table of plugins.",
)
@click.option(TABLE_FLAG, "plugins_table", is_flag=True, hidden=True)
@click.option(
    "-p", "blocked", type=Parsed("no:NAME", read.blocked), multiple=True, help="Leave a plugin out."
)
@click.option("--reproducible", is_flag=True, help="Leave out times of day, load times and paths.")
@presentation_options
def analyze(**options: Any) -> int:
    """Diagnose a recorded RUN: a folder, or a file of one rank.

    Exit codes: 0 done, 1 --fail-on, 2 usage, 3 input missing, unreadable or
    without a usable step, or nowhere to write, 4 --strict.
    """
    from pytscope.cli.asked import Asked

    return _analyze(Asked(**options), Presentation.current())


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

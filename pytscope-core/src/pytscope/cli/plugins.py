"""`pytscope plugins`: what is installed, what it brings, what became of it."""

from __future__ import annotations

import click

from pytscope.cli import options
from pytscope.cli.presentation import presentation_options


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the listing as JSON.")
@options.blocked
@presentation_options
def plugins(as_json: bool, blocked: tuple[str, ...]) -> int:
    """List the plugins: distribution, version, state, what each brings.

    Then the installed packages of pytscope that bring no plugin, such as
    pytscope-torch, with their collectors.
    """
    from pytscope.cli.listing import print_json, print_listing
    from pytscope.cli.selection import selected_registry
    from pytscope.cli.shadowing import warn_of_other_distribution

    warn_of_other_distribution()
    registry = selected_registry(None, blocked)
    (print_json if as_json else print_listing)(registry)
    return 0

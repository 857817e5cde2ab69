"""A command whose `--plugins` takes a value only with `=`."""

from __future__ import annotations

import click

TABLE_FLAG = "--plugins-table"
"""Hidden name of `--plugins` without a value."""


class PluginsSwitch(click.Command):
    """Reads a bare `--plugins` as a flag, so that it never takes the argument after it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments with the bare spelling replaced, up to a `--`."""
        end = args.index("--") if "--" in args else len(args)
        spelled = [TABLE_FLAG if arg == "--plugins" else arg for arg in args[:end]]
        return super().parse_args(ctx, [*spelled, *args[end:]])

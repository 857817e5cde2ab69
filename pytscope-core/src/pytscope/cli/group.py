"""The command group: the verbs, and the options that stand before them."""

from __future__ import annotations

from typing import Any

import click

from pytscope.cli.analyze import analyze
from pytscope.cli.check import check
from pytscope.cli.demo import demo
from pytscope.cli.diff import diff
from pytscope.cli.explain import explain
from pytscope.cli.export import export
from pytscope.cli.plugins import plugins
from pytscope.cli.presentation import presentation_options
from pytscope.cli.run import run
from pytscope.cli.schema import schema


def _print_version(context: click.Context, _parameter: click.Parameter, value: Any) -> None:
    if not value or context.resilient_parsing:
        return
    import platform

    from pytscope import __version__
    from pytscope.cli.output import write_stdout

    python = f"{platform.python_implementation()} {platform.python_version()}"
    write_stdout(f"pytscope-core {__version__} ({python})\n")
    context.exit()


class _Verbs(click.Group):
    """A group that, given nothing, fails with its help, whatever the version of click does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse an empty command line."""
        if not args and not ctx.resilient_parsing:
            raise click.UsageError(ctx.get_help(), ctx)
        return super().parse_args(ctx, args)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and exit.",
)
@presentation_options
def pytscope() -> None:
    """Say where the time of a training run went, and what to change."""


for _verb in (analyze, check, demo, diff, explain, export, plugins, run, schema):
    pytscope.add_command(_verb)

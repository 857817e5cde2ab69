"""`pytscope schema`: the JSON Schemas of what the other verbs write."""

from __future__ import annotations

import click

from pytscope.cli.presentation import presentation_options

FILES = {
    "report": "report-1.json",
    "step": "step-1.json",
    "plugins": "plugins-1.json",
    "diff": "diff-1.json",
    "check": "check-1.json",
}
"""Schemas that come with the package, by name."""


@click.command()
@click.argument("name", type=click.Choice(tuple(FILES)), default="report")
@presentation_options
def schema(name: str) -> int:
    """Print a JSON Schema (draft 2020-12).

    \b
    report   what 'pytscope analyze --format json' prints (the default)
    step     a line of 'pytscope export --to jsonl'
    plugins  what 'pytscope plugins --json' prints
    diff     what 'pytscope diff --format json' prints
    check    what 'pytscope check --format json' prints
    """  # noqa: D301  # the backslash is click's mark, not a character to show
    from importlib.resources import files

    from pytscope.cli.output import write_stdout

    write_stdout(files("pytscope").joinpath("schemas", FILES[name]).read_text(encoding="utf-8"))
    return 0

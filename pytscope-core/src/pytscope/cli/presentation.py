"""`--color`, `--width` and `--ascii`, before or after the verb."""

from __future__ import annotations

from typing import Any

import attrs
import click

from pytscope.cli.options import together
from pytscope.cli.parameters import Parsed, columns

COLORS = ("auto", "always", "never")
_KEY = "pytscope.presentation"


@attrs.frozen
class Presentation:
    """How the user wants to see things; None where nothing was said.

    Attributes:
        color: One of `COLORS`.
        width: Columns.
        ascii: Whether only ASCII may be used.
    """

    color: str | None = None
    width: int | None = None
    ascii: bool | None = None

    @classmethod
    def current(cls) -> Presentation:
        """What the options before and after the verb say; the later one wins."""
        asked: Presentation = click.get_current_context().meta.get(_KEY, cls())
        return asked


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value not in (None, False):
        asked = context.meta.get(_KEY, Presentation())
        context.meta[_KEY] = attrs.evolve(asked, **{str(parameter.name): value})


presentation_options = together(
    click.option(
        "--color",
        type=click.Choice(COLORS),
        expose_value=False,
        callback=_remember,
        help="Colour: on a terminal (auto), always or never.",
    ),
    click.option(
        "--width",
        type=Parsed("COLUMNS", columns),
        expose_value=False,
        callback=_remember,
        help="Columns of the text report (88).",
    ),
    click.option(
        "--ascii",
        is_flag=True,
        expose_value=False,
        callback=_remember,
        help="Draw with ASCII signs only.",
    ),
)
"""Adds the options to a group or command."""

"""`pytscope run`: a door to a verb that another package brings."""

from __future__ import annotations

import click

from pytscope.model.errors import UsageError


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
def run() -> int:
    """Record a script without changing it (brought by pytscope-torch)."""
    msg = "'pytscope run' is brought by pytscope-torch, and no installed version of it does"
    hint = "Install or upgrade it: pip install --upgrade 'pytscope-core[torch]'"
    raise UsageError(msg, hint=hint)

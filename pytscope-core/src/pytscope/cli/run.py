"""`pytscope run`: record a script without changing it, which pytscope-torch does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from pytscope.cli.presentation import Presentation, presentation_options


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("-o", "--output", "folder", metavar="DIR", help="The run's folder.")
@click.option("-m", "module", is_flag=True, help="SCRIPT names a module, as for python -m.")
@click.option("--flops", is_flag=True, help="Count the FLOPs of one training step as it runs.")
@click.option("--memory", is_flag=True, help="Sample memory after each step, to find leaks.")
@click.option("--no-report", is_flag=True, help="Record only; print no report at the end.")
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENTS]...")
@presentation_options
def run(
    script: str, arguments: tuple[str, ...], *, no_report: bool, **options: Any
) -> Callable[[], None]:
    """Run a SCRIPT as python would, record its PyTorch training, print the report.

    Nothing in the script needs to change. What pytscope says, the report too,
    goes to standard error: standard output is the script's own. Exit code and
    exceptions are the script's as well. Without -o the run goes to a new folder,
    runs/SCRIPT-1, -2 and so on. Where no training step is seen nothing is kept.

    Under torchrun every rank is recorded, without -o into runs/SCRIPT-JOB, by the
    launcher's name of the job:

    torchrun --nproc-per-node 2 -m pytscope run -o runs/x -- train.py

    Everything after SCRIPT is the script's. Brought by pytscope-torch.
    """
    from pytscope.cli.shadowing import warn_of_other_distribution
    from pytscope.doors import enter

    launch: Callable[..., Callable[[], None]] = enter(
        "run_script", "pytscope_torch", "torch", "pytscope run"
    )
    warn_of_other_distribution()
    report = None if no_report else _switches(Presentation.current())
    return launch(script, arguments, report=report, **options)


def _switches(look: Presentation) -> tuple[str, ...]:
    """The options of the report, as words of a command line."""
    given = {"--color": look.color, "--width": look.width}
    words = [word for name, value in given.items() if value for word in (name, str(value))]
    return (*words, "--ascii") if look.ascii else tuple(words)

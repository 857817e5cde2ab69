"""`pytscope export`: a run's step records for other programs."""

from __future__ import annotations

from pathlib import Path

import attrs
import click

from pytscope.cli import options
from pytscope.cli import parameters as read
from pytscope.cli.parameters import Parsed
from pytscope.cli.presentation import presentation_options

FORMS = ("jsonl", "csv", "parquet")


@click.command()
@click.argument("run")
@click.option(
    "--to",
    "form",
    type=click.Choice(FORMS),
    help="The form; by default what the FILE of -o ends in, or jsonl.",
)
@click.option(
    "-o",
    "--output",
    type=Parsed("FILE", read.place),
    help="Write to FILE, replacing it; standard output by default, but not for parquet.",
)
@click.option("--ranks", type=Parsed("RANKS", read.ranks), help="Only these, such as 0,4-7.")
@options.steps
@options.attempt
@options.warmup
@options.source
@options.blocked
@presentation_options
def export(**wanted: object) -> int:
    """Write the step records of a RUN, one row a step, by rank and in recording order.

    \b
    jsonl    a JSON object a line, with everything that is known of a step:
             'pytscope schema step' describes it
    csv      a header, then a line a step
    parquet  the same table with types (needs pytscope-core[parquet])

    Columns of csv and parquet: rank, attempt, step, start_ns, wall_ns,
    micro_batches, flag.warmup and the other flags, phase.NAME_ns,
    device.NAME_ns, scalar.NAME, memory.NAME_bytes, extra.NAME_ns. An empty
    cell (null) is no value; a phase that a step spent no time in is 0.
    Durations are exact nanoseconds. Floats that are not finite are NaN,
    Infinity and -Infinity, in jsonl as text.

    Exit codes: 0 done, 2 usage or pyarrow missing, 3 input missing, unreadable
    or without a step, or nowhere to write.
    """  # noqa: D301  # the backslash is click's mark, not a character to show
    return _export(Wanted(**wanted))  # type: ignore[arg-type]  # click gives what the options say


@attrs.frozen(kw_only=True)
class Wanted:
    """What was written after `pytscope export`, option by option."""

    run: str
    form: str | None = None
    output: Path | None = None
    ranks: tuple[tuple[int, int], ...] | None = None
    steps: tuple[int | None, int | None] | None = None
    attempt: int | None = None
    warmup: int | read.Auto | None = None
    source: str | None = None
    blocked: tuple[str, ...] = ()


def _export(wanted: Wanted) -> int:
    from pytscope.cli.exported import export_run
    from pytscope.cli.shadowing import warn_of_other_distribution

    warn_of_other_distribution()
    export_run(wanted)
    return 0


def form_of(wanted: Wanted) -> str:
    """The form asked for, or that of the file's ending; JSON lines where there is no file.

    Raises:
        UsageError: Neither says it, or it cannot go where it is to go.
    """
    from pytscope.model.errors import UsageError

    ending = wanted.output.suffix.lower().lstrip(".") if wanted.output else ""
    default = FORMS[0] if wanted.output is None else None
    form = wanted.form or (ending if ending in FORMS else default)
    if form is None:
        msg = f"say in which form: --to {', --to '.join(FORMS)}"
        raise UsageError(msg)
    if form == "parquet" and wanted.output is None:
        msg = "parquet goes to a file"
        raise UsageError(msg, hint="Name it: -o steps.parquet")
    return form

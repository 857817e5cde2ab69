"""From the command line of `export` to written rows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import attrs

from pytscope.analysis.options import AnalyzeOptions
from pytscope.analysis.orchestrator import prepare
from pytscope.api import opened
from pytscope.cli.export import Wanted, form_of
from pytscope.cli.kept import must_be_elsewhere
from pytscope.cli.output import say, write_stdout, written
from pytscope.cli.progress import reading
from pytscope.cli.selection import selected_registry
from pytscope.exporting import TEXTS
from pytscope.model.errors import NothingUsable, UsageError
from pytscope.model.wording import listed
from pytscope.runs.opening import must_exist
from pytscope.runs.run import Run

_MOST_RANKS = 8


def export_run(wanted: Wanted) -> None:
    """Open a run and write its step records.

    Args:
        wanted: The command line.

    Raises:
        PytscopeError: Something cannot be read, used or written.
    """
    registry = selected_registry(None, wanted.blocked)
    must_exist(Path(wanted.run), registry.sources)  # whatever else is wrong
    form = form_of(wanted)
    if form == "parquet":
        from pytscope.exporting.parquet import arrow

        arrow()  # say that it is missing before a long read
    must_be_elsewhere([wanted.output], Path(wanted.run), "Give -o another name.")
    warmup = None if wanted.warmup == "auto" else wanted.warmup
    with reading(wanted.run):
        run = opened(wanted.run, registry, source=wanted.source, attempt=wanted.attempt)
        run = prepare(run, AnalyzeOptions(warmup=warmup, steps=wanted.steps))
    run = _of_ranks(run, wanted.ranks)
    steps = sum(map(len, run.timelines))
    if not steps:
        msg = f"{wanted.run} holds no completed step"
        raise NothingUsable(msg)
    if wanted.output is None:
        for text in TEXTS[form](run):
            write_stdout(text)
    else:
        _write(run, form, wanted.output)
        say(f"wrote {wanted.output} ({form}, {steps:,} steps)")


def _write(run: Run, form: str, path: Path) -> None:
    with written(path) as file:
        if form == "parquet":
            from pytscope import __version__
            from pytscope.exporting.parquet import write_parquet

            write_parquet(run, file, __version__)
        else:
            for text in TEXTS[form](run):
                file.write(text.encode())


def _of_ranks(run: Run, wanted: tuple[tuple[int, int], ...] | None) -> Run:
    if wanted is None:
        return run
    absent = [a if a == b else f"{a}-{b}" for a, b in wanted if not _any(run.ranks, a, b)]
    if absent:
        there = listed(map(str, run.ranks), _MOST_RANKS)
        msg = f"the run has no rank {listed(map(str, absent))}; its ranks are: {there}"
        raise UsageError(msg)
    kept = (t for t in run.timelines if any(a <= t.rank <= b for a, b in wanted))
    return attrs.evolve(run, timelines=tuple(kept))


def _any(ranks: Iterable[int], first: int, last: int) -> bool:
    return any(first <= rank <= last for rank in ranks)

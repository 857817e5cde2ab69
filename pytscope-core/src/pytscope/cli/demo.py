"""`pytscope demo`: record a faulty run in a few seconds, and diagnose it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import sleep

import click

from pytscope.cli.presentation import Presentation, presentation_options

STEPS = 60
SLOW_EVERY = 10
_WARMUP = 3

# Seconds; the loader takes longer than everything it feeds.
_FETCH, _SLOW_FETCH = 0.030, 0.090
_FORWARD, _BACKWARD, _OPTIMIZER = 0.008, 0.012, 0.003
_EVAL, _CHECKPOINT = 0.15, 0.10


@click.command()
@click.argument("folder", metavar="[DIR]", required=False)
@presentation_options
def demo(folder: str | None) -> int:
    """Record a faulty run of about five seconds into DIR, and print its report.

    The run simulates training with sleeps: a loader that is too slow, every
    tenth batch of it three times as slow, two evaluations and two checkpoints.
    DIR is new or empty; without it the run goes to a new temporary folder.
    """
    from pytscope.cli.asked import Asked
    from pytscope.cli.config import Config
    from pytscope.cli.diagnosis import diagnose
    from pytscope.cli.output import say
    from pytscope.cli.selection import selected_registry
    from pytscope.cli.shadowing import warn_of_other_distribution

    warn_of_other_distribution()
    place = _place(folder)
    say(f"recording a faulty run into {place} (about 5 seconds)")
    record(place)
    registry = selected_registry(None, ())
    code = diagnose(str(place), Asked(), Config(), registry, Presentation.current())
    say(f"\nsee it again:  pytscope analyze {place}", keep="\n")
    say("more of it:    add -v, or --format json, or --warmup 0")
    return code


def _place(folder: str | None) -> Path:
    from tempfile import mkdtemp

    from pytscope.model.errors import UsageError

    if folder is None:
        return Path(mkdtemp(prefix="pytscope-demo-"))
    place = Path(folder)
    if place.exists() and not place.is_dir():
        msg = f"{place} is a file; the demo needs a folder"
        raise UsageError(msg)
    if place.is_dir() and any(place.iterdir()):
        msg = f"{place} is not empty; the demo needs a new folder or an empty one"
        raise UsageError(msg, hint="Without a folder it takes a temporary one: pytscope demo")
    return place


def record(place: Path, steps: int = STEPS) -> None:
    """Record the run.

    Args:
        place: Its folder.
        steps: Optimizer steps.
    """
    from pytscope.recording.profiler import Profiler

    config = {"batch_size": 32, "num_workers": 0}
    with Profiler(place, name="demo", warmup=_WARMUP, config=config) as profiler:
        for step, _ in enumerate(profiler.iter_data(_batches(steps))):
            with profiler.step():
                sleep(_FORWARD)
                profiler.mark("forward")
                sleep(_BACKWARD)
                profiler.mark("backward")
                sleep(_OPTIMIZER)
                profiler.mark("optimizer")
                profiler.log(loss=2.0 / (1 + 0.05 * step), lr=1e-3, samples=32)
            if step in (steps // 3, 2 * steps // 3):
                with profiler.phase("eval"):
                    sleep(_EVAL)
                with profiler.phase("checkpoint"):
                    sleep(_CHECKPOINT)


def _batches(count: int) -> Iterator[int]:
    for batch in range(count):
        sleep(_SLOW_FETCH if batch % SLOW_EVERY == SLOW_EVERY - 1 else _FETCH)
        yield batch

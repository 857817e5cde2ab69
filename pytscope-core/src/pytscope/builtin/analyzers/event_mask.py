"""The analyzer of known events."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from pytscope.analyses.around import Around
from pytscope.analyses.column import Column
from pytscope.analyses.event_mask import Event, EventMask
from pytscope.builtin.analyzers.ledger import OF_THE_REGION
from pytscope.builtin.analyzers.phases import around
from pytscope.model.records import Flag
from pytscope.plugins.declare import analyzer
from pytscope.runs.last_pass import counting
from pytscope.runs.run import Floats, Ints, Run, Timeline
from pytscope.signals.names import EPOCH, GRAD_NORM, LOSS, LR, first_of
from pytscope.signals.restarts import find_restarts
from pytscope.stats import period

ALL_AXES = ("loss", "grad_norm", "step_time", "memory")
LEARNING = ("loss", "grad_norm")
MACHINE = ("step_time", "memory")
RAISED = 1.5
"""Multiple of the learning rate before that counts as raised."""
RARE = 0.05
"""Part of the steps with a raised learning rate up to which it is an event, not a schedule."""
MOST = 0.5
"""Part of the steps that may hold an event which accounts for anything."""
RAMP = 0.5
"""Part of a rise from which the one before or after it makes a climb of them, step by step."""
AFTER_RAISE = 5
AFTER_RESUME = 5


@analyzer("event_mask")
def event_mask(run: Run) -> EventMask:
    """Find what is known to make values stand out, on the shown rank."""
    timeline = run.shown
    kept: Ints = np.flatnonzero(~timeline.has(Flag.REDONE))
    kept = kept[np.argsort(timeline.step[kept], kind="stable")]
    steps = timeline.step[kept]
    found = [
        event for event in _events(run, timeline, kept, steps) if event.count or event.around.number
    ]
    return EventMask(
        rank=timeline.rank,
        steps=len(steps),
        events=tuple(found),
        unknown=tuple(_unknown(run, timeline)),
    )


def _events(run: Run, timeline: Timeline, kept: Ints, steps: Ints) -> Iterator[Event]:
    warm = steps[timeline.has(Flag.WARMUP)[kept]]
    how = "recorded, asked for or found"
    yield _event("warm-up", warm, ALL_AXES, steps, how=how, any_share=True)
    first = np.unique(timeline.attempt[kept], return_index=True)[1][1:]
    yield _event("resume", steps[first], ALL_AXES, steps, after=AFTER_RESUME, how="recorded")
    restarts = np.asarray(_restarts(run), np.int64)
    yield _event("restart", restarts, ALL_AXES, steps, how="the loss begins anew")
    epochs, how = _epochs(run)
    yield _event("epoch", epochs, ALL_AXES, steps, before=1, how=how)
    beside = around(timeline)
    for kind in ("eval", "checkpoint", "compile"):
        there = steps[timeline.phase_ns(kind)[kept] > 0]
        event = _event(kind, there, MACHINE, steps, after=1, how="recorded")
        if kind not in OF_THE_REGION and len(steps):
            event = attrs.evolve(event, around=beside.get(kind, Around()))
        yield event
    yield _event("lr", _raises(run), LEARNING, steps, after=AFTER_RAISE, how="the logged rate")
    skipped = steps[timeline.has(Flag.SKIPPED | Flag.FAILED)[kept]]
    yield _event("skipped", skipped, LEARNING, steps, how="recorded")


def _event(
    kind: str,
    at: Ints,
    explains: tuple[str, ...],
    steps: Ints,
    *,
    before: int = 0,
    after: int = 0,
    how: str,
    any_share: bool = False,
) -> Event:
    usual = not any_share and len(at) > MOST * len(steps)
    return Event(
        kind=kind,
        count=len(at),
        every=period(at),
        explains=() if usual else explains,
        before=before,
        after=after,
        how=how,
        step=Column(np.sort(at)),
    )


def logged(run: Run, names: tuple[str, ...]) -> tuple[Ints, Floats] | None:
    """Steps and values of a logged series; arguments as for `logged_by`."""
    found = logged_by(run, names)
    return None if found is None else found[2:]


def logged_by(run: Run, names: tuple[str, ...]) -> tuple[str, int, Ints, Floats] | None:
    """A logged series of the shown rank, else of the lowest rank that has it; ascending.

    Args:
        run: The run.
        names: Names that it may have, the likeliest first.

    Returns:
        Its name, its rank, steps and values; None where no rank has it.
    """
    for timeline in (run.shown, *run.timelines):
        name = first_of(names, timeline.scalars)
        if name is not None:
            steps, values = counting(timeline, name)
            if len(steps):
                return name, timeline.rank, steps, np.asarray(values, np.float64)
    return None


def _restarts(run: Run) -> tuple[int, ...]:
    series = logged(run, LOSS)
    return find_restarts(*series) if series is not None else ()


def _epochs(run: Run) -> tuple[Ints, str]:
    """Steps that begin an epoch, and how they are known."""
    series = logged(run, EPOCH)
    if series is None:
        return np.zeros(0, np.int64), ""
    steps, values = series
    finite = np.isfinite(values)
    steps, whole = steps[finite], np.floor(values[finite] + 1e-6)
    return steps[1:][whole[1:] > whole[:-1]], "the logged epoch"


def _raises(run: Run) -> Ints:
    """Steps at which the learning rate is raised at once."""
    series = logged(run, LR)
    if series is None:
        return np.zeros(0, np.int64)
    steps, values = series
    sound = np.isfinite(values) & (values >= 0)
    steps, values = steps[sound], values[sound]
    rises = np.diff(values)
    before, after = (np.pad(rises, 1)[place : place + len(rises)] for place in (0, 2))
    climbs = np.maximum(before, after) >= RAMP * rises
    raised = (values[1:] / RAISED >= values[:-1]) & (values[:-1] > 0) & ~climbs
    at = steps[1:][raised]
    return at if len(at) <= RARE * len(steps) else np.zeros(0, np.int64)


def _unknown(run: Run, timeline: Timeline) -> Iterator[str]:
    """What could account for something, and is not recorded; of runs that log what it is for."""
    if logged(run, LOSS) is None and logged(run, GRAD_NORM) is None:
        return
    if logged(run, EPOCH) is None:
        yield "epochs (log `epoch`)"
    if logged(run, LR) is None:
        yield "learning rates (log `lr`)"
    if not {"eval", "checkpoint"} & {*timeline.phases, *around(timeline)}:
        yield 'evaluations and checkpoints (`phase("eval")`, `phase("checkpoint")`)'

"""Phases that account for a timeline's wall without a rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs
import numpy as np

from pytscope.analyses.around import Around
from pytscope.model.records import Segment
from pytscope.runs.run import Bools, Ints, Timeline, exact_sum


def rows_of(mask: Bools) -> Bools | slice:
    """A mask as a slice where it is one, which takes a view of a column and no copy."""
    first, count = int(np.argmax(mask)), int(np.count_nonzero(mask))
    rows = slice(first, first + count)
    return rows if mask[rows].all() else mask


def every_phase(timeline: Timeline, mask: Bools | slice) -> Iterator[tuple[str, Ints]]:
    """Phases with their nanoseconds in each of some steps, summing to the wall in each.

    What an evaluation fetches from a loader of its own counts as `eval`. Time that a
    source left without a phase is `other`, the last one; should the phases sum to
    more than the wall, `other` comes out below zero rather than hiding it.

    Args:
        timeline: A rank.
        mask: The steps wanted: one value for every step of the rank, or a slice.
    """
    rest = timeline.wall_ns[mask]
    fetched = eval_fetches_ns(timeline)[mask]
    moved = {"data": -fetched, "eval": fetched} if fetched.any() else {}
    for name in timeline.phases:
        if name != "other":
            column = timeline.phase_ns(name)[mask]
            if name in moved:
                column += moved[name]
            rest = rest - column
            yield name, column
    if rest.any():
        yield "other", rest


def eval_fetches_ns(timeline: Timeline) -> Ints:
    """Nanoseconds of `data` inside `eval`, in every step of a rank.

    A fetch of an evaluation stands between two segments of `eval`, which no fetch
    of training does. Steps so long that their segments were summed up do not show it.
    """
    fetched = np.zeros(len(timeline), np.int64)
    rows, sums = timeline.enclosed_ns("data", "eval")
    fetched[rows] = sums
    return fetched


def phase_sums_ns(timeline: Timeline, without: Ints) -> Iterator[tuple[str, int]]:
    """What `every_phase` gives for all steps but some, summed over them.

    Args:
        timeline: A rank.
        without: Rows of the steps to leave out.
    """
    rest = timeline.steps_ns - exact_sum(timeline.wall_ns[without])
    rows, sums = timeline.enclosed_ns("data", "eval")
    fetched = exact_sum(sums[~np.isin(rows, without)]) if len(rows) else 0
    moved = {"data": -fetched, "eval": fetched}
    for name in timeline.phases:
        if name != "other":
            ns = timeline.phase_sum_ns(name, without) + moved.get(name, 0)
            rest -= ns
            yield name, ns
    yield "other", rest


def with_eval_fetches(segments: Sequence[Segment]) -> list[Segment]:
    """Segments in which the fetches of an evaluation are called `eval`."""
    inside = set(_fetches(segments))
    return [("eval", ns) if i in inside else (name, ns) for i, (name, ns) in enumerate(segments)]


def around(timeline: Timeline) -> Mapping[str, Around]:
    """What of each phase lies before the first steps of a rank's attempts, and after the last."""
    found: dict[str, Around] = {}
    for attempt in timeline.attempts:
        for side, segments in (("before", attempt.startup), ("after", attempt.shutdown)):
            sums: dict[str, int] = {}
            for name, ns in with_eval_fetches(segments):
                sums[name] = sums.get(name, 0) + ns
            for name, ns in sums.items():
                if ns > 0:
                    known = found.get(name, Around())
                    more = {side: getattr(known, side) + 1}
                    more[f"{side}_ns"] = getattr(known, f"{side}_ns") + ns
                    found[name] = attrs.evolve(known, **more)
    return found


def _fetches(segments: Sequence[Segment]) -> Iterator[int]:
    """Places of `data` between two of `eval`."""
    names = [name for name, _ in segments]
    for i in range(1, len(names) - 1):
        if names[i] == "data" and names[i - 1] == names[i + 1] == "eval":
            yield i

"""Phases that account for a timeline's wall without a rest."""

from __future__ import annotations

from collections.abc import Iterator

from pytscope.runs.run import Bools, Ints, Timeline


def every_phase(timeline: Timeline, mask: Bools) -> Iterator[tuple[str, Ints]]:
    """Phases with their nanoseconds in each of some steps, summing to the wall in each.

    Time that a source left without a phase is `other`, the last one; should
    the phases sum to more than the wall, `other` comes out below zero rather
    than hiding it.

    Args:
        timeline: A rank.
        mask: The steps wanted, one value for every step of the rank.
    """
    rest = timeline.wall_ns[mask]
    for name in timeline.phases:
        if name != "other":
            column = timeline.phase_ns(name)[mask]
            rest -= column
            yield name, column
    if rest.any():
        yield "other", rest

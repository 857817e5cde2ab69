"""Which part of the work is a rank's, and which ranks do the same part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from pytscope.runs.run import Run, Timeline
from pytscope_rules_distributed.columns import TOPOLOGY

INSTRUMENTATION = "instrumentation"
DIMENSIONS = ("dp", "tp", "pp", "cp", "ep")


@attrs.frozen
class Place:
    """One rank's place in the job.

    Attributes:
        rank: The rank.
        host: Name of its host, or an empty string.
        role: What its process is for, or an empty string.
        at: Its coordinates by dimension: `dp tp pp cp ep`.
        told: Whether its topology was recorded.
        unseen: Collectives that are known of and were not stamped, as sentences.
        cpus: Processors of its host, or None when not recorded.
        accelerator: Kind of its device; empty where there is none, None when not recorded.
    """

    rank: int
    host: str = ""
    role: str = ""
    at: Mapping[str, int] = attrs.field(factory=dict)
    told: bool = False
    unseen: tuple[str, ...] = ()
    cpus: int | None = None
    accelerator: str | None = None

    @property
    def cohort(self) -> tuple[str, int | None]:
        """Role and pipeline stage: ranks that share them do the same work."""
        return self.role, self.at.get("pp")

    def peers_along(self, dimension: str) -> tuple[object, ...]:
        """What all ranks of its process group along a dimension share."""
        others = ((d, i) for d, i in sorted(self.at.items()) if d != dimension)
        return self.role, *others


@attrs.frozen
class Ranked:
    """Some ranks under a name.

    Attributes:
        name: The name: of a host, or what the ranks are.
        ranks: The ranks, ascending.
    """

    name: str
    ranks: tuple[int, ...]


def places(run: Run) -> tuple[Place, ...]:
    """The place of every rank present, in their order."""
    return tuple(map(_place, run.timelines))


def _place(timeline: Timeline) -> Place:
    said = _last_event(timeline, TOPOLOGY)
    accelerator = _last_event(timeline, INSTRUMENTATION).get("accelerator")
    at = {d: said[d] for d in DIMENSIONS if type(said.get(d)) is int}
    recorded = timeline.metadata.get("environment")
    environment: Mapping[str, Any] = recorded if isinstance(recorded, Mapping) else {}
    cpus = environment.get("cpus")
    unseen = said.get("unseen")
    return Place(
        rank=timeline.rank,
        host=_text(said.get("host")) or _text(environment.get("host")),
        role=_text(said.get("role")),
        at=at,
        told=bool(said),
        unseen=tuple(filter(_text, unseen)) if isinstance(unseen, list | tuple) else (),
        cpus=cpus if type(cpus) is int and cpus > 0 else None,
        accelerator=accelerator if isinstance(accelerator, str) else None,
    )


def _last_event(timeline: Timeline, kind: str) -> Mapping[str, Any]:
    """The last event of a kind, or an empty one."""
    events = (event for attempt in timeline.attempts for event in attempt.events)
    return next((e for e in reversed([*events]) if e.get("kind") == kind), {})


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def cohorts(of: Iterable[Place]) -> tuple[Ranked, ...]:
    """Ranks of the same stage and role, by their lowest rank."""
    found: dict[tuple[str, int | None], list[int]] = {}
    for place in of:
        found.setdefault(place.cohort, []).append(place.rank)
    return tuple(Ranked(_named(*key), tuple(sorted(ranks))) for key, ranks in found.items())


def _named(role: str, stage: int | None) -> str:
    words = [role] if role else []
    words += [f"stage {stage}"] if stage is not None else []
    return ", ".join(words)


def hosts(of: Iterable[Place]) -> tuple[Ranked, ...]:
    """Ranks of the same host, by their lowest rank; those of no known host are in none."""
    found: dict[str, list[int]] = {}
    for place in of:
        if place.host:
            found.setdefault(place.host, []).append(place.rank)
    return tuple(Ranked(name, tuple(sorted(ranks))) for name, ranks in found.items())


def crowded(of: Iterable[Place]) -> tuple[Ranked, ...]:
    """Ranks of each host that has fewer processors than ranks."""
    by_rank = {place.rank: place for place in of}
    return tuple(
        host
        for host in hosts(by_rank.values())
        if any(len(host.ranks) > (by_rank[r].cpus or len(host.ranks)) for r in host.ranks)
    )


def groups(of: Iterable[Place], dimension: str) -> tuple[Ranked, ...]:
    """Process groups along a dimension: ranks that differ in it alone."""
    found: dict[tuple[object, ...], list[int]] = {}
    for place in of:
        found.setdefault(place.peers_along(dimension), []).append(place.rank)
    ranks = sorted(tuple(sorted(members)) for members in found.values())
    return tuple(Ranked(f"{dimension} group of ranks {_span(r)}", r) for r in ranks)


def _span(ranks: tuple[int, ...]) -> str:
    if len(ranks) > 1 and ranks[-1] - ranks[0] == len(ranks) - 1:
        return f"{ranks[0]}-{ranks[-1]}"
    shown = ", ".join(map(str, ranks[:4]))
    return shown if len(ranks) <= 4 else f"{shown}, …"  # noqa: PLR2004  # enough to tell them apart

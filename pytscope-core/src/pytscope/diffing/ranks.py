"""Provenance that differs on some ranks alone, such as another version on one host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytscope.diffing.facts import at_start, environment_facts, same
from pytscope.model.comparison import ABSENT
from pytscope.model.jsonable import jsonable
from pytscope.runs.run import Run

Telling = tuple[str, int, list[Any]]
"""Name of a fact, a rank, and the fact's values there."""


def telling(runs: Sequence[Run], known: Mapping[str, Any]) -> Iterator[Telling]:
    """Facts that differ on a rank beside the lowest, and not on the lowest.

    Args:
        runs: The runs.
        known: Names that differ on the lowest rank.

    Yields:
        Each fact once, of the lowest rank on which it differs.
    """
    told: set[str] = set()
    shared = sorted(set(runs[0].ranks).intersection(*(run.ranks for run in runs))) if runs else []
    for rank in shared[1:]:
        raw = [_environment(run, rank) for run in runs]
        tops = [t for t in dict.fromkeys(key for own in raw for key in own) if _differs(raw, t)]
        if not tops:
            continue
        pairs = zip(raw, runs, strict=True)
        facts = [environment_facts(jsonable(_only(own, tops)), run) for own, run in pairs]
        for name in dict.fromkeys(key for own in facts for key in own):
            values = [own.get(name, ABSENT) for own in facts]
            new = name not in known and name not in told and not at_start(name)
            if new and ABSENT not in values and not all(same(values[0], v) for v in values[1:]):
                told.add(name)
                yield name, rank, values


def _environment(run: Run, rank: int) -> Mapping[str, Any]:
    found = run.rank(rank).metadata.get("environment")
    return found if isinstance(found, Mapping) else {}


def _differs(raw: Sequence[Mapping[str, Any]], top: str) -> bool:
    return any(own.get(top) != raw[0].get(top) for own in raw[1:])


def _only(own: Mapping[str, Any], tops: Sequence[str]) -> dict[str, Any]:
    return {top: own[top] for top in tops if top in own}

"""Hosts all of whose ranks are slow: one culprit instead of eight."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from pytscope.stats import Bools, Floats
from pytscope_rules_distributed.effects import Effects, effects
from pytscope_rules_distributed.series import against_the_others
from pytscope_rules_distributed.topology import Ranked

MOST_OF_IT = 0.75
"""Part of a host's ranks that is slow by itself from which the host is the culprit."""
HALF = 0.5
_FEWEST = 3


@attrs.frozen
class SlowNode:
    """A host whose ranks are slow together.

    Attributes:
        host: Its name.
        ranks: Its ranks.
        slowdown: Part by which they take longer than the other hosts' ranks, median.
        found: Those of its ranks that are slow by themselves.
    """

    host: str
    ranks: tuple[int, ...]
    slowdown: float
    found: tuple[int, ...]


def slow_nodes(
    hosts: Sequence[Ranked],
    ranks: Sequence[int],
    series: Floats,
    each: Effects,
    floor: float,
) -> tuple[SlowNode, ...]:
    """Hosts most of whose ranks are slow, or that are slow as a whole.

    Args:
        hosts: The hosts, with their ranks.
        ranks: Ranks of the rows of `series`.
        series: Logarithms of own times over those of the peers.
        each: The ranks' own effects.
        floor: Logarithm of the smallest ratio that counts.
    """
    several = [host for host in hosts if len(host.ranks) > 1]
    if len(hosts) < 2 or not several:  # noqa: PLR2004  # no host to compare with
        return ()
    numbers = np.array(ranks, np.int64)
    rows = [np.searchsorted(numbers, np.array(host.ranks, np.int64)) for host in several]
    together: Bools = np.zeros(len(several), np.bool_)
    if len(several) >= _FEWEST:
        middle = np.stack([np.median(series[its], axis=0) for its in rows])
        together = effects(against_the_others(middle), floor).found
    found = []
    for host, its, as_one in zip(several, rows, together.tolist(), strict=True):
        alone = each.found[its]
        high = float((each.level[its] > floor).mean())
        if float(alone.mean()) >= MOST_OF_IT or (as_one and high >= HALF):
            slowdown = float(np.expm1(np.median(each.level[its])))
            slow = tuple(r for r, a in zip(host.ranks, alone.tolist(), strict=True) if a)
            found.append(SlowNode(host.name, host.ranks, slowdown, slow))
    return tuple(found)

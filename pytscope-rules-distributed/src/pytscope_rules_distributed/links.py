"""Process groups whose transfers take longer than those of their like, or than before."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from pytscope.runs.run import Ints, exact_sum
from pytscope.stats import Bools
from pytscope_rules_distributed.effects import Effects, effects
from pytscope_rules_distributed.exchange import Exchange, GroupKind
from pytscope_rules_distributed.series import SURE, against_the_others
from pytscope_rules_distributed.topology import Ranked

_FEWEST = 3


@attrs.frozen
class SlowGroup:
    """A process group whose transfers are slow.

    Attributes:
        kind: Dimension that the group is along.
        group: The group.
        times: Multiple of what its like take, or of what it took before.
        excess_ns: What that costs, over the steps compared.
        first_step: Step from which on.
        last_step: Step until which.
        before: Whether it is compared with itself; else with groups of its kind.
        sure: Whether enough independent values say so.
        size: How many.
    """

    kind: str
    group: Ranked
    times: float
    excess_ns: int
    first_step: int
    last_step: int
    before: bool
    sure: bool
    size: float


def slow_groups(exchange: Exchange, floor: float) -> Iterator[SlowGroup]:
    """Find process groups with slow transfers.

    Of three or more of a kind, those that are slower than the others; a group by itself
    where it was slower in a stretch of at most 80 % of the steps than in most others.

    Args:
        exchange: The ranks' exchange.
        floor: Logarithm of the smallest ratio that counts.
    """
    for kind in exchange.kinds:
        transfer: Ints = kind.transfer_ns.values
        if not (transfer > 0).any():
            continue
        logs = np.log(np.maximum(transfer, 1))
        if len(kind.groups) >= _FEWEST:
            yield from _slower_than_others(exchange, kind, effects(against_the_others(logs), floor))
        elif len(kind.groups) == 1:
            usual = np.median(logs, axis=1, keepdims=True)
            each = effects(logs - usual, floor)
            if bool(each.found[0]) and not each.whole[0]:
                inside = each.where_told(0, logs.shape[1])
                reference = np.median(transfer[0, ~inside]) * np.ones(logs.shape[1])
                yield _made(exchange, kind, 0, each, inside, reference.astype(np.int64), True)


def _slower_than_others(exchange: Exchange, kind: GroupKind, each: Effects) -> Iterator[SlowGroup]:
    transfer: Ints = kind.transfer_ns.values
    slow = np.flatnonzero(each.found)
    rest = np.setdiff1d(np.arange(len(transfer)), slow)
    if not len(rest):
        return
    usual = np.median(transfer[rest], axis=0).astype(np.int64)
    for place in slow.tolist():
        inside = each.where_told(place, transfer.shape[1])
        yield _made(exchange, kind, place, each, inside, usual, False)


def _made(
    exchange: Exchange,
    kind: GroupKind,
    place: int,
    each: Effects,
    inside: Bools,
    usual: Ints,
    before: bool,
) -> SlowGroup:
    steps = exchange.step.values[inside]
    excess = np.maximum(kind.transfer_ns.values[place] - usual, 0)[inside]
    return SlowGroup(
        kind.name,
        kind.groups[place],
        float(np.exp(min(each.level[place], 50.0))),
        exact_sum(excess),
        int(steps[0]),
        int(steps[-1]),
        before,
        bool(each.size[place] >= SURE),
        float(each.size[place]),
    )

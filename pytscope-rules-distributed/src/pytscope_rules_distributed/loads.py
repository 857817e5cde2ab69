"""What of a difference between ranks is owed to the work they were given."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from pytscope.runs.run import Ints
from pytscope.stats import Floats
from pytscope_rules_distributed.attribution import held_up_ns
from pytscope_rules_distributed.effects import differences

EQUAL = 1e-3
"""Standard deviation of the logarithm of loads that counts as none."""
VARIED = 0.02
"""The same within a rank, from which its own steps tell what load costs."""
MOST_POWER = 2.0
"""Time grows with the square of the load at most: attention over one long sequence."""


@attrs.frozen(eq=False)
class Loads:
    """How load and time go together.

    Attributes:
        power: Power of the load that time grows with; 0 when the loads are equal.
        given: Logarithm of each rank's load over that of its peers, a column a step.
        explained: Part of the time waited for the slowest that goes with the load.
        assumed: Whether the power is an assumption, since no rank's load varies.
    """

    power: float
    given: Floats
    explained: float
    assumed: bool = False


def loads(own: Ints, load: Floats, members: Sequence[Ints], series: Floats) -> Loads:
    """Relate own times to loads.

    Within ranks whose load varies from step to step, by least squares; where each rank
    always has the same load, time is taken as proportional to it.

    Args:
        own: Own times, nanoseconds, a row a rank.
        load: Tokens or samples, of the same shape.
        members: Rows of every cohort.
        series: `differences` of the own times.
    """
    given = differences(load, members)
    known = np.isfinite(given).all(axis=1)
    if not known.any() or float(given[known].std()) < EQUAL:
        return Loads(0.0, np.nan_to_num(given), 0.0)
    power, assumed = _power(given[known], series[known])
    before = after = 0
    for rows in members:
        if len(rows) > 1:
            before += int(held_up_ns(own[rows]).sum())
            usual = np.exp(-power * np.nan_to_num(given[rows]))
            after += int(held_up_ns(np.rint(own[rows] * usual).astype(np.int64)).sum())
    explained = 1.0 - after / before if before else 0.0
    return Loads(power, np.nan_to_num(given), explained, assumed)


def _power(given: Floats, series: Floats) -> tuple[float, bool]:
    """The power, and whether it is assumed."""
    loads = given - given.mean(axis=1, keepdims=True)
    times = series - series.mean(axis=1, keepdims=True)
    energy = float((loads**2).sum())
    if energy / loads.size < VARIED**2:
        return 1.0, True
    return float(np.clip((loads * times).sum() / energy, 0.0, MOST_POWER)), False

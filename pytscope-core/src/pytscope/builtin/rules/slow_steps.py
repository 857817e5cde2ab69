"""The steps that stand out as slow, and the phase that makes them so."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import numpy as np

from pytscope.analyses import Timing
from pytscope.runs.run import Bools, Ints
from pytscope.stats import Outliers, high_outliers

COMPUTE = frozenset({"forward", "loss", "backward", "optimizer", "compute", "no_grad"})
"""Phases that grow together when a batch is larger or the device slower."""
MIN_RATIO = 1.5
"""Default of how many times the surrounding median a slow step takes."""
_MOST_OF = 0.8
_NEW_TO_THEM = 0.2


@attrs.frozen(eq=False)
class SlowSteps:
    """Steps whose training time stands out from their neighbourhood.

    Attributes:
        outliers: What was compared with what.
        excess: Nanoseconds above the surrounding median, a value a slow step.
        carrier: Phase that holds most of the excess; `compute` when the
            phases of compute do only together, empty when nothing does.
        carried: The carrier's part of the excess, 0 to 1.
        beside: `eval`, `checkpoint`, `log` or `compile`, when the slow steps
            are the ones that hold it too; else empty.
        second: Phase that holds the most of the rest, where the carrier leaves a fifth
            of the excess and more; else empty.
        second_carried: Its part of the excess, 0 to 1.
    """

    outliers: Outliers
    excess: Ints
    carrier: str
    carried: float
    beside: str
    second: str = ""
    second_carried: float = 0.0

    @property
    def mask(self) -> Bools:
        """Which of the rated steps they are."""
        return self.outliers.mask

    @property
    def cost_ns(self) -> int:
        """The whole excess."""
        return int(self.excess.sum())

    @property
    def cost_without_largest_ns(self) -> int:
        """The excess without the step that has most of it."""
        return self.cost_ns - int(self.excess.max(initial=0))


def slow_steps(timing: Timing, min_ratio: float = MIN_RATIO) -> SlowSteps:
    """Find a run's slow steps.

    Args:
        timing: Its timing.
        min_ratio: Least training time of a slow step, in surrounding medians.
    """
    training = timing.training.values
    outliers = high_outliers(training, ratio=min_ratio)
    mask = outliers.mask
    excess = np.rint(training[mask] - outliers.level[mask]).astype(np.int64)
    if not mask.any():
        return SlowSteps(outliers, excess, "", 0.0, "")
    parts = {name: ns for name, ns in timing.excess_ns(mask).items() if ns > 0}
    carrier, carried = _carrier(parts)
    second, second_carried = _second(parts, carrier)
    if carried >= _MOST_OF:
        second, second_carried = "", 0.0
    return SlowSteps(
        outliers, excess, carrier, carried, beside(timing, mask), second, second_carried
    )


def _second(excess: Mapping[str, int], carrier: str) -> tuple[str, float]:
    """The phase with the most of what the carrier leaves, and its part of the excess."""
    own = COMPUTE if carrier == "compute" else {carrier}
    rest = {name: ns for name, ns in excess.items() if name not in own}
    if not rest:
        return "", 0.0
    name, ns = next(iter(rest.items()))
    return name, ns / sum(excess.values())


def _carrier(excess: Mapping[str, int]) -> tuple[str, float]:
    total = sum(excess.values())
    if not total:
        return "", 0.0
    name, most = next(iter(excess.items()))
    together = sum(ns for phase, ns in excess.items() if phase in COMPUTE)
    if most >= _MOST_OF * total or most > together:
        return name, most / total
    return "compute", together / total


def beside(timing: Timing, mask: Bools) -> str:
    """Find the interruption that some steps hold and hardly any other step does.

    Args:
        timing: The run's timing.
        mask: The steps, one value for every rated step.

    Returns:
        `compile`, `eval`, `checkpoint` or `log`, or an empty string.
    """
    for name in ("compile", "eval", "checkpoint", "log"):
        has = timing.phase(name).each.values > 0
        if not mask.all() and has[mask].mean() >= _MOST_OF and has[~mask].mean() <= _NEW_TO_THEM:
            return name
    return ""

"""`Stages`: pipeline stages beside each other, which do different work."""

from __future__ import annotations

import attrs
import numpy as np

from pytscope.model.errors import Inconclusive, NotApplicable
from pytscope.plugins.declare import analyzer
from pytscope.runs.run import Ints, exact_sum
from pytscope.stats import Floats
from pytscope_rules_distributed.effects import Effects, effects
from pytscope_rules_distributed.ranks import Ranks
from pytscope_rules_distributed.series import ALPHA, FEW, against_the_others

MIN_RATIO = 0.10
"""Part by which a stage takes longer that a split by whole layers cannot avoid."""


@attrs.frozen
class Stage:
    """One pipeline stage.

    Attributes:
        name: Its name, with its role where there is one.
        ranks: Its ranks.
        own_ns: Own time a step: median of its ranks, median of the steps.
        longer: Part by which it takes longer than the other stages, median of those.
        size: Independent values behind that.
        slow: Whether it takes longer by more than a split by layers explains.
    """

    name: str
    ranks: tuple[int, ...]
    own_ns: int
    longer: float
    size: float
    slow: bool


@attrs.frozen(eq=False)
class Stages:
    """The stages of a pipeline.

    Attributes:
        stages: The stages, by their lowest rank.
        uneven_ns: What the slowest stage of each step takes longer than the mean of all
            stages, summed over steps: what an even split would save.
        wall_ns: Time the steps took.
    """

    stages: tuple[Stage, ...]
    uneven_ns: int
    wall_ns: int

    @property
    def slow(self) -> tuple[Stage, ...]:
        """Stages that take longer than the others."""
        return tuple(stage for stage in self.stages if stage.slow)


@analyzer("stages")
def stages(ranks: Ranks) -> Stages:
    """Compare the median ranks of the pipeline stages.

    Raises:
        NotApplicable: There are no stages, or several roles.
        Inconclusive: There are too few steps.
    """
    roles = {place.role for place in ranks.places}
    staged = all("pp" in place.at for place in ranks.places)
    if not staged or len(ranks.cohorts) < 2 or len(roles) > 1:  # noqa: PLR2004  # nothing to compare
        why = "no pipeline stages of one role were recorded"
        raise NotApplicable(why)
    if ranks.steady_steps < FEW:
        need = f"{FEW} steps that all ranks have are needed, there are {ranks.steady_steps}"
        raise Inconclusive(need)
    own: Ints = ranks.own[:, ranks.steady_mask]
    usual = np.stack([np.median(own[ranks.index(c.ranks)], axis=0) for c in ranks.cohorts])
    each = effects(_series(usual), float(np.log1p(MIN_RATIO)))
    made = tuple(
        Stage(
            cohort.name,
            cohort.ranks,
            int(np.median(usual[i])),
            float(np.expm1(each.level[i])),
            float(each.size[i]),
            _slow(each, i),
        )
        for i, cohort in enumerate(ranks.cohorts)
    )
    uneven = np.maximum(usual.max(axis=0) - usual.mean(axis=0), 0).astype(np.int64)
    return Stages(made, exact_sum(uneven), exact_sum(ranks.longest_ns.values[ranks.steady_mask]))


def _series(usual: Floats) -> Floats:
    return against_the_others(np.log(np.maximum(usual, 1.0)))


def _slow(each: Effects, place: int) -> bool:
    return bool(each.whole[place]) and float(each.chance[place]) < ALPHA

"""`Growth`: how the lower envelope of a size moved over a run."""

from __future__ import annotations

import attrs

BLOCKS = 6
"""Parts of a run whose smallest values make the lower envelope."""
FEWEST = 4 * BLOCKS
"""Samples without which there is no envelope."""
LEAST_BYTES = 16 << 20
"""Growth over the run below which it is none."""
LEAST_SHARE = 0.01
"""The same as a part of what was held at first."""
CONCORDANCE = 13
"""Least Kendall S of the six minima, of 15."""
LATE = 0.3
"""Least slope of the second half over that of the whole."""
EVENNESS = 7.0
"""Least mean of the five increments, in its standard errors."""


@attrs.frozen(kw_only=True)
class Growth:
    """The smallest value in each sixth of a run, and the trend of those six.

    Attributes:
        minima: The six values, bytes.
        first_step: First step looked at.
        last_step: Last one.
        samples: Number of values looked at.
        concordance: Kendall's S: pairs that rise less pairs that fall, -15 to 15.
        per_step: Theil-Sen slope, bytes a step.
        low: Lower end of its interval (98 %, from the order of the pairwise slopes).
        high: Upper end.
        late: Median slope of the last three over `per_step`; 0 without a slope.
        evenness: Mean of the five increments over its standard error, at most
            a million.
        beside: `eval` or `checkpoint` when at least 80 % of the growth is in
            steps that hold it, which at most half of the steps do; else empty.
    """

    minima: tuple[int, ...]
    first_step: int
    last_step: int
    samples: int
    concordance: int
    per_step: float
    low: float
    high: float
    late: float
    evenness: float
    beside: str = ""

    @property
    def total_bytes(self) -> float:
        """What the slope makes of the steps looked at."""
        return self.per_step * (self.last_step - self.first_step)

    @property
    def lasting(self) -> bool:
        """Whether it is growth that goes on, by the defaults of `MEMORY.GROWTH`."""
        return self.rises() and self.evenness >= EVENNESS

    def rises(
        self,
        least_bytes: float = LEAST_BYTES,
        least_share: float = LEAST_SHARE,
        concordance: int = CONCORDANCE,
        late: float = LATE,
    ) -> bool:
        """Whether the envelope rises, by enough, up to the end; chance not yet excluded."""
        least = max(least_bytes, least_share * self.minima[0])
        return self.concordance >= concordance and self.total_bytes >= least and self.late >= late

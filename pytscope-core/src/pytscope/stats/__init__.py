"""Statistics, numpy only: of series of steps, and the distributions that they are held against."""

from __future__ import annotations

from pytscope.stats.series import (
    MAD_TO_SD,
    MIN_PERIOD_GAPS,
    Z95,
    Bools,
    Floats,
    Ints,
    Outliers,
    autocovariance,
    effective_size,
    high_outliers,
    holm,
    last_tenth,
    mad_scale,
    period,
    quantile_interval,
    ranges,
    robust_spread,
    running_median,
)
from pytscope.stats.student import critical, critical_values, two_sided, upper_tail

__all__ = [
    "MAD_TO_SD",
    "MIN_PERIOD_GAPS",
    "Z95",
    "Bools",
    "Floats",
    "Ints",
    "Outliers",
    "autocovariance",
    "critical",
    "critical_values",
    "effective_size",
    "high_outliers",
    "holm",
    "last_tenth",
    "mad_scale",
    "period",
    "quantile_interval",
    "ranges",
    "robust_spread",
    "running_median",
    "two_sided",
    "upper_tail",
]

"""Student's t distribution, for any positive number of degrees of freedom."""

from __future__ import annotations

import functools
import math

_TINY = 1e-300
_TERMS = 500
_CLOSE = 1e-14
_HALVINGS = 200


def two_sided(t: float, freedom: float) -> float:
    """Probability that a t variable is as far from zero as a value, or farther.

    Args:
        t: The value; infinity has probability 0.
        freedom: Degrees of freedom, above zero.
    """
    if math.isinf(t):
        return 0.0
    return _incomplete_beta(freedom / 2.0, freedom / (freedom + t * t))


@functools.lru_cache(1024)
def critical(freedom: float, tail: float = 0.025) -> float:
    """The value that a t variable exceeds with a small probability.

    Args:
        freedom: Degrees of freedom, above zero.
        tail: The probability, below one half.
    """
    low, high = 0.0, 2.0
    while two_sided(high, freedom) > 2.0 * tail:
        low, high = high, 2.0 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        low, high = (middle, high) if two_sided(middle, freedom) > 2.0 * tail else (low, middle)
    return high


def _incomplete_beta(a: float, x: float) -> float:
    """The regularised incomplete beta function of (a, 1/2) at x."""
    b = 0.5
    if x <= 0.0 or x >= 1.0:
        return min(max(x, 0.0), 1.0)
    turned = x >= (a + 1.0) / (a + b + 2.0)
    first, second, at = (b, a, 1.0 - x) if turned else (a, b, x)
    ends = a * math.log(x) + b * math.log1p(-x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + ends)
    part = front * _fraction(first, second, at) / first
    return 1.0 - part if turned else part


def _fraction(a: float, b: float, x: float) -> float:
    """Lentz's evaluation of the continued fraction of the incomplete beta function."""
    c, d = 1.0, 1.0 / _off_zero(1.0 - (a + b) * x / (a + 1.0))
    total = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = 1.0
        for term in (even, odd):
            d = 1.0 / _off_zero(1.0 + term * d)
            c = _off_zero(1.0 + term / c)
            change = c * d
            total *= change
        if abs(change - 1.0) < _CLOSE:
            break
    return total


def _off_zero(value: float) -> float:
    return value if abs(value) >= _TINY else _TINY

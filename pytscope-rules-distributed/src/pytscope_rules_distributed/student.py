"""Student's t distribution for arrays of degrees of freedom that are no whole numbers."""

from __future__ import annotations

import functools
import math

import numpy as np

from pytscope.stats import Floats

_TINY = 1e-300
_TERMS = 300
_CLOSE = 1e-13
_LARGEST = 1e9


def upper_tail(t: Floats, freedom: Floats) -> Floats:
    """Probability that a t variable exceeds a value.

    Args:
        t: Values, of any sign.
        freedom: Degrees of freedom, above zero, of the same shape.
    """
    value, df = np.broadcast_arrays(np.asarray(t, np.float64), np.asarray(freedom, np.float64))
    x = df / (df + value**2)
    half = 0.5 * _incomplete_beta(df / 2.0, x)
    return np.where(value > 0, half, 1.0 - half)


def critical(freedom: Floats, tail: float = 0.025) -> Floats:
    """The value that a t variable exceeds with a small probability.

    Args:
        freedom: Degrees of freedom, at least 1.
        tail: The probability.

    Returns:
        Interpolated between 200 exact values: right to four digits.
    """
    inverse, values = _table(tail)
    return np.interp(1.0 / np.clip(freedom, 1.0, _LARGEST), inverse, values)


@functools.cache
def _table(tail: float) -> tuple[Floats, Floats]:
    inverse = np.linspace(1.0 / _LARGEST, 1.0, 200)
    df = 1.0 / inverse
    low, high = np.zeros(len(df)), np.full(len(df), 1.0 / tail)
    for _ in range(60):
        middle = (low + high) / 2
        above = upper_tail(middle, df) > tail
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return inverse, (low + high) / 2


def _incomplete_beta(a: Floats, x: Floats) -> Floats:
    """The regularised incomplete beta function of (a, 1/2) at x."""
    b = 0.5
    turned = x >= (a + 1.0) / (a + b + 2.0)
    first = np.where(turned, b, a)
    second = np.where(turned, a, b)
    at = np.clip(np.where(turned, 1.0 - x, x), _TINY, 1.0)
    ends = a * np.log(np.clip(x, _TINY, 1.0)) + b * np.log(np.clip(1.0 - x, _TINY, 1.0))
    front = np.exp(_log_gamma(a + b) - _log_gamma(a) - math.lgamma(b) + ends)
    part = front * _fraction(first, second, at) / first
    return np.where(turned, 1.0 - part, part)


def _fraction(a: Floats, b: Floats, x: Floats) -> Floats:
    """Lentz's evaluation of the continued fraction of the incomplete beta function."""
    c = np.ones_like(x)
    d = 1.0 / _off_zero(1.0 - (a + b) * x / (a + 1.0))
    total = d.copy()
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = total
        for term in (even, odd):
            d = 1.0 / _off_zero(1.0 + term * d)
            c = _off_zero(1.0 + term / c)
            change = c * d
            total = total * change
        if (np.abs(change - 1.0) < _CLOSE).all():
            break
    return total


def _off_zero(values: Floats) -> Floats:
    return np.where(np.abs(values) < _TINY, _TINY, values)


def _log_gamma(values: Floats) -> Floats:
    unique, inverse = np.unique(values, return_inverse=True)
    logs = np.array([math.lgamma(value) for value in unique.tolist()])
    return logs[inverse].reshape(values.shape)

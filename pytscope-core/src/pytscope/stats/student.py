"""Student's t distribution, for any positive number of degrees of freedom, one or many at once."""

from __future__ import annotations

import functools
import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from pytscope.stats.series import Floats

_TINY = 1e-300
_TERMS = 500
_CLOSE = 1e-14
_STEPS = 100
_SETTLED = 1e-9
_LARGEST_STEP = 3.0
_KNOTS = 200
_LARGEST = 1e9


def upper_tail(t: npt.ArrayLike, freedom: npt.ArrayLike) -> Floats:
    """Probability that a t variable exceeds a value.

    Args:
        t: Values, of any sign; infinity has probability 0.
        freedom: Degrees of freedom, above zero, of a shape that goes with it.
    """
    value, df = np.broadcast_arrays(np.asarray(t, np.float64), np.asarray(freedom, np.float64))
    half = 0.5 * _incomplete_beta(df / 2.0, df / (df + value**2))
    return np.where(value > 0, half, 1.0 - half)


def two_sided(t: float, freedom: float) -> float:
    """Probability that a t variable is as far from zero as a value, or farther; as above."""
    return 2.0 * float(upper_tail(abs(t), freedom))


@functools.lru_cache(1024)
def critical(freedom: float, tail: float = 0.025) -> float:
    """The value that a t variable exceeds with a small probability.

    Args:
        freedom: Degrees of freedom, above zero.
        tail: The probability, below one half.
    """
    return float(_inverse(np.array([freedom], np.float64), tail)[0])


def critical_values(freedom: Floats, tail: float = 0.025) -> Floats:
    """The same of many degrees of freedom, each at least 1.

    Returns:
        Interpolated between 200 exact values: right to four digits.
    """
    inverse, values = _table(tail)
    return np.interp(1.0 / np.clip(freedom, 1.0, _LARGEST), inverse, values)


@functools.cache
def _table(tail: float) -> tuple[Floats, Floats]:
    inverse = np.linspace(1.0 / _LARGEST, 1.0, _KNOTS)
    return inverse, _inverse(1.0 / inverse, tail)


def _inverse(freedom: Floats, tail: float) -> Floats:
    """Newton's steps on the logarithms of value and probability, between which all is smooth."""
    normal = NormalDist().inv_cdf(1.0 - tail)
    at = np.log(normal + (normal**3 + normal) / (4.0 * freedom))
    beta = _log_gamma(freedom / 2.0) + math.lgamma(0.5) - _log_gamma((freedom + 1.0) / 2.0)
    scale = -beta - 0.5 * np.log(freedom)
    for _ in range(_STEPS):
        t = np.exp(at)
        above = np.maximum(upper_tail(t, freedom), _TINY)
        density = np.exp(scale - (freedom + 1.0) / 2.0 * np.log1p(t**2 / freedom))
        slope = np.maximum(t * density / above, _TINY)
        step = np.clip(np.log(above / tail) / slope, -_LARGEST_STEP, _LARGEST_STEP)
        at += step
        if (np.abs(step) < _SETTLED).all():  # the next would be of its square's size
            break
    return np.exp(at)


def _incomplete_beta(a: Floats, x: Floats) -> Floats:
    """The regularised incomplete beta function of (a, 1/2) at x."""
    b = 0.5
    turned = x >= (a + 1.0) / (a + b + 2.0)
    first, second = np.where(turned, b, a), np.where(turned, a, b)
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

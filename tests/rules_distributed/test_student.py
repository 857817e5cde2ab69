from __future__ import annotations

import numpy as np
import pytest

from pytscope_rules_distributed.student import critical, upper_tail


@pytest.mark.parametrize(
    ("t", "freedom", "tail"),
    [
        (12.7062, 1.0, 0.025),
        (4.302653, 2.0, 0.025),
        (2.228139, 10.0, 0.025),
        (3.169273, 10.0, 0.005),
        (1.959964, 1e8, 0.025),
        (0.0, 3.5, 0.5),
        (-2.228139, 10.0, 0.975),
    ],
)
def test_tails_are_those_of_the_tables(t, freedom, tail):
    assert upper_tail(np.array([t]), np.array([freedom]))[0] == pytest.approx(tail, rel=1e-5)


@pytest.mark.parametrize("freedom", [1.3, 2.5, 7.7])
def test_degrees_between_whole_ones_are_the_integral_of_the_density(freedom):
    import math

    log = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    scale = math.exp(log) / math.sqrt(freedom * math.pi)
    x = np.linspace(0.0, 4.0, 200_001)
    density = scale * (1 + x**2 / freedom) ** (-(freedom + 1) / 2)
    inside = (density.sum() - (density[0] + density[-1]) / 2) * (x[1] - x[0])
    tail = upper_tail(np.array([4.0]), np.array([freedom]))[0]
    assert tail == pytest.approx(0.5 - inside, abs=1e-9)


def test_far_tails_stay_numbers_above_zero():
    tails = upper_tail(np.array([1e3, 1e9, -1e9]), np.array([5.0, 30.0, 30.0]))
    assert 0 < tails[0] < 1e-10
    assert 0 <= tails[1] < 1e-100
    assert tails[2] == 1.0


def test_critical_values_turn_the_tail_around():
    freedom = np.array([1.0, 1.7, 3.0, 12.5, 400.0])
    assert upper_tail(critical(freedom), freedom) == pytest.approx([0.025] * 5, rel=1e-3)

"""Student's t, against printed tables, the integral of its density and itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pytscope.stats import critical, critical_values, two_sided, upper_tail


@pytest.mark.parametrize(
    ("freedom", "tail", "value"),
    [
        (1, 0.025, 12.7062),
        (2, 0.025, 4.3027),
        (4, 0.025, 2.7764),
        (8, 0.2, 0.8889),
        (10, 0.005, 3.1693),
        (30, 0.025, 2.0423),
        (1e6, 0.025, 1.95997),
    ],
)
def test_critical_values_are_those_of_tables(freedom, tail, value):
    assert critical(freedom, tail) == pytest.approx(value, abs=6e-5)
    assert critical_values(np.array([freedom]), tail)[0] == pytest.approx(value, rel=5e-4)
    assert upper_tail(value, freedom) == pytest.approx(tail, rel=2e-4)


@pytest.mark.parametrize("freedom", [1.0, 1.7, 4.0, 33.3, 5000.0])
@pytest.mark.parametrize("tail", [0.49, 0.2, 0.025, 1e-6, 1e-12])
def test_the_tail_of_a_critical_value_is_what_was_asked_for(freedom, tail):
    assert two_sided(critical(freedom, tail), freedom) == pytest.approx(2 * tail, rel=1e-6)


def test_one_degree_of_freedom_is_the_cauchy_distribution():
    for t in (0.1, 1.0, 7.0, 1e5):
        assert two_sided(t, 1.0) == pytest.approx(1 - 2 * math.atan(t) / math.pi, rel=1e-6)


@pytest.mark.parametrize("freedom", [1.3, 2.5, 7.7])
def test_degrees_between_whole_ones_are_the_integral_of_the_density(freedom):
    log = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    scale = math.exp(log) / math.sqrt(freedom * math.pi)
    x = np.linspace(0.0, 4.0, 200_001)
    density = scale * (1 + x**2 / freedom) ** (-(freedom + 1) / 2)
    inside = (density.sum() - (density[0] + density[-1]) / 2) * (x[1] - x[0])
    tail = upper_tail(np.array([4.0]), np.array([freedom]))[0]
    assert tail == pytest.approx(0.5 - inside, abs=1e-9)


def test_the_ends():
    assert two_sided(0.0, 3.0) == 1.0
    assert two_sided(math.inf, 3.0) == 0.0
    assert two_sided(-2.0, 3.0) == two_sided(2.0, 3.0)
    assert upper_tail([0.0, -2.0], 3.0) == pytest.approx([0.5, 1.0 - upper_tail(2.0, 3.0)])


def test_far_tails_stay_numbers_above_zero():
    tails = upper_tail(np.array([1e3, 1e9, -1e9]), np.array([5.0, 30.0, 30.0]))
    assert 0 < tails[0] < 1e-10
    assert 0 <= tails[1] < 1e-100
    assert tails[2] == 1.0


def test_many_critical_values_turn_the_tail_around():
    freedom = np.array([1.0, 1.7, 3.0, 12.5, 400.0])
    assert upper_tail(critical_values(freedom), freedom) == pytest.approx([0.025] * 5, rel=1e-3)

"""Student's t, against the values of printed tables."""

from __future__ import annotations

import math

import pytest

from pytscope.diffing.student import critical, two_sided


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


@pytest.mark.parametrize("freedom", [1.0, 1.7, 4.0, 33.3, 5000.0])
@pytest.mark.parametrize("tail", [0.2, 0.025, 1e-6])
def test_the_tail_of_a_critical_value_is_what_was_asked_for(freedom, tail):
    assert two_sided(critical(freedom, tail), freedom) == pytest.approx(2 * tail, rel=1e-6)


def test_one_degree_of_freedom_is_the_cauchy_distribution():
    for t in (0.1, 1.0, 7.0, 1e5):
        assert two_sided(t, 1.0) == pytest.approx(1 - 2 * math.atan(t) / math.pi, rel=1e-6)


def test_the_ends():
    assert two_sided(0.0, 3.0) == 1.0
    assert two_sided(math.inf, 3.0) == 0.0
    assert two_sided(-2.0, 3.0) == two_sided(2.0, 3.0)

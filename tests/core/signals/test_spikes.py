"""What stands out in a series, and what does not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytscope.signals.spikes import FEWEST, LONGEST, find_spikes, judged_places

STEPS = np.arange(200)


def noisy(n: int = 200, sd: float = 0.03, seed: int = 0) -> np.ndarray:
    return np.exp(np.random.default_rng(seed).normal(0.0, sd, n)) * (
        1 + 1 / (1 + 0.05 * np.arange(n))
    )


def test_a_spike_is_told_with_its_steps_height_and_recovery():
    values = noisy()
    values[70:73] = [3.0, 3.6, 2.9]
    (spike,) = find_spikes(STEPS, values)
    assert (spike.start, spike.peak, spike.end, spike.points) == (70, 71, 72, 3)
    assert spike.value == 3.6
    assert spike.ratio == pytest.approx(spike.value / spike.level)
    assert spike.level == pytest.approx(np.median(values[45:70]), rel=0.05)
    assert spike.z > 20
    assert (spike.recovered, spike.severe, spike.shift) == (True, True, False)


def test_steps_are_the_ones_given():
    values = noisy()
    values[70] = 3.0
    (spike,) = find_spikes(STEPS * 10 + 5, values)
    assert (spike.start, spike.end) == (705, 705)


@pytest.mark.parametrize("sd", [0.0, 0.03, 0.3])
def test_plain_noise_and_a_falling_loss_have_none(sd):
    assert find_spikes(STEPS, noisy(sd=sd)) == ()
    assert find_spikes(STEPS, noisy(sd=sd) * np.exp(-0.02 * STEPS)) == ()


def test_a_rise_of_a_tenth_is_noise_sized_however_quiet_the_series():
    values = np.ones(200)
    values[100:103] = 1.1
    assert find_spikes(STEPS, values) == ()


def test_a_single_odd_point_is_not_severe_unless_it_is_tall():
    small, tall = noisy(), noisy()
    small[100], tall[100] = 2.0 * small[99], 5.0 * tall[99]
    assert [s.severe for s in find_spikes(STEPS, small)] == [False]
    assert [s.severe for s in find_spikes(STEPS, tall)] == [True]


def test_a_falling_series_is_no_noisier_than_a_level_one():
    """A loss that doubles while it falls from 3 to 2."""
    seen = 0
    for seed in range(20):
        values = np.random.default_rng(seed).lognormal(0.0, 0.05, 100)
        values *= 1 + 2 / (1 + 0.05 * np.arange(100))
        values[45:48] *= 2
        seen += [s.start for s in find_spikes(np.arange(100), values)] == [45]
    assert seen >= 18


def test_the_first_points_are_never_judged():
    values = np.ones(200)
    values[FEWEST - 1] = 50.0
    assert find_spikes(STEPS, values) == ()
    values[FEWEST] = 50.0
    assert [s.start for s in find_spikes(STEPS, values)] == [FEWEST]


def test_what_stays_is_a_new_level():
    values = noisy(400)
    values[100:] *= 2.5
    (spike,) = find_spikes(np.arange(400), values)
    assert (spike.start, spike.points, spike.shift, spike.recovered) == (100, LONGEST, True, False)


def test_after_a_new_level_spikes_are_above_that():
    values = noisy(400)
    values[100:] *= 2.5
    values[300] *= 3.0
    first, second = find_spikes(np.arange(400), values)
    assert first.shift
    assert second.start == 300
    assert second.ratio == pytest.approx(3.0, rel=0.1)


def test_recovery_is_unknown_where_the_series_ends_at_once():
    values = noisy()
    values[-2:] = 5.0
    assert [s.recovered for s in find_spikes(STEPS, values)] == [None]
    values[-20:] = 5.0
    assert [s.recovered for s in find_spikes(STEPS, values)] == [False]


def test_what_ends_in_nan_has_not_recovered():
    values = noisy()
    values[100:103] = [5.0, 50.0, math.inf]
    values[103:] = math.nan
    (spike,) = find_spikes(STEPS, values)
    assert (spike.start, spike.end, spike.recovered) == (100, 102, False)
    assert math.isinf(spike.value)
    assert spike.ratio == math.inf


def test_nan_and_missing_values_between_are_left_out():
    values = noisy()
    values[50:60] = math.nan
    values[100] = 5.0
    assert [s.start for s in find_spikes(STEPS, values)] == [100]


def test_neighbouring_spikes_are_one():
    values = noisy()
    values[100], values[103] = 5.0, 6.0
    (spike,) = find_spikes(STEPS, values)
    assert (spike.start, spike.peak, spike.end, spike.points) == (100, 103, 103, 4)


def test_a_tall_spike_on_a_small_one_begins_where_it_is_tall():
    """As where a machine is busy for a while, and then a step takes ten times as long."""
    values = noisy()
    values[90:103] *= 1.5
    values[100:103] *= 10.0
    small, tall = find_spikes(STEPS, values)
    assert (small.start, small.end) == (90, 99)
    assert (tall.start, tall.end, tall.recovered) == (100, 102, True)
    assert tall.ratio == pytest.approx(15.0, rel=0.15)


def test_what_climbs_is_one_spike():
    values = noisy()
    values[100:106] = [2.0, 4.0, 9.0, 20.0, 60.0, 200.0]
    (spike,) = find_spikes(STEPS, values)
    assert (spike.start, spike.peak, spike.end) == (100, 105, 105)


def test_a_loss_below_zero_is_judged_without_a_logarithm():
    values = np.random.default_rng(0).normal(-3.0, 0.05, 200)
    values[100] = 4.0
    (spike,) = find_spikes(STEPS, values)
    assert (spike.start, spike.ratio) == (100, None)
    assert spike.level == pytest.approx(-3.0, abs=0.1)


def test_a_loss_that_is_mostly_zero_has_no_spike_in_being_something():
    """As the losses of policy gradients are, which are zero where the advantage is."""
    rng = np.random.default_rng(0)
    values = np.where(rng.random(1000) < 0.78, 0.0, rng.lognormal(-6.0, 1.0, 1000))
    assert find_spikes(np.arange(1000), values) == ()
    assert find_spikes(np.arange(1000), np.where(rng.random(1000) < 0.5, values, -values)) == ()


def test_single_zeros_do_not_take_the_logarithm_away():
    values = noisy()
    values[[40, 90]] = 0.0
    values[100] = 3.0
    (spike,) = find_spikes(STEPS, values)
    assert spike.ratio is not None
    assert spike.start == 100


@pytest.mark.parametrize("values", [[], [1.0], [math.nan] * 50, [math.inf] * 50, [0.0] * 50])
def test_nothing_to_judge_is_no_spike(values):
    assert find_spikes(np.arange(len(values)), values) == ()


def one_by_one(values: np.ndarray) -> list[tuple[int, int]]:
    """The rule as a plain loop over single points, without joining neighbours."""
    y = np.log(values)
    floor = max(0.7 * 1.4826 * np.median(np.abs(np.diff(y) - np.median(np.diff(y)))) / 2**0.5, 0.01)
    reference: list[float] = []
    found: list[tuple[int, int]] = []
    inside = None
    for i, v in enumerate(y):
        if len(reference) < FEWEST:
            reference.append(v)
            continue
        r = np.array(reference[-50:])
        half = len(r) // 2
        level = np.median(r[half:])
        before = np.median(r[:half])
        steps = np.abs(np.concatenate([r[:half] - before, r[half:] - level]))
        slope = (level - before) / (len(r) / 2)
        line = np.abs(r - before - slope * (np.arange(len(r)) - (half - 1) / 2))
        noise = max(1.4826 * min(np.median(steps), np.median(line)), floor)
        if inside is not None and (v - level) / noise > 4:
            inside = (inside[0], i)
        elif inside is not None:
            found.append(inside)
            inside = None
            reference.append(v)
        elif (v - level) / noise > 8 and v - level >= math.log(1.2):
            inside = (i, i)
        else:
            reference.append(v)
    return [*found, inside] if inside else found


@given(st.integers(0, 10_000), st.integers(40, 600), st.sampled_from([0.02, 0.1, 0.3]))
@settings(max_examples=40, deadline=None)
def test_stretches_give_what_single_points_give(seed, n, sd):
    rng = np.random.default_rng(seed)
    values = np.exp(sd * rng.standard_t(3, n))
    for start in rng.integers(0, n, 3):
        values[start : start + rng.integers(1, 12)] *= rng.uniform(1.5, 30)
    plain = {i for first, last in one_by_one(values) for i in range(first, last + 1)}
    found = find_spikes(np.arange(n), values)
    covered = {i for spike in found for i in range(spike.start, spike.end + 1)}
    assert covered >= plain
    assert {spike.start for spike in found} | {spike.end for spike in found} <= plain
    between = sorted(covered - plain)  # neighbours are joined over what lies between
    assert all({i - 2, i - 1} & plain and {i + 1, i + 2} & plain for i in between)


def test_a_long_series_is_looked_at_in_stretches():
    """As many spikes as in ten series of a tenth, and windows of bounded size."""
    rng = np.random.default_rng(0)
    values = np.exp(rng.normal(0.0, 0.05, 200_000))
    places = np.arange(5_000, 200_000, 20_000)
    values[places] *= 3
    assert [s.start for s in find_spikes(np.arange(200_000), values)] == places.tolist()


def test_huge_values_of_both_signs_do_not_overflow():
    values = np.where(np.arange(200) % 2, 1.0, -1.0) * 1.7e308
    assert find_spikes(np.arange(200), values) == ()
    values = np.where((np.arange(200) >= 100) & (np.arange(200) < 103), 1.7e308, -1.7e308)
    (spike,) = find_spikes(np.arange(200), values)
    assert (spike.start, spike.end) == (100, 102)


def test_what_leads_to_infinity_is_one_spike():
    values = np.r_[np.ones(100), np.full(6, 5.0), np.full(30, np.inf)]
    (spike,) = find_spikes(np.arange(136), values)
    assert (spike.start, spike.end, spike.recovered) == (100, 135, False)


def test_judged_places_are_those_that_could_be_a_spike():
    values = np.r_[np.ones(10), 0.0, np.nan, np.ones(10), np.inf, 1.0]
    assert judged_places(values).tolist() == [18, 19, 20, 21, 22, 23]
    assert len(judged_places(np.zeros(100))) == 0

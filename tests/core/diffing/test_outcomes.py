"""Results of two arms: what may be said of one run, of few, and of many."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pytscope.diffing.noise import NoiseStore
from pytscope.diffing.outcomes import not_compared, outcomes
from pytscope.model.comparison import Verdict
from pytscope.testing import make_run
from tests.core.diffing.corpus import noisy_loss, told_run

STEPS = 200


def run(noise, *, shift=0.0, seed=None, fingerprints=None, **more):
    scalars = {"loss": noisy_loss(noise, STEPS, shift=shift), **more}
    if fingerprints is not None:
        scalars["batch_fingerprint"] = [fingerprints * 1000 + i for i in range(STEPS)]
    config = {} if seed is None else {"seed": seed}
    return make_run({"forward": 1}, scalars=scalars, config=config)


def arms(first, second):
    return [*first, *second], [0] * len(first) + [1] * len(second)


def only(first, second, noise=None):
    (measured,) = outcomes(*arms(first, second), noise)
    return measured


def test_one_run_an_arm_never_regresses_however_large_the_gap():
    measured = only([run(1)], [run(2, shift=5.0)])
    assert measured.verdict is Verdict.UNDECIDED
    assert measured.difference == pytest.approx(5.0, abs=0.1)
    assert (measured.p, measured.low, measured.noise) == (None, None, None)
    assert "times the noise from step to step" in measured.detail
    assert "not known" in measured.detail


def test_two_runs_an_arm_are_too_few_as_well():
    measured = only([run(1), run(2)], [run(3, shift=5.0), run(4, shift=5.0)])
    assert measured.verdict is Verdict.UNDECIDED
    assert "two runs an arm" in measured.detail


def test_three_runs_an_arm_show_a_large_gap_and_its_direction():
    worse = only([run(i) for i in range(3)], [run(i, shift=0.3) for i in range(10, 13)])
    assert worse.verdict is Verdict.REGRESSION
    assert worse.test == "Welch t, 3 and 3 runs"
    assert worse.low < 0.3 < worse.high
    assert worse.relative == pytest.approx(0.1, abs=0.02)
    better = only([run(i, shift=0.3) for i in range(3)], [run(i) for i in range(10, 13)])
    assert better.verdict is Verdict.IMPROVEMENT


def test_a_gap_among_repeats_is_none_and_what_would_have_shown_is_said():
    measured = only([run(i) for i in range(5)], [run(i) for i in range(10, 15)])
    assert measured.verdict is Verdict.NO_DIFFERENCE
    assert measured.smallest is not None
    assert 0 < measured.smallest < 0.1


def test_higher_is_better_of_an_accuracy_and_nothing_is_of_an_unknown_name():
    rng = np.random.default_rng(0)

    def of(level, name):
        values = (level + rng.normal(0, 0.001, STEPS)).tolist()
        return make_run({"forward": 1}, scalars={name: values})

    falls = only([of(0.9, "accuracy") for _ in range(3)], [of(0.8, "accuracy") for _ in range(3)])
    assert falls.verdict is Verdict.REGRESSION
    odd = only([of(0.9, "entropy") for _ in range(3)], [of(0.8, "entropy") for _ in range(3)])
    assert (odd.verdict, odd.lower_is_better) == (Verdict.UNDECIDED, None)
    assert "which way is better is not known" in odd.detail


def test_a_run_against_itself_is_identical():
    measured = only([run(1)], [run(1)])
    assert measured.verdict is Verdict.IDENTICAL
    assert measured.difference == 0


def test_a_run_against_itself_is_identical_also_with_a_loss_that_never_moves():
    still = make_run({"forward": [1, 2, 3] * 4}, steps=12, scalars={"loss": [0.5] * 12})
    assert only([still], [still]).verdict is Verdict.IDENTICAL
    once = make_run({"forward": 1}, steps=1, scalars={"loss": [0.5]})
    assert only([once], [once]).verdict is Verdict.IDENTICAL
    other = make_run({"forward": [3, 2, 1] * 4}, steps=12, scalars={"loss": [0.5] * 12})
    assert only([still], [other]).verdict is Verdict.UNDECIDED


def test_a_longer_run_is_compared_where_both_have_been():
    short = make_run({"forward": 1}, scalars={"loss": noisy_loss(1, 100)})
    longer = make_run({"forward": 1}, scalars={"loss": noisy_loss(1, 100) + [0.1] * 100})
    measured = only([short], [longer])
    assert measured.verdict is Verdict.IDENTICAL
    other = only([run(2)], [longer])
    assert other.verdict is Verdict.UNDECIDED
    short_one = only([short], [run(3)])
    assert "up to step 99" in short_one.detail


def test_equal_rounded_results_of_two_runs_are_not_called_identical():
    measured = only([told_run(3.28, "a")], [told_run(3.28, "b")])
    assert measured.verdict is Verdict.UNDECIDED
    assert measured.difference == 0


def test_copies_of_one_run_are_no_repeats():
    first = [run(1), run(1), run(1)]
    second = [run(2, shift=0.02)] * 3
    measured = only(first, second)
    assert measured.verdict is Verdict.UNDECIDED
    assert "4 runs are copies of another" in measured.detail
    assert "one run an arm" in measured.detail


def test_arms_of_one_seed_each_cannot_tell_the_seed_from_the_change():
    first, second = ([run(i, seed=1) for i in range(3)], [run(9 + i, seed=2) for i in range(3)])
    measured = only(first, second)
    assert measured.verdict is Verdict.UNDECIDED
    assert "have one seed" in measured.detail
    same = only(first, [run(20 + i, seed=1, shift=0.5) for i in range(3)])
    assert same.verdict is Verdict.REGRESSION


def test_runs_of_one_seed_count_once_among_several():
    first = [run(1, seed=1), run(2, seed=1), run(3, seed=2)]
    second = [run(9 + i, seed=10 + i, shift=0.5) for i in range(3)]
    measured = only(first, second)
    assert measured.verdict is Verdict.UNDECIDED
    assert "a seed counts once" in measured.detail


def test_arms_with_the_same_seeds_and_batches_are_paired():
    def pair(seed, shift):
        rng = np.random.default_rng(seed)
        values = [seed * 1.0 + shift + v for v in rng.normal(0, 0.02, STEPS)]
        more = {"batch_fingerprint": [seed * 1000 + i for i in range(STEPS)]}
        scalars = {"loss": [v + 0.001 * shift for v in values], **more}
        return make_run({"forward": 1}, scalars=scalars, config={"seed": seed})

    first, second = [pair(s, 0.0) for s in (1, 2, 3, 4)], [pair(s, 0.3) for s in (4, 3, 2, 1)]
    measured = only(first, second)
    assert measured.test.startswith(("paired t, 4 pairs", "exact sign test"))
    other_order = [
        make_run(
            {"forward": 1},
            scalars={"loss": r.series("loss")[1].tolist(), "batch_fingerprint": [7] * STEPS},
            config=r.config,
        )
        for r in second
    ]
    assert only(first, other_order).test == "Welch t, 4 and 4 runs"


def test_a_verdict_needs_more_among_many_metrics():
    rng = np.random.default_rng(2)

    def many(shift):
        scalars = {f"loss_{i}": (rng.normal(0, 1, 40)).tolist() for i in range(12)}
        scalars["loss_0"] = [v + shift for v in scalars["loss_0"]]
        return make_run({"forward": 1}, steps=40, scalars=scalars)

    found = outcomes(*arms([many(0) for _ in range(4)], [many(1.4) for _ in range(4)]))
    first = next(m for m in found if m.metric.startswith("loss_0 "))
    assert first.p is not None
    assert 0.05 / 12 < first.p < 0.05
    assert first.verdict is Verdict.NO_DIFFERENCE
    assert "among 12 results" in first.detail


def test_arms_whose_runs_end_in_nan_are_ranked():
    bad = [
        make_run({"forward": 1}, scalars={"loss": [*noisy_loss(i, 90), *[math.nan] * 10]})
        for i in range(4)
    ]
    measured = only([run(10 + i) for i in range(4)], bad)
    assert measured.verdict is Verdict.REGRESSION
    assert measured.test.startswith("exact rank test")
    assert "4 of 4 in the second arm" in measured.detail
    single = only([run(1)], bad[:1])
    assert single.verdict is Verdict.UNDECIDED
    assert "NaN" in single.detail


def of(value, name):
    return told_run(value, name, lr=0.1)


def filled(*values):
    store = NoiseStore()
    for i, value in enumerate(values):
        store = store.add(of(value, f"r{i}"))
    return store


@pytest.mark.parametrize("repeats", [3, 6, 60])
def test_repeats_in_a_store_say_how_far_single_runs_are_apart_and_judge_nothing(repeats):
    store = filled(*([1.00, 1.02, 0.98, 1.01, 0.99, 1.0] * 10)[:repeats])
    far = only([of(1.0, "a")], [of(1.3, "b")], store)
    assert far.verdict is Verdict.UNDECIDED
    assert (far.p, far.interval_of, far.runs_needed) == (None, "repeats", 3)
    assert far.test == f"prediction interval of {repeats} earlier repeats"
    assert far.low > 0
    assert "outside of what two repeats differ by in 95 of 100 cases" in far.detail
    assert "one run an arm: no verdict" in far.detail
    near = only([of(1.0, "a")], [of(1.01, "b")], store)
    assert near.verdict is Verdict.UNDECIDED
    assert "inside of what two repeats differ by" in near.detail
    assert near.runs_needed > 3


def test_how_well_few_repeats_are_known_is_said():
    far = only([of(1.0, "a")], [of(1.3, "b")], filled(1.00, 1.02, 0.98))
    assert "a standard deviation of 0.02, known to be 0.01 to 0.13" in far.detail
    assert "the gap is 15 times that" in far.detail


def test_a_store_says_nothing_of_another_configuration():
    far = [told_run(1.0, "a", lr=9)], [told_run(1.3, "b", lr=9)]
    unknown = only(*far, filled(*[1.00, 1.02, 0.98, 1.01]))
    assert (unknown.verdict, unknown.noise, unknown.interval_of) == (
        Verdict.UNDECIDED,
        None,
        "runs",
    )
    assert "earlier repeats in a noise store would say it" in unknown.detail


@pytest.mark.parametrize("fewer", [1, 2])
@pytest.mark.parametrize("more", [3, 6, 20])
def test_many_runs_against_one_or_two_are_a_statement_as_well(fewer, more):
    first = [told_run(1.0 + 0.01 * (i % 6), f"r{i}") for i in range(more)]
    second = [told_run(2.0 + 0.001 * i, f"x{i}") for i in range(fewer)]
    for arms_given in ((first, second), (second, first)):
        measured = only(*arms_given)
        assert measured.verdict is Verdict.UNDECIDED
        assert measured.test == f"prediction interval of {more} runs of the other arm"
        assert "outside of what so many repeats differ by" in measured.detail
        assert "against" in measured.detail


def test_what_cannot_be_compared_is_said():
    one = make_run({"forward": 1}, scalars={"loss": 1.0, "val_loss": 2.0})
    two = make_run({"forward": 1}, scalars={"loss": 1.0})
    bare = make_run({"forward": 1})
    assert not_compared([one, two]) == ("not logged by every run, and so not compared: val_loss",)
    assert not_compared([bare, bare]) == ("no loss and no other result was logged by any run",)
    assert not_compared([two, two]) == ()
    assert outcomes([bare, bare], [0, 1]) == ()


@pytest.mark.parametrize(
    ("first", "said"),
    [([0.25] * 60, "within a run the last values do not vary"),
     ([0.25 + 1e-17 * i for i in range(60)], "within a run the last values do not vary"),
     ([0.25 + 1e-7 * (i % 2) for i in range(60)], "more than 1,000 times the noise")],
)  # fmt: skip
def test_a_gap_over_values_that_do_not_vary_has_no_endless_ratio(first, said):
    runs = [make_run({"forward": 1}, scalars={"loss": v}) for v in (first, [0.5] * 60)]
    (measured,) = outcomes(runs, [0, 1])
    assert said in measured.detail

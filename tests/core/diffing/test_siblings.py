"""The same bad step in several runs."""

from __future__ import annotations

import itertools

import pytest

from pytscope.builtin.analyzers.event_mask import event_mask
from pytscope.diffing import siblings
from pytscope.testing import make_run
from tests.core.diffing.corpus import logged_run, noisy_loss

EMBED = [f"nanogpt__ValueEmbed_s{i}.csv" for i in range(6)]
WARMUP = [f"nanogpt__WindowWarmup_s{i}.csv" for i in range(2)]


def run(seed, *, bad=(), batches=None, by=1.8, **more):
    loss = noisy_loss(seed)
    for step in bad:
        loss[step] *= by
    scalars = {"loss": loss, **more}
    if batches is not None:
        scalars["batch_fingerprint"] = [hash((batches, i)) for i in range(len(loss))]
    return make_run({"forward": 1}, scalars=scalars)


def shared_steps(runs, labels):
    """With the known events of each, as a comparison has them."""
    return siblings.shared_steps(runs, labels, [event_mask(run) for run in runs])


def steps(*runs):
    return [shared.step for shared in shared_steps(runs, "ABCDEFGH"[: len(runs)])]


def test_bad_batches_of_real_siblings_are_named():
    names = [*EMBED, *WARMUP]
    found = shared_steps([logged_run(name) for name in names], names)
    assert [(s.step, s.series, s.runs) for s in found] == [
        (918, "loss", tuple(names)),
        (946, "loss", tuple(names)),
    ]
    assert found[0].ratios == pytest.approx([1.36] * 8, abs=0.01)
    assert found[1].ratios == pytest.approx([1.43] * 8, abs=0.01)
    assert max(s.chance for s in found) < 1e-6


def test_two_of_them_are_enough_whatever_their_code():
    runs = {name: logged_run(name) for name in [*EMBED[:2], *WARMUP]}
    for pair in itertools.combinations(runs.values(), 2):
        assert steps(*pair) == [918, 946]


def test_healthy_siblings_share_nothing():
    assert steps(logged_run(EMBED[0]), run(1)) == []
    assert steps(*(run(seed) for seed in range(5))) == []


def test_a_step_that_all_runs_share_is_named_with_its_size():
    (shared,) = shared_steps([run(1, bad=[200]), run(2, bad=[200]), run(3)], "ABC")
    assert (shared.step, shared.runs) == (200, ("A", "B"))
    assert shared.ratios == pytest.approx([1.8, 1.8], abs=0.2)
    assert shared.chance < 0.01
    assert "2 of 3 runs" in shared.detail
    assert "not recorded" in shared.detail


def test_steps_of_their_own_are_not_shared():
    assert steps(run(1, bad=[200, 300]), run(2, bad=[201, 250])) == []


def test_recorded_batches_bear_it_out_or_rule_it_out():
    same = [run(i, bad=[200], batches="a") for i in range(2)]
    (shared,) = shared_steps(same, "AB")
    assert "same by fingerprint" in shared.detail
    assert steps(run(1, bad=[200], batches="a"), run(2, bad=[200], batches="b")) == []
    mixed = [*same, run(5, bad=[200], batches="c"), run(6, bad=[200])]
    (shared,) = shared_steps(mixed, "ABCD")
    assert shared.runs == ("A", "B", "D")
    assert "Without batch fingerprints in D" in shared.detail


def test_a_repeated_run_is_one_witness():
    """What one computation does twice has any cause."""
    assert steps(run(1, bad=[200]), run(1, bad=[200])) == []
    assert steps(run(1, bad=[200]), run(1, bad=[200]), run(2, bad=[200])) == [200]


def test_spikes_at_the_ends_of_epochs_are_no_bad_batch():
    ends = range(50, 400, 50)
    assert steps(run(1, bad=ends), run(2, bad=ends)) == []
    assert steps(run(1, bad=[*ends, 217]), run(2, bad=[*ends, 217])) == [217]
    assert steps(*(run(i, bad=[100, 200, 300]) for i in range(2))) == []
    assert steps(*(run(i, bad=[120, 200, 300]) for i in range(2))) == [120, 200, 300]


def test_a_logged_epoch_explains_where_it_begins():
    epochs = [i / 130 for i in range(400)]
    assert steps(*(run(i, bad=[130, 207], epoch=epochs) for i in range(2))) == [207]


def test_a_jump_of_the_learning_rate_explains_a_spike():
    jump = [1e-3] * 200 + [1e-2] * 200
    smooth = [1e-3 * (1 - i / 500) for i in range(400)]
    assert steps(run(1, bad=[200], lr=jump), run(2, bad=[200], lr=jump)) == []
    assert steps(run(1, bad=[200], lr=smooth), run(2, bad=[200], lr=smooth)) == [200]


def test_a_resume_explains_what_follows_it():
    again = {"attempts": [(0, 200), (200, 200)]}

    def resumed(seed, bad):
        loss = noisy_loss(seed)
        loss[bad] *= 1.8
        return make_run({"forward": 1}, scalars={"loss": loss}, **again)

    assert steps(*(resumed(i, 203) for i in range(2))) == []
    assert steps(*(resumed(i, 230) for i in range(2))) == [230]


def test_a_run_whose_events_are_not_known_is_no_witness():
    runs = [run(i, bad=[200]) for i in range(3)]
    known = [event_mask(one) for one in runs]
    assert len(siblings.shared_steps(runs, "ABC", known)) == 1
    (shared,) = siblings.shared_steps(runs, "ABC", [known[0], None, known[2]])
    assert shared.runs == ("A", "C")
    assert siblings.shared_steps(runs, "ABC", [known[0], None, None]) == ()


def test_runs_with_many_spikes_meet_by_chance():
    many = [run(1, bad=range(20, 400, 9)), run(2, bad=range(23, 400, 11))]
    assert steps(*many) == []


def test_a_gradient_norm_tells_it_too_and_a_step_is_named_once():
    def norms(seed):
        norm = noisy_loss(50 + seed)
        norm[200] *= 4
        norm[300] *= 4
        return norm

    runs = [run(i, bad=[200], grad_norm=norms(i)) for i in range(2)]
    found = shared_steps(runs, "AB")
    assert [(s.step, s.series) for s in found] == [(200, "loss"), (300, "grad_norm")]


def test_nothing_logged_or_one_run_is_nothing_shared():
    bare = make_run({"forward": 1})
    assert shared_steps([bare, bare], "AB") == ()
    assert shared_steps([run(1, bad=[200])], "A") == ()
    assert shared_steps([run(1, bad=[200]), bare], "AB") == ()

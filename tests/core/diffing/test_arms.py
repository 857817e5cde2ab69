"""What counts as one observation of an arm."""

from __future__ import annotations

from pytscope.diffing.arms import arms_of
from pytscope.testing import make_run
from tests.core.diffing.corpus import noisy_loss


def run(seed=None, noise=0, **more):
    config = {"lr": 0.1} if seed is None else {"lr": 0.1, "seed": seed}
    return make_run({"forward": 1}, scalars={"loss": noisy_loss(noise, 100)}, config=config, **more)


def test_copies_and_runs_of_one_seed_are_one_observation():
    runs = [run(1, 1), run(1, 1), run(1, 2), run(2, 3), run(3, 4)]
    arm, other = arms_of(runs, [0, 0, 0, 0, 1])
    assert arm.runs == (0, 1, 2, 3)
    assert arm.units == ((0, 2), (3,))
    assert (arm.copies, arm.shared) == (1, 2)
    assert other.units == ((4,),)


def test_runs_of_the_only_seed_are_observations_each():
    arm, _ = arms_of([run(1, 1), run(1, 2), run(1, 3), run(2, 9)], [0, 0, 0, 1])
    assert arm.units == ((0,), (1,), (2,))

"""Differences: which facts, in which order, and what is left out."""

from __future__ import annotations

import copy
from typing import Any

import attrs
import pytest

from pytscope.diffing.differences import NOT_EVERY, changed, differences
from pytscope.model.comparison import ABSENT, Difference, Kind, Likelihood
from pytscope.testing import make_run
from tests.core.diffing.parting import BATCHES, ENVIRONMENT, environment, made
from tests.core.diffing.parting import changed as other


def by_key(*runs: Any, arms: tuple[int, ...] | None = None) -> dict[str, Difference]:
    arms = arms or (0,) * (len(runs) - 1) + (1,)
    return {one.key: one for one in differences(runs, arms)}


def test_a_run_has_none_against_itself():
    assert differences((made(), made()), (0, 1)) == ()


def test_ranked_by_how_likely_they_change_numbers():
    there = environment(initial_seed=2, version="2.1", autocast={"cpu": "bfloat16"}, threads=4)
    there |= {"host": "two", "argv": ["train.py", "fast"]}
    there["git"] = {"sha": "def", "branch": "other", "dirty": True, "diff_sha256": "x"}
    there["packages"] = {"numpy": "2.1", "pytest": "9"}
    there["env"] = {"OMP_NUM_THREADS": "2"}
    found = differences((made(config={"lr": 1}), made(config={"lr": 2}, provenance=there)), (0, 1))
    assert [one.key for one in found] == [
        "torch.initial_seed",
        "config.lr",
        "torch.autocast",
        "git.diff_sha256",
        "git.dirty",
        "git.sha",
        "torch.threads",
        "packages.numpy",
        "torch.version",
        "env.OMP_NUM_THREADS",
        "argv.words",
        "git.branch",
        "packages.pytest",
        "host",
    ]
    assert found[1].values == (1, 2)
    assert found[0].why
    assert found[-1].likelihood is Likelihood.HARDLY


def test_what_git_could_not_tell_is_not_recorded():
    here, there = environment(), environment()
    here["git"] = {"sha": "def", "branch": "main", "dirty": False, "diff_sha256": None}
    there["git"] = here["git"] | {"dirty": None, "reason": "git took longer than 2 s"}
    found = by_key(made(provenance=here), made(provenance=there))
    assert found["git.dirty"].values == (False, ABSENT)
    assert found["git.dirty"].why == NOT_EVERY


def test_fingerprints_and_weights_come_first():
    there = environment(initial_weights={"hash": "w1"})
    found = differences((made(), made(batches=other(BATCHES, 3), provenance=there)), (0, 1))
    assert [one.kind for one in found] == [Kind.DATA, Kind.WEIGHTS]


def test_a_setting_that_one_run_lacks_differs():
    (one,) = differences((made(config={"a": 1, "b": None}), made(config={"b": None})), (0, 1))
    assert one.key == "config.a"
    assert one.values == (1, ABSENT)


@pytest.mark.parametrize("config", [None, [1, 2], "text", 3, {"a": {"b": [None, {"c": 1}]}}])
def test_odd_configurations_do_not_matter(config: Any):
    run = attrs.evolve(made(), config=config)
    assert differences((run, run), (0, 1)) == ()
    differences((run, made(config={"a": 1})), (0, 1))


@pytest.mark.parametrize("odd", [None, 3, "x", [1], {"version": None}, {"devices": "x"}])
def test_odd_provenance_does_not_matter(odd: Any):
    there = copy.deepcopy(ENVIRONMENT) | {"torch": odd, "packages": odd, "git": odd, "argv": odd}
    differences((made(), made(provenance=there)), (0, 1))
    differences((made(provenance=there), made(provenance=there)), (0, 1))


def test_a_part_that_a_run_does_not_record_is_one_difference():
    there = {k: v for k, v in environment().items() if k not in ("torch", "packages")}
    found = by_key(made(), made(provenance=there))
    assert set(found) == {"torch", "packages"}
    assert found["torch"].values == ("recorded", ABSENT)


def test_a_run_without_any_provenance_is_one_difference():
    bare = make_run({"forward": 1}, steps=24, config={"lr": 1})
    found = by_key(made(config={"lr": 2}), bare)
    assert set(found) == {"config.lr", "environment"}


def test_what_another_difference_says_is_left_out():
    there = environment(version="2.1", git="other", initial_seed=2)
    there["torch"]["initial_random_states"] = {"python": "p0", "numpy": "n0", "torch": "t9"}
    there["packages"]["torch"] = "2.1"
    here = environment()
    here["packages"]["torch"] = "2.13"
    found = by_key(made(provenance=here), made(provenance=there))
    assert set(found) == {"torch.version", "torch.initial_seed"}


def test_a_generator_that_nothing_drew_from_hardly_counts():
    states = {"python": "p9", "numpy": "n0", "torch": "t0"}
    there = environment(initial_random_states=states, random_states={**states, "torch": "t1"})
    found = by_key(made(), made(provenance=there))
    assert found["torch.initial_random_states.python"].likelihood is Likelihood.HARDLY


def test_a_generator_that_was_drawn_from_counts():
    states = {"python": "p0", "numpy": "n9", "torch": "t0"}
    after = {**states, "numpy": "n10", "torch": "t1"}
    there = environment(initial_random_states=states, random_states=after)
    found = by_key(made(), made(provenance=there))
    assert set(found) == {"torch.initial_random_states.numpy"}
    assert found["torch.initial_random_states.numpy"].likelihood is Likelihood.PERHAPS


def test_switches_of_cuda_hardly_count_without_a_device():
    there = environment(precision={"matmul": "highest", "tf32_cudnn": False})
    found = by_key(made(), made(provenance=there))
    assert found["torch.precision.tf32_cudnn"].likelihood is Likelihood.HARDLY
    row = {"name": "H200", "capability": "9.0"}
    here, there = environment(devices=[row]), {**there}
    there["torch"]["devices"] = [row]
    found = by_key(made(provenance=here), made(provenance=there))
    assert found["torch.precision.tf32_cudnn"].likelihood is Likelihood.PERHAPS


def test_weights_of_other_element_types_are_not_known_to_differ():
    there = environment(
        model={"parameters": 18, "dtypes": {"float64": 18}}, initial_weights={"hash": "w9"}
    )
    found = by_key(made(), made(provenance=there))
    assert found["torch.initial_weights.hash"].likelihood is Likelihood.PERHAPS
    assert found["torch.model.dtypes"].values == ("float32", "float64")


def test_facts_of_the_start_are_not_compared_with_those_of_a_resume():
    there = environment(initial_weights={"hash": "w9"}, optimizer={"class": "SGD"})
    late = made(provenance=there, first_step=100)
    assert set(by_key(made(), late)) == {
        "torch.optimizer.class",
        "torch.optimizer.groups[0].weight_decay",
    }


def test_differences_within_an_arm_are_marked():
    runs = [made(config={"seed": seed, "lr": rate}) for seed, rate in ((1, 1), (2, 1), (3, 2))]
    found = by_key(*runs, arms=(0, 0, 1))
    assert found["config.seed"].within
    assert not found["config.lr"].within


def test_another_rank_alone_is_named():
    def two(version: str) -> Any:
        run = made(ranks=2)
        timeline = run.timelines[1]
        timeline.metadata = {"environment": {"packages": {"numpy": version}, "pid": 3}}
        return run

    found = by_key(two("2.0"), two("1.26"))
    assert found["packages.numpy on rank 1"].values == ("2.0", "1.26")
    assert not by_key(two("2.0"), two("2.0"))


def test_fingerprints_of_common_steps_alone_count():
    longer = made(loss=None, batches=[*BATCHES, 1, 2], rate=None)
    assert "data.batch_fingerprints" not in by_key(made(loss=None, rate=None), longer)


def test_what_changed_between_attempts():
    names = changed({"torch.version": "1", "host": "a", "seeds.numpy": "x"},
                    {"torch.version": "2", "host": "b", "seeds.numpy": "y"})  # fmt: skip
    assert [one.key for one in names] == ["torch.version"]

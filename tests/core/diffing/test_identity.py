"""Seeds, repeats and identity of runs."""

from __future__ import annotations

import attrs
import pytest

from pytscope.diffing.identity import identity, repeats_key, seed_of
from pytscope.testing import make_run
from tests.core.diffing.corpus import noisy_loss


def run(seed=None, noise=0, **more):
    config = {"lr": 0.1} if seed is None else {"lr": 0.1, "seed": seed}
    return make_run({"forward": 1}, scalars={"loss": noisy_loss(noise, 100)}, config=config, **more)


def test_repeats_share_a_key_whatever_their_seed_and_place():
    one = make_run({"forward": 1}, config={"opt": {"lr": 0.1}, "seed": 1, "output_dir": "a"})
    two = make_run({"forward": 1}, config={"output_dir": "b", "seed": 2, "opt": {"lr": 0.1}})
    assert repeats_key(one) == repeats_key(two) != ""


@pytest.mark.parametrize(
    "config", [{"opt": {"lr": 0.2}}, {"opt": {"lr": 0.1}, "layers": 2}, {"opt": 0.1}]
)
def test_another_setting_is_another_key(config):
    one = make_run({"forward": 1}, config={"opt": {"lr": 0.1}})
    assert repeats_key(one) != repeats_key(make_run({"forward": 1}, config=config))


def test_world_size_is_part_of_the_configuration():
    one = make_run({"forward": 1}, config={"lr": 1})
    assert repeats_key(one) != repeats_key(attrs.evolve(one, world_size=8))


def test_without_a_configuration_the_command_line_stands_for_it():
    def by(*argv):
        return repeats_key(make_run({"forward": 1}, environment={"argv": list(argv)}))

    same = by("/a/train.py", "--lr", "1", "--seed", "3", "--output-dir", "x")
    assert same == by("/b/train.py", "--lr", "1", "--seed=4", "--output-dir=y") != ""
    assert same != by("/a/train.py", "--lr", "2", "--seed", "3", "--output-dir", "x")


def test_a_run_of_which_nothing_is_known_has_no_repeats():
    assert repeats_key(make_run({"forward": 1})) == ""
    assert repeats_key(make_run({"forward": 1}, environment={"argv": None})) == ""
    odd = make_run({"forward": 1}, config={1: float("nan"), "x": object()})
    assert repeats_key(odd) != ""


def test_seeds_come_from_the_configuration_and_from_torch():
    assert seed_of(run()) == ""
    assert seed_of(run(3)) == seed_of(run(3, noise=1)) != seed_of(run(4))
    unset = make_run({"forward": 1}, config={"data_seed": None})
    assert seed_of(unset) == ""
    torch = [make_run({"forward": 1}, environment={"torch": {"initial_seed": s}}) for s in (1, 2)]
    assert seed_of(torch[0]) != seed_of(torch[1])
    assert seed_of(make_run({"forward": 1}, environment={"torch": "2.1.0"})) == ""


def test_copies_are_one_run_whatever_they_are_called():
    assert identity(run(noise=1)) == identity(run(noise=1, name="copy"))
    assert identity(run(noise=1)) != identity(run(noise=2))


def test_few_values_may_agree_by_chance():
    one = make_run({"forward": 1}, scalars={"val_loss": [None] * 99 + [3.28]}, name="one")
    two = make_run({"forward": 1}, scalars={"val_loss": [None] * 99 + [3.28]}, name="two")
    assert identity(one) != identity(two)
    assert identity(one) == identity(attrs.evolve(one))

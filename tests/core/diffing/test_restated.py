"""Command lines that say again what settings say."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from pytscope.diffing.differences import differences
from pytscope.diffing.kinds import sort_of
from pytscope.model.comparison import Difference, Likelihood
from pytscope.testing import make_run
from tests.core.diffing.parting import LOSS, changed, environment, found, made
from tests.core.diffing.said import SEEDS, compared


def told(configs: tuple[Any, Any], words: tuple[list[str], list[str]]) -> dict[str, Difference]:
    """Differences of the command line, by name."""
    runs = [
        make_run(
            {"forward": 1}, config=config, environment={"python": "3", "argv": ["t.py", *argv]}
        )
        for config, argv in zip(configs, words, strict=True)
    ]
    each = differences(runs, (0, 1))
    return {one.key: one for one in each if one.key.startswith("argv.")}


@pytest.mark.parametrize(
    ("configs", "words"),
    [
        (({"lr": 0.1}, {"lr": 0.01}), (["--lr", "1e-1"], ["--lr=0.01"])),
        (({"lr": 0.1}, {"lr": 0.01}), ([], ["--lr=0.01"])),
        (({"learning_rate": 0.1}, {"learning_rate": 0.2}), (["--lr", ".1"], ["--lr", ".2"])),
        (({"optim": {"betas": [0.9, 0.99]}}, {"optim": {"betas": [0.9, 0.95]}}),
         (["--betas", ".9,.99"], ["--betas", ".9,.95"])),
        (({"foo": True}, {"foo": False}), (["--foo"], ["--foo=false"])),
    ],
)  # fmt: skip
def test_an_option_that_repeats_a_setting_says_so_and_counts_as_what_it_is_called(
    configs: Any, words: Any
):
    ours = told(configs, words)
    assert ours
    assert all(one.likelihood is sort_of(key).likelihood for key, one in ours.items())
    assert all("repeats config." in one.why for one in ours.values())


@pytest.mark.parametrize(
    ("configs", "words"),
    [
        (({"seed": 1}, {"seed": 2}), (["1"], ["2"])),
        (({"a": 1, "b": "x"}, {"a": 2, "b": "y"}), (["1", "x"], ["2", "y"])),
        (({"seed": 1}, {"seed": 2}), (['{"seed": 1}'], ['{"seed": 2}'])),
    ],
)
def test_words_that_repeat_settings_hardly_matter(configs: Any, words: Any):
    ours = told(configs, words)
    assert {*ours} == {"argv.words"}
    assert {one.likelihood for one in ours.values()} == {Likelihood.HARDLY}
    assert all("repeats config." in one.why for one in ours.values())


@pytest.mark.parametrize(
    ("configs", "words"),
    [
        (({}, {}), (["--lr", "0.1"], ["--lr", "0.2"])),
        (({"lr": 0.1}, {"lr": 0.2}), (["--dropout", "0.1"], ["--dropout", "0.2"])),
        (({"lr": 0.1}, {"lr": 0.2}), (["--lr", "0.1"], ["--lr", "0.3"])),
        (({"a": 1}, {"a": 2}), (["1", "x"], ["2", "y"])),
        (({"a": 1}, {"a": 2}), (["1"], ["2", "2"])),
    ],
)
def test_words_that_say_more_count(configs: Any, words: Any):
    assert all(one.likelihood is not Likelihood.HARDLY for one in told(configs, words).values())


def test_what_is_said_twice_is_one_cause():
    runs = [
        made(LOSS, config={"dropout": 0.1}, provenance=by("0.1")),
        made(changed(LOSS, 3), config={"dropout": 0.2}, provenance=by("0.2")),
    ]
    assert {"argv.dropout", "config.dropout"} <= {d.key for d in differences(runs, (0, 1))}
    keys = [key for cause in found(*runs).causes for key in cause.keys]
    assert "config.dropout" in keys
    assert "argv.dropout" not in keys


def by(dropout: str) -> dict[str, Any]:
    return environment() | {"argv": ["t.py", "--dropout", dropout]}


def test_what_is_said_twice_stands_once_in_the_headline():
    again = attrs.evolve(SEEDS, key="argv.seed", why="It repeats seeds.python.")
    other = attrs.evolve(SEEDS, key="argv.more")
    said = compared(differences=(SEEDS, again, other)).headline
    assert "argv.more" in said
    assert "argv.seed" not in said

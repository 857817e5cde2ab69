"""Command lines that say again what settings say."""

from __future__ import annotations

from typing import Any

import pytest

from pytscope.diffing.differences import differences
from pytscope.model.comparison import Difference, Likelihood
from pytscope.testing import make_run


def told(configs: tuple[Any, Any], words: tuple[list[str], list[str]]) -> dict[str, Difference]:
    """Differences of the command line, by name."""
    runs = [
        make_run(
            {"forward": 1}, config=config, environment={"python": "3", "argv": ["t.py", *argv]}
        )
        for config, argv in zip(configs, words, strict=True)
    ]
    found = differences(runs, (0, 1))
    return {one.key: one for one in found if one.key.startswith("argv.")}


@pytest.mark.parametrize(
    ("configs", "words"),
    [
        (({"lr": 0.1}, {"lr": 0.01}), (["--lr", "1e-1"], ["--lr=0.01"])),
        (({"lr": 0.1}, {"lr": 0.01}), ([], ["--lr=0.01"])),
        (({"learning_rate": 0.1}, {"learning_rate": 0.2}), (["--lr", ".1"], ["--lr", ".2"])),
        (({"optim": {"betas": [0.9, 0.99]}}, {"optim": {"betas": [0.9, 0.95]}}),
         (["--betas", ".9,.99"], ["--betas", ".9,.95"])),
        (({"foo": True}, {"foo": False}), (["--foo"], ["--foo=false"])),
        (({"seed": 1}, {"seed": 2}), (["1"], ["2"])),
        (({"a": 1, "b": "x"}, {"a": 2, "b": "y"}), (["1", "x"], ["2", "y"])),
        (({"seed": 1}, {"seed": 2}), (['{"seed": 1}'], ['{"seed": 2}'])),
    ],
)  # fmt: skip
def test_words_that_repeat_settings_hardly_matter(configs: Any, words: Any):
    found = told(configs, words)
    assert found
    assert {one.likelihood for one in found.values()} == {Likelihood.HARDLY}
    assert all("repeats config." in one.why for one in found.values())


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

"""Settings that name the folder of their own run are no difference; others stay one."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from pytscope.diffing.differences import differences
from pytscope.model.comparison import ABSENT, NOT_GIVEN, Likelihood
from pytscope.runs.run import Run
from pytscope.testing import make_run


def started(path: str, *words: str, cwd: str = "/w", **config: Any) -> Run:
    environment = {"python": "3", "cwd": cwd, "argv": ["t.py", *words]}
    run = make_run({"forward": 1}, config=config, environment=environment)
    return attrs.evolve(run, path=path)


def told(*runs: Run) -> dict[str, tuple[Any, ...]]:
    return {one.key: one.values for one in differences(runs, (0, 1))}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("runs/a", "--out", "runs/a"), ("runs/b", "--out", "runs/b")),
        (("runs/a", "--out", "runs/a"), ("runs/b", "--out", "./runs/b/")),
        (("runs/a", "--out", "runs/a"), ("runs/b",)),
        (("/w/runs/a", "--where=runs/a"), ("/w/runs/b", "--where=/w/runs/b")),
        (("/moved/runs/a", "--where=runs/a"), ("/moved/runs/b", "--where=runs/b")),
        (("a", "--out", "a"), ("b", "--out", "b")),
        (("a", "--out", "a"), ("b", "--out", "a")),
        (("runs/a", "--ckpt", "runs/a/x.pt"), ("runs/b", "--ckpt", "runs/b/x.pt")),
    ],
)
def test_the_own_folder_is_no_difference(first, second):
    assert told(started(*first), started(*second)) == {}


def test_nor_is_it_as_a_setting():
    assert told(started("runs/a", where="runs/a"), started("runs/b", where="runs/b")) == {}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("runs/0", "--layers", "0"), ("runs/1", "--layers", "1")),
        (("runs/resnet", "--arch", "resnet"), ("runs/vgg", "--arch", "vgg")),
        (("resnet", "--arch", "resnet"), ("vgg", "--arch", "vgg")),
        (("runs/a", "--base", "conf/a"), ("runs/b", "--base", "conf/b")),
        (("runs/a", "--from", "runs/z"), ("runs/b", "--from", "runs/y")),
        (("runs/a", "--from", "runs/a/1.pt"), ("runs/b", "--from", "runs/b/2.pt")),
    ],
)
def test_what_only_looks_like_it_is_one(first, second):
    assert len(told(started(*first), started(*second))) == 1


def test_an_option_that_was_not_given_is_not_one_that_was_not_recorded():
    assert told(started("a", "--foo", "1"), started("b"))["argv.foo"] == ("1", NOT_GIVEN)
    bare = make_run({"forward": 1}, environment={"python": "3"})
    assert told(started("a", "--foo", "1"), bare)["argv.foo"] == ("1", ABSENT)


def test_options_are_ranked_by_what_they_are_called():
    found = differences((started("a", "--seed", "1"), started("b", "--seed", "2")), (0, 1))
    assert [(one.key, one.likelihood) for one in found] == [("argv.seed", Likelihood.YES)]

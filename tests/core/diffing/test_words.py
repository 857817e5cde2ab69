"""Words of names, and options of a command line."""

from __future__ import annotations

import pytest

from pytscope.diffing.words import last_part, options_of, words_of


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("learning_rate", ("learning", "rate")),
        ("maxGradNorm", ("max", "grad", "norm")),
        ("lr-Adam/pg1", ("lr", "adam", "pg", "1")),
        ("PYTHONHashSeed", ("python", "hash", "seed")),
        ("", ()),
    ],
)
def test_words(name: str, words: tuple[str, ...]):
    assert words_of(name) == words


def test_last_part():
    assert last_part("torch.loaders[0].batch_size") == "batch_size"
    assert last_part("a.groups[12]") == "groups"


def test_options():
    line = "--a 1 -b -2 pos --c=x=y --flag --d 3 --d 4 ++model.lr=0.1 http://x?y --last"
    options, rest = options_of(line.split())
    assert options == {
        "a": "1",
        "b": "-2",
        "c": "x=y",
        "flag": True,
        "d": ["3", "4"],
        "model.lr": "0.1",
        "last": True,
    }
    assert rest == ["pos", "http://x?y"]

"""The store of what repeats came out at."""

from __future__ import annotations

import json

import attrs
import numpy as np
import pytest

from pytscope.diffing.identity import repeats_key
from pytscope.diffing.noise import MOST_REPEATS, NoiseStore
from pytscope.diffing.repeated import without_odd
from pytscope.model.errors import UsageError
from pytscope.testing import make_run
from tests.core.diffing.corpus import told_run

KEY = repeats_key(told_run(1.0, "x", lr=0.1))


def of(value, name, **settings):
    return told_run(value, name, lr=0.1, **settings)


def filled(*values):
    store = NoiseStore()
    for i, value in enumerate(values):
        store = store.add(of(value, f"r{i}"))
    return store


def test_the_spread_of_repeats_is_their_standard_deviation():
    spread = filled(1.0, 2.0, 3.0).spread(KEY, "val_loss")
    assert spread is not None
    assert (spread.sd, spread.freedom, spread.repeats) == (1.0, 2, 3)
    assert filled(1.0, 2.0).spread(KEY, "val_loss") is None
    assert filled(1.0, 2.0, 3.0).spread("", "val_loss") is None
    assert filled(1.0, 2.0, 3.0).spread(KEY, "accuracy") is None


def test_a_store_reads_what_it_writes():
    store = filled(1.0, 2.5, 3.25)
    assert NoiseStore.read(store.text()) == store
    assert NoiseStore.read("") == NoiseStore() == NoiseStore.read(NoiseStore().text())


def test_the_same_run_is_kept_once():
    store = filled(1.0, 2.0)
    assert store.add(of(2.0, "r1")) == store


def test_runs_that_say_nothing_of_repeats_are_not_kept():
    for run in (
        told_run(1.0, "no settings"),
        make_run({"forward": 1}, scalars={"loss": 1.0}, config={"lr": 1}, finished=False),
        attrs.evolve(make_run({"forward": 1}, config={"lr": 1}), has_timeline=False),
    ):
        assert NoiseStore().add(run) == NoiseStore()


def test_repeats_of_one_seed_count_as_one_among_several():
    store = NoiseStore()
    for i, (value, seed) in enumerate([(1.0, 1), (3.0, 1), (4.0, 2), (6.0, 3)]):
        store = store.add(of(value, f"r{i}", seed=seed))
    spread = store.spread(KEY, "val_loss")
    assert spread is not None
    assert (spread.sd, spread.repeats) == (2.0, 3)
    one = NoiseStore()
    for i in range(4):
        one = one.add(of(float(i), f"r{i}", seed=7))
    assert one.spread(KEY, "val_loss").of_one_seed


def test_the_runs_that_are_judged_are_no_repeats():
    store = filled(1.0, 2.0, 3.0)
    known = store.repeats[KEY][2].run
    assert store.spread(KEY, "val_loss", {known}) is None


def test_a_store_is_bounded():
    store = filled(*(float(i) for i in range(MOST_REPEATS + 5)))
    assert len(store.repeats[KEY]) == MOST_REPEATS
    assert store.repeats[KEY][-1].values["val_loss"] == MOST_REPEATS + 4


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"format": "pytscope.noise/1"}', "[" * 100_000])
def test_what_is_no_store_is_said(text):
    with pytest.raises(UsageError, match="noise store"):
        NoiseStore.read(text)


def test_odd_rows_of_a_store_are_left_out():
    rows = [1, {}, {"run": 3}, {"run": "a", "values": [1]}, {"run": "b", "values": {"x": "1"}}]
    rows.append({"run": "c", "seed": None, "values": {"x": 1, "y": True, "z": float("inf")}})
    text = json.dumps({"format": "pytscope.noise/1", "configurations": {"k": rows, "l": 7}})
    store = NoiseStore.read(text)
    assert [dict(r.values) for r in store.repeats["k"]] == [{}, {}, {"x": 1.0}]
    assert store.repeats["l"] == ()


def test_broken_runs_do_not_widen_the_spread():
    good = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.005]
    clean = filled(*good).spread(KEY, "val_loss")
    assert clean is not None
    for broken in ([1.5], [1.5, 1.51], [0.2, 1.6]):
        spread = filled(*good, *broken).spread(KEY, "val_loss")
        assert spread is not None
        assert (spread.repeats, spread.sd) == (7, pytest.approx(clean.sd))


def test_repeats_are_hardly_ever_taken_for_broken():
    rng = np.random.default_rng(3)
    lost = sum(len(without_odd(values)) < 8 for values in rng.normal(size=(1000, 8)))
    assert lost <= 5


def test_a_change_of_the_code_is_no_spread_where_its_versions_have_repeats():
    rows = [(1.00, "a"), (1.02, "a"), (0.98, "a"), (3.00, "b"), (3.02, "b"), (2.98, "b")]
    store = NoiseStore()
    for i, (value, sha) in enumerate(rows):
        run = attrs.evolve(of(value, f"r{i}"), environment={"git": {"sha": sha}})
        store = store.add(run)
    spread = store.spread(KEY, "val_loss")
    assert spread is not None
    assert (spread.sd, spread.freedom, spread.repeats) == (pytest.approx(0.02), 4, 6)
    fewer = attrs.evolve(store, repeats={KEY: store.repeats[KEY][:4]}).spread(KEY, "val_loss")
    assert fewer is not None
    assert fewer.sd > 0.9
    assert "several versions of the code" in fewer.source
    assert NoiseStore.read(store.text()) == store

"""Cutting into steps: what repeats is found, what is split is put together again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytscope.recording.drain import Drain
from pytscope.recording.keys import (
    BEGIN,
    BROKEN,
    CLOSE,
    END,
    EXTRA,
    FAIL,
    LOG,
    MICRO,
    Open,
    is_value,
)
from pytscope.recording.prefix import different, paired, settled
from pytscope.recording.shapes import Shapes
from pytscope.recording.steps import MAX_LETTERS, Batch, Letters, Steps, runs
from pytscope.recording.tile import Tiling, sum_segments, tile

from .decode import attempt

SHAPES = (
    (BEGIN, "a", END),
    (BEGIN, "a", "b", END, LOG),
    (BEGIN, "a", "b", END),
    (BEGIN, LOG, "b", END, LOG, LOG),
    (Open("eval"), "b", CLOSE, BEGIN, MICRO, END),
    (Open("eval"), CLOSE, LOG, BEGIN, "a", END),  # what is logged here belongs to the step before
    (END,),
)
RUNS = st.lists(st.tuples(st.sampled_from(SHAPES), st.integers(1, 40)), min_size=1, max_size=12)
LOGGED = (2.5, None, 0.5, 7, None)


def keys_of(drawn: list[tuple[Any, int]]) -> list[Any]:
    return [key for shape, count in drawn for _ in range(count) for key in shape]


def events_of(keys: list[Any], gap: int = 7) -> list[Any]:
    events: list[Any] = []
    for place, key in enumerate(keys):
        events += (key, LOGGED if key is LOG else 1_000 + gap * place)
    return events


@given(RUNS, st.booleans())
def test_runs_are_the_steps(drawn: list[tuple[Any, int]], broken: bool) -> None:
    keys = [BROKEN if broken and key is END else key for key in keys_of(drawn)]
    start, found = 0, []
    for size, count in runs(keys, Letters()):
        found += [tuple(keys[start + i * size : start + (i + 1) * size]) for i in range(count)]
        start += size * count
    shapes = [shape for shape, count in drawn for _ in range(count)]
    if broken:
        shapes = [tuple(BROKEN if key is END else key for key in shape) for shape in shapes]
    assert found == shapes


def test_letters_start_afresh_before_they_pile_up() -> None:
    letters = Letters()
    text = letters.text([f"m{i}" for i in range(MAX_LETTERS)] + [LOG, END])
    assert len(set(text)) == MAX_LETTERS + 2
    assert letters.full


@given(RUNS)
def test_different_keys_are_all_of_them(drawn: list[tuple[Any, int]]) -> None:
    keys = keys_of(drawn)
    assert set(different(keys)) == set(keys)
    assert settled([*keys, 5])[-1] == "5"


@given(RUNS, st.data())
def test_a_missing_value_is_noticed_among_steps_that_are_alike(drawn: Any, data: Any) -> None:
    whole = events_of(keys_of(drawn))
    assert paired(whole) == (whole, [])
    missing = data.draw(st.sets(st.integers(0, len(whole) // 2 - 1), min_size=1, max_size=3))
    torn = [v for i, v in enumerate(whole) if not (i % 2 and i // 2 in missing)]
    pairs, rest = paired(torn)
    assert all(type(value) in (int, tuple) for value in pairs[1::2])
    assert not any(type(key) in (int, tuple) for key in pairs[::2] + rest)


@given(RUNS)
def test_blocks_hold_what_the_tiling_says(drawn: list[tuple[Any, int]]) -> None:
    events = events_of(keys_of(drawn))
    drain = Drain(events[1], 0)
    drain.take(list(events))
    written = attempt(b"".join(drain.records()))
    read = written["steps"]
    pairs = list(zip(events[::2], events[1::2], strict=True))
    regions = tile([(key, at) for key, at in pairs if not is_value(key)])
    steps = [region for region in regions if region.name == "step"]
    got = [[segment for segment in row["segments"] if segment[1]] for row in read]
    assert got == [list(step.segments) for step in steps]
    of_the_run = [event["values"] for event in written["events"] if event["kind"] == "log"]
    tokens = [values.get("tokens", 0) for values in [row["scalars"] for row in read] + of_the_run]
    assert sum(tokens) == 7 * sum(key is LOG for key, _ in pairs)


def test_more_shapes_than_a_block_has_room_for() -> None:
    events: list[Any] = []
    for i in range(600):
        events += (BEGIN, 1_000 + 4 * i, f"m{i % 200}", 1_002 + 4 * i)
        events += (LOG, (1.0, None if i % 3 else 2.0, None, None, None), END, 1_003 + 4 * i)
        events += (EXTRA, {f"x{i % 7}": 1.0})
    drain = Drain(1_000, 0)
    drain.take(list(events))
    read = attempt(b"".join(drain.records()))["steps"]
    assert [row["step"] for row in read] == list(range(600))
    assert all(f"x{i % 7}" in row["scalars"] for i, row in enumerate(read))
    assert all(("grad_norm" in row["scalars"]) == (i % 3 == 0) for i, row in enumerate(read))
    assert sum(ns for row in read for _, ns in row["segments"]) == 4 * 600 - 1


@given(RUNS)
def test_halves_and_what_is_taken_out_again_lose_nothing(drawn: list[tuple[Any, int]]) -> None:
    keys = keys_of(drawn)
    values = list(range(len(keys)))
    batch, shapes = Batch(), Shapes(str, str, lambda _: None)
    start, at = 0, -1
    for size, count in runs(keys, Letters()):
        shape = tuple(keys[start : start + size])
        at = batch.add(shapes.plan((), shape), shape, values[start : start + size * count], at)
        start += size * count
    first, second = batch.halves()
    assert len(first.order) == len(batch.order) // 2
    steps = [*taken_out(first), *taken_out(second)]
    assert [value for step, _ in steps for value in step.values] == values
    assert [end for _, end in steps] == batch.ends
    assert [step.at for step, _ in steps] == [[at] for at in (-1, *batch.ends[:-1])]


def taken_out(batch: Batch) -> list[tuple[Steps, int]]:
    steps = [batch.pop() for _ in batch.ends[:]]
    assert [batch.groups, batch.order, batch.ends] == [[], [], []]
    return steps[::-1]


STAMPS = (BEGIN, MICRO, FAIL, CLOSE, Open("data"), Open("mine"), "a", "b")


@given(st.lists(st.tuples(st.sampled_from(STAMPS), st.integers(0, 9)), max_size=200), st.data())
def test_very_many_stamps_keep_their_sums(drawn: list[tuple[Any, int]], data: Any) -> None:
    keys, values, at = [], [], 0
    marks = data.draw(st.integers(0, len(drawn)))
    for place, (key, gap) in enumerate(drawn):
        at += gap
        keys.append("abc"[gap % 3] if place < marks else key)
        values.append(at)
    one, many = Tiling(), Tiling()
    for key, value in zip(keys, values, strict=True):
        one.feed(key, value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pytscope.recording.tile.MANY", 8)
        many.feed_all(keys, values)
    assert dict(sum_segments(many.segments())) == dict(sum_segments(one.segments()))
    assert many.blocks == one.blocks

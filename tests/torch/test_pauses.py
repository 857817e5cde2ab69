"""Collections among the stamps of a step: each where it happened, once, and exact."""

from __future__ import annotations

import random
from typing import Any

import pytest

pytest.importorskip("torch", reason="draws on pytscope-torch")
pauses = pytest.importorskip("pytscope_torch.pauses", reason="pytscope-torch is not installed")

from pytscope.recording.keys import CLOSE, DROPPED, END, LOG, Sample  # noqa: E402  # as above
from pytscope_torch.stamps import BACKWARD, FORWARD, GC, OPTIMIZER  # noqa: E402  # as above
from tests.core.recording.decode import records, steps  # noqa: E402  # as above

LONG = pauses.SHORTEST_NS
SAMPLED = Sample("b", ("rss",))
STEP = [FORWARD, 10, CLOSE, 20, BACKWARD, 30, CLOSE, 40, END, 50, SAMPLED, (7,)]


def put(events: list[Any], since: int, until: int, now: int = 0) -> list[Any]:
    return pauses.with_pauses(events, [pauses.Pause(since, until, here=True)], 0, now)


@pytest.mark.parametrize(
    ("since", "until", "place"),
    [(1, 9, 0), (10, 20, 1), (11, 19, 1), (20, 30, 2), (21, 21, 2), (41, 49, 4)],
)
def test_a_collection_is_a_block_where_it_happened(since: int, until: int, place: int) -> None:
    block = [GC, since, CLOSE, until]
    assert put(STEP, since, until) == STEP[: 2 * place] + block + STEP[2 * place :]


@pytest.mark.parametrize(
    ("since", "until", "before"),
    [(19, 21, 0), (5, 45, 0), (51, 60, 0), (1, 5, 8 * LONG)],
    ids=["stamped in it", "much stamped in it", "in the next part", "in the part before"],
)
def test_one_that_does_not_belong_there_is_left_out(since: int, until: int, before: int) -> None:
    drain = pauses.PausedDrain(before, 0)
    drain.found.append((since * LONG, until * LONG, True))
    scaled = [part * LONG if isinstance(part, int) else part for part in STEP]
    assert drain._paused(scaled) == scaled


def test_values_stay_with_the_step_that_they_are_of() -> None:
    events = [*STEP, LOG, (0.5,), FORWARD, 60, CLOSE, 70, END, 80]
    assert put(events, 51, 59)[12:18] == [LOG, (0.5,), GC, 51, CLOSE, 59]


def test_one_after_the_last_stamp_of_an_open_step_is_in_it() -> None:
    assert put([FORWARD, 10], 11, 19, now=19) == [FORWARD, 10, GC, 11, CLOSE, 19]
    assert put([], 11, 19, now=20) == [GC, 11, CLOSE, 19]
    assert put([FORWARD, 10], 11, 19) == [FORWARD, 10]  # more of the step is to come


def test_none_is_put_before_what_was_given_up() -> None:
    events = [DROPPED, (3, 30, 0, ()), FORWARD, 40, CLOSE, 50, END, 60]
    assert put(events, 10, 20) == events
    assert put(events, 31, 39) == [*events[:2], GC, 31, CLOSE, 39, *events[2:]]


def made(rng: random.Random, count: int) -> tuple[list[list[Any]], list[tuple[Any, ...]]]:
    """Parts of an event list, and collections between its stamps."""
    at, parts, found = 0, [], []
    for _ in range(count):
        part: list[Any] = []
        for key in (FORWARD, CLOSE, BACKWARD, CLOSE, OPTIMIZER, CLOSE, END):
            for _ in range(rng.choice((0, 0, 1, 2))):
                since = at + rng.randrange(3)
                at = since + rng.choice((LONG - 1, LONG, 3 * LONG))
                found.append((since, at, rng.random() < 0.8))
            at += rng.randrange(1, 1000)
            part += (key, at)
        parts.append([*part, SAMPLED, (at,)] if rng.random() < 0.5 else part)
    return parts, found


@pytest.mark.parametrize("seed", range(5))
def test_every_long_collection_of_the_thread_is_recorded_once(seed: int) -> None:
    rng = random.Random(seed)
    drain = pauses.PausedDrain(0, 0)
    parts, found = made(rng, 40)
    drain.found.extend(found)
    while parts:
        size = rng.randrange(1, 5)
        taken = [event for part in parts[:size] for event in part]
        drain.open_record(taken[:2], taken[1])  # looked at while it goes on, and taken later
        if rng.random() < 0.3:
            drain.absorb(taken[:6])
            taken = taken[6:]
        drain.take(taken)
        parts = parts[size:]
    shutdown = dict(drain.finish([], found[-1][1]))
    wanted = sum(until - since for since, until, here in found if here and until - since >= LONG)
    assert recorded(drain, "gc") + shutdown.get("gc", 0) == wanted > 0


def recorded(drain: Any, phase: str) -> int:
    """How long a phase took by all records of a drain, startup and steps."""
    segments: list[Any] = []
    for header, body in records(b"".join(drain.records())):
        if header["b"] == "steps":
            segments += [pair for step in steps(header, body) for pair in step["segments"]]
        elif header.get("kind") == "startup":
            segments += header["segments"]
    return sum(ns for name, ns in segments if name == phase)

"""Lines sum to the wall, in memory and after writing, however the events came."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pytscope.recording.drain import Drain
from pytscope.recording.keys import (
    BEGIN,
    CLOSE,
    CLOSED,
    END,
    EXHAUSTED,
    EXTRA,
    FAIL,
    FINISH,
    LOG,
    MICRO,
    START,
    Open,
    is_value,
)
from pytscope.recording.prefix import decided_length, ready_length
from pytscope.recording.tile import Region, tile

from .decode import attempt

BLOCKS = {name: Open(name) for name in ("data", "eval", "comm", "mine")}
STAMPS: list[Any] = [
    BEGIN,
    END,
    END,
    MICRO,
    CLOSE,
    CLOSE,
    EXHAUSTED,
    FAIL,
    CLOSED,
    "forward",
    "backward",
    "mine",
    *BLOCKS.values(),
]
VALUES = st.one_of(
    st.tuples(st.just(LOG), st.tuples(*[st.one_of(st.none(), st.floats(), st.integers(0, 9))] * 5)),
    st.tuples(st.just(EXTRA), st.dictionaries(st.sampled_from("ab"), st.floats(), min_size=1)),
)
EVENT = st.one_of(
    st.tuples(st.sampled_from(STAMPS), st.integers(0, 9)),
    st.tuples(st.sampled_from(STAMPS), st.integers(0, 2**34)),
    VALUES,
)


def flat(drawn: list[tuple[Any, Any]]) -> list[Any]:
    """The event list of drawn events; gaps become stamps."""
    at, out = 1000, []
    for key, value in drawn:
        if is_value(key):
            out += (key, value)
        else:
            at += value
            out += (key, at)
    return out


def expected(events: list[Any], start: int, finish: int) -> list[Region]:
    pairs = [(START, start), *zip(events[::2], events[1::2], strict=True), (FINISH, finish)]
    return tile([(k, v) for k, v in pairs if not is_value(k)])


@settings(max_examples=400, deadline=None)
@given(st.lists(EVENT, max_size=60), st.integers(0, 9))
def test_regions_sum_to_the_wall(drawn: list[Any], tail: int) -> None:
    events = flat(drawn)
    stamps = [v for k, v in zip(events[::2], events[1::2], strict=True) if not is_value(k)]
    finish = (stamps[-1] if stamps else 1000) + tail
    regions = expected(events, 1000, finish)
    assert sum(r.wall_ns for r in regions) == finish - 1000
    assert [r.start_ns for r in regions[1:]] == [r.end_ns for r in regions[:-1]]
    for region in regions:
        assert sum(ns for _, ns in region.segments) == region.wall_ns
        assert all(name and ns > 0 for name, ns in region.segments)


@settings(max_examples=600, deadline=None)
@given(st.data(), st.lists(EVENT, max_size=60), st.integers(0, 9))
def test_written_steps_equal_the_tiling(data: Any, drawn: list[Any], tail: int) -> None:
    events = flat(drawn)
    stamps = [v for k, v in zip(events[::2], events[1::2], strict=True) if not is_value(k)]
    finish = (stamps[-1] if stamps else 1000) + tail
    want = expected(events, 1000, finish)
    absorbed: set[int] = set()
    read = attempt(written(data, events, finish, absorbed))

    def same(step: int | None, got: list[tuple[str, int]], region: Any) -> None:
        if step in absorbed:  # a very long step keeps its sums, not its order
            assert summed(got) == summed(region)
        else:
            assert drop_zeros(got) == list(region)

    same(0, read["startup"], want[0].segments)
    steps = [r for r in want if r.name == "step"]
    assert len(read["steps"]) == len(steps)
    for row, region in zip(read["steps"], steps, strict=True):
        assert row["step"] == region.step
        same(row["step"], row["segments"], region.segments)
        assert row["meta"].get("micro", 1) == region.micro_batches
        assert bool(row["meta"].get("flags", 0) & 4) == region.failed
    shutdown = want[-1].segments if len(want) > 1 else ()
    same(len(steps), [tuple(s) for s in read["end"]["shutdown"]], shutdown)
    total = sum(ns for _, ns in read["startup"])
    total += sum(ns for row in read["steps"] for _, ns in row["segments"])
    total += sum(ns for _, ns in read["end"]["shutdown"])
    assert total == read["end"]["wall_ns"] == finish - 1000


def written(data: Any, events: list[Any], finish: int, absorbed: set[int]) -> bytes:
    """Drain the events as a writer would, waking at drawn moments."""
    drain = Drain(1000, 0)
    live: list[Any] = []
    cuts = sorted(data.draw(st.lists(st.integers(0, len(events) // 2), max_size=6)))
    for start, stop in pairwise([0, *cuts, len(events) // 2]):
        live += events[2 * start : 2 * stop]
        # the writer never sees a closed iterator before the failure that cancels it
        coming = next((k for k in events[2 * stop :: 2] if not is_value(k)), None)
        last = next((k for k in live[-2::-2] if not is_value(k)), None)
        if coming is FAIL and last is CLOSED:
            continue
        size = ready_length(live)
        if size:
            drain.take(live[:size])
            del live[:size]
        elif len(live) > 8 and data.draw(st.booleans()):
            decided = decided_length(live)
            drain.absorb(live[:decided])
            del live[:decided]
            absorbed.add(drain.step)
    size = ready_length(live, closing=True)
    if size:
        drain.take(live[:size])
        del live[:size]
    shutdown = drain.finish(live, finish)
    from pytscope.recording.columns import record

    wall = finish - 1000
    drain.add(record({"b": "end", "t": wall, "wall_ns": wall, "shutdown": shutdown}))
    return b"".join(drain.records())


def summed(segments: Any) -> dict[str, int]:
    out: dict[str, int] = {}
    for name, ns in segments:
        out[name] = out.get(name, 0) + ns
    return {name: ns for name, ns in out.items() if ns}


def drop_zeros(segments: list[tuple[str, int]]) -> list[tuple[str, int]]:
    out: list[tuple[str, int]] = []
    for name, ns in segments:
        if ns and out and out[-1][0] == name:
            out[-1] = (name, out[-1][1] + ns)
        elif ns:
            out.append((name, ns))
    return out

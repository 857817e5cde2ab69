"""Records whose checksums hold and whose contents cannot be: no exception, and it adds up.

Whoever wrote them computed the checksum, so nothing here can be told from the
truth by itself; but no size, count or number may harm the reader, and what is
left out is counted.
"""

from __future__ import annotations

import json
import math
import os
import random
import zlib
from typing import Any

import attrs
import pytest

from tests.core.runs.diagnosing import diagnose
from tests.core.runs.pts_bytes import (
    Step,
    anchor,
    attempt,
    end_record,
    event,
    mixed_steps,
    open_record,
    plain_steps,
    record,
    run_record,
    steps_record,
)
from tests.core.runs.reading import assert_same, read, write

MORE = int(os.environ.get("PYTSCOPE_FUZZ", "1"))
NASTY: list[Any] = [
    *(None, True, -1, 0, 1, 2, 255, 256, 2**31 - 1, 2**31, 2**53, 2**57, 2**62, 2**63 - 1),
    *(-(2**63), 2**63, 10**18, 10**30, 10**4000, 1.5, math.nan, math.inf, -math.inf),
    *("", "NaN", "x" * 300, "\ud800", "\x1b[31m", "\0", "<i8", "<f8", "p", "s", "i", "zz"),
    *([], {}, [[]], [1], {"a": 1}, [["p", "data", "<i4"]]),
]

Parsed = tuple[dict[str, Any], bytes | None]


def every_kind() -> list[bytes]:
    """One attempt with a record of every kind in it."""
    records = attempt(mixed_steps(40), block=10, world=2, job="j", restart=0, config={"a": [1]})
    records[4:4] = [
        event("log", step=3, values={"loss": 1.0, "tokens": 5}),
        event("exception", t=5, step=3, type="E", message="m"),
        record({"b": "spans", "rows": [["t", "p", 1, 2]]}),
        record({"b": "samples", "n": 1}, b"later"),
    ]
    records[9:9] = [
        open_record(2000, 12, ["eval"], [["eval", 10]]),
        event("dropped", t=9, steps=2, bytes=3),
        event("warning", t=9, message="hm"),
        event("provenance", t=9, git={"sha": "1"}, packages={}, seeds={}),
        anchor(3000),
    ]
    return records


def parsed(line: bytes) -> Parsed:
    text, _, data = line.partition(b"\n")
    header = json.loads(text)
    del header["crc"]
    return header, data[:-1] if "len" in header else None


def written(header: dict[str, Any], data: bytes | None) -> bytes:
    """A record with its checksum; `len` is the header's own where it has been changed."""
    text = json.dumps(header, separators=(",", ":")).encode()[:-1]
    line = text + b',"crc":%d}\n' % zlib.crc32(data or b"", zlib.crc32(text))
    return line if data is None else line + data + b"\n"


def changed(chance: random.Random, value: Any, depth: int = 0) -> Any:
    """A value with something in it replaced, moved, doubled or taken out."""
    if depth and chance.random() < 0.25:
        return chance.choice(NASTY)
    if isinstance(value, dict) and value:
        key, copy = chance.choice(list(value)), dict(value)
        what = chance.random()
        if what < 0.1:
            del copy[key]
        elif what < 0.2:
            copy[str(chance.choice(NASTY))[:300]] = chance.choice(NASTY)
        else:
            copy[key] = changed(chance, value[key], depth + 1)
        return copy
    if isinstance(value, list) and value:
        at, items = chance.randrange(len(value)), list(value)
        what = chance.random()
        if what < 0.1:
            del items[at]
        elif what < 0.2:
            items.insert(at, items[at])
        else:
            items[at] = changed(chance, value[at], depth + 1)
        return items
    if type(value) is int and chance.random() < 0.5:
        return value + chance.choice([-1, 1, 10, -10, 10**6, -(10**9), 10**18, 2**61])
    return chance.choice(NASTY)


def with_bytes_changed(chance: random.Random, data: bytes) -> bytes:
    changed_data = bytearray(data)
    for _ in range(chance.choice([1, 4, 40])):
        changed_data[chance.randrange(len(data))] = chance.choice([0, 255, 127, 128, 1])
    return bytes(changed_data)


def lie(seed: int) -> bytes:
    """A file with one to five lies in it."""
    chance = random.Random(seed)
    records = [parsed(line) for line in every_kind()]
    for _ in range(chance.choice([1, 1, 2, 5])):
        at = chance.randrange(len(records))
        header, data = records[at]
        what = chance.random()
        if what < 0.75:
            header = changed(chance, header)
            records[at] = (header, data)
        elif what < 0.85 and data:
            records[at] = (header, with_bytes_changed(chance, data))
        elif what < 0.9:
            records.insert(chance.randrange(len(records)), records[at])
        else:
            records.insert(chance.randrange(len(records)), records.pop(at))
    return b"".join(written(header, data) for header, data in records)


@pytest.mark.parametrize("part", range(4))
def test_any_value_of_a_header_or_a_column(tmp_path, part):
    usable = 0
    for seed in range(part, 300 * MORE, 4):
        usable += diagnose(write(tmp_path, lie(seed))) is not None
    assert usable > 65 * MORE


COLUMN = [["p", "other", "<i8"]]


def block_of(*durations: int, step: int = 0, t0: int = 1000) -> bytes:
    data = b"".join(d.to_bytes(8, "little", signed=True) for d in durations)
    header = {"b": "steps", "pats": [[len(durations), COLUMN]], "step": step}
    return record({**header, "n": len(durations), "t0": t0}, data)


@pytest.mark.parametrize(
    "durations",
    [(10**18,), (2**63 - 1, 1), (-(2**63), 5), (2**54, 2**54, 2**54), (5, -(2**56))],
)
def test_durations_that_no_block_can_hold_are_damage(tmp_path, durations):
    block = block_of(*durations)
    run, report = diagnose(write(tmp_path, [run_record(), block, *attempt(plain_steps(9))[3:]]))
    assert len(run.timelines[0]) == 9
    assert run.timelines[0].attempts[0].damaged_bytes == len(block)
    assert any(f.finding.rule == "COVERAGE.RECORDS_LOST" for f in report.folded)


def test_many_blocks_of_years_do_not_overflow(tmp_path):
    blocks = [block_of(2**55 - 8, step=i, t0=i) for i in range(1000)]
    run, _ = diagnose(write(tmp_path, [run_record(), *blocks]))
    timeline = run.timelines[0]
    assert timeline.wall_ns.tolist() == [2**55 - 8] * len(timeline)
    assert len(timeline) < 1000
    left_out = (1000 - len(timeline)) * len(blocks[-1])
    assert timeline.attempts[0].damaged_bytes == pytest.approx(left_out, rel=0.02)


@pytest.mark.parametrize("t0", [2**58, -(2**58), 10**17 * 9])
def test_a_stamp_that_no_clock_reaches_is_damage(tmp_path, t0):
    block = block_of(5, t0=t0)
    timeline = read(tmp_path, [run_record(), block]).timelines[0]
    assert (len(timeline), timeline.attempts[0].damaged_bytes) == (0, len(block))


def test_a_step_number_beyond_all_steps_is_damage(tmp_path):
    block = block_of(5, step=2**53 + 1)
    timeline = read(tmp_path, [run_record(), block]).timelines[0]
    assert (len(timeline), timeline.attempts[0].damaged_bytes) == (0, len(block))


@pytest.mark.parametrize(
    "line",
    [
        end_record(2**58, 9),
        end_record(10**6, -1),
        end_record(10**6, 2**54),
        end_record(10**6, 9, [["other", 2**58]]),
        end_record(10**6, 9, dropped=-3),
        end_record(10**6, 9, overhead_ns=-3),
        open_record(2**58, 3, [], []),
        open_record(5, 3, [], [["x", -(2**58)]]),
        anchor(2**58, 0),
        event("startup", segments=[["other", 2**58]]),
        event("dropped", steps=-(2**40)),
    ],
)
def test_numbers_that_cannot_be_are_damage(tmp_path, line):
    records = attempt(plain_steps(9), end=False)
    run, _ = diagnose(write(tmp_path, [*records, line]))
    timeline = run.timelines[0]
    assert_same(timeline, plain_steps(9))
    assert timeline.attempts[0].damaged_bytes == len(line)
    assert "cannot be" in run.notes[0].message


def test_counts_that_64_bits_cannot_hold_become_floats(tmp_path):
    steps = plain_steps(9)
    late = [event("log", step=3, values={"tokens": 2**63 - 1}) for _ in range(3)]
    run, _ = diagnose(write(tmp_path, [*attempt(steps, end=False), *late]))
    rows, values = run.timelines[0].column("scalar", "tokens")
    assert rows.tolist() == list(range(9))
    assert values[3] == pytest.approx(3 * 2.0**63)
    assert values[4] == 1004


def test_huge_counts_have_a_huge_rate_and_not_a_negative_one(tmp_path):
    steps = [attrs.evolve(s, scalars={"tokens": 2**62}) for s in plain_steps(40)]
    _, report = diagnose(write(tmp_path, attempt(steps, warmup=0)))
    assert report.analyses["timing"].tokens_per_s > 2.0**62


def test_a_name_given_twice_counts_once_and_the_last_one_holds(tmp_path):
    line = b'{"b":"anchor","t":7,"t":5,"epoch_ns":1,"b":"anchor"'
    line += b',"crc":%d}\n' % zlib.crc32(line)
    run = read(tmp_path, [run_record(), line])
    assert run.notes == ()


def test_more_names_than_a_run_may_have_are_other_and_said(tmp_path):
    blocks = []
    t = 1000
    for i in range(1200):
        step = Step(((f"phase {i}", 5), ("other", 7)), {f"value {i}": 1.0})
        blocks.append(steps_record(i, t, [step]))
        t += step.wall_ns
    run, report = diagnose(write(tmp_path, [run_record(), event("startup", segments=[]), *blocks]))
    timeline = run.timelines[0]
    assert len(timeline) == 1200
    assert len(timeline.phases) == 1025
    assert timeline.phase_ns("other")[0] == 7
    assert timeline.phase_ns("other")[1199] == 12
    assert timeline.steps_ns == 12 * 1200
    assert any(note.kind == "limit" for note in run.notes)
    assert report.analyses["coverage"].notes


def test_values_beyond_the_names_a_run_may_have_are_left_out(tmp_path):
    steps = [Step((("other", 7),), {f"{i}-{k}": 1.0 for k in range(1000)}) for i in range(6)]
    run = read(tmp_path, attempt(steps, block=1))
    assert len(run.timelines[0].scalars) == 4096
    assert any(note.kind == "limit" for note in run.notes)


@pytest.mark.parametrize("world", [2**53])
def test_a_world_beyond_reason_does_not_fill_the_memory(tmp_path, world):
    _, report = diagnose(write(tmp_path, attempt(plain_steps(30), world=world)))
    assert report.analyses["coverage"].ranks_expected == world


def test_text_that_is_no_utf_8_is_damage(tmp_path):
    line = b'{"b":"event","kind":"warning","message":"\xed\xa0\x80"'
    line += b',"crc":%d}\n' % zlib.crc32(line)
    timeline = read(tmp_path, [run_record(), line]).timelines[0]
    assert timeline.attempts[0].damaged_bytes == len(line)

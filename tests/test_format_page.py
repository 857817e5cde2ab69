"""docs/format.md is enough to read a run: a reader written from the page alone agrees."""

from __future__ import annotations

import json
import random
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pytscope
from pytscope.runs.run import Timeline

# --- a reader of one rank's file, from docs/format.md: no numpy, no pytscope -----------

CODES = {"<i4": "i", "<i8": "q", "<f4": "f", "<f8": "d"}


def intact(data: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Records whose checksum holds; after damage, from the next line that has one."""
    at = 0
    while at < len(data):
        end = data.find(b"\n", at)
        line = data[at : end if end >= 0 else len(data)]
        try:
            head = json.loads(line)
            body = data[end + 1 : end + 1 + head.get("len", 0)]
            known = zlib.crc32(body, zlib.crc32(line[: line.rindex(b',"crc":')]))
            good = end >= 0 and known == head["crc"] and len(body) == head.get("len", 0)
        except (ValueError, KeyError, AttributeError):
            good = False
        if good:
            yield head, body
            at = end + 1 + len(body) + ("len" in head)
        else:
            found = data.find(b'\n{"b":', at)
            at = found + 1 if found >= 0 else len(data)


def steps_of(head: dict[str, Any], body: bytes) -> list[dict[str, Any]]:
    several = len(head["pats"]) > 1
    at, made = head["n"] if several else 0, []
    for count, columns, *rest in head["pats"]:
        rows: list[dict[str, Any]] = [{"p": [], "v": {}, **(rest or [{}])[0]} for _ in range(count)]
        for kind, name, dtype in columns:
            values = struct.unpack_from(f"<{count}{CODES[dtype]}", body, at)
            at += struct.calcsize(f"<{count}{CODES[dtype]}")
            for row, value in zip(rows, values, strict=True):
                row["p"].append((name, value)) if kind == "p" else row["v"].update({name: value})
        made.append(iter(rows))
    which = body[: head["n"]] if several else bytes(head["n"])
    return [{"step": head["step"] + i, **next(made[p])} for i, p in enumerate(which)]


def total(segments: list[Any]) -> int:
    return sum(ns for _, ns in segments)


def attempts_of(data: bytes) -> list[dict[str, Any]]:
    """Per attempt: steps, startup, shutdown, lost, finished."""
    attempts: list[dict[str, Any]] = []
    for head, body in intact(data):
        if head["b"] == "run":
            empty = {"steps": [], "t": [], "startup": None, "open": None, "end": None}
            attempts.append({"run": head, **empty})
        now = attempts[-1]
        if head["b"] in ("steps", "end") or head.get("kind") == "startup":
            now["open"] = None
        if head["b"] == "steps":
            rows = steps_of(head, body)
            now["steps"] += rows
            now["t"].append((head["t0"], head["t0"] + sum(total(row["p"]) for row in rows)))
        elif head["b"] in ("open", "end"):
            now[head["b"]] = head
        elif head.get("kind") == "startup":
            now["startup"] = head["segments"]
        elif head.get("kind") == "log" and head["step"] is not None:
            for row in (row["v"] for row in now["steps"] if row["step"] == head["step"]):
                for name, value in head["values"].items():
                    sums = name in ("tokens", "samples")
                    row[name] = row.get(name, 0) + value if sums else value
    return [accounted(attempt) for attempt in attempts]


def accounted(attempt: dict[str, Any]) -> dict[str, Any]:
    end, opened, startup = attempt["end"], attempt["open"], attempt["startup"]
    shutdown, until = (end["shutdown"], end["wall_ns"]) if end else ([], None)
    if opened and startup is None and not attempt["t"]:
        startup = opened["segments"]
    elif opened:
        shutdown, until = opened["segments"], opened["t"]
    at, lost = total(startup or []), 0
    for t0, t1 in attempt["t"]:
        lost, at = lost + t0 - at, t1
    lost += 0 if until is None else until - total(shutdown) - at
    said = {"startup": startup or [], "shutdown": shutdown, "lost": lost}
    wall = total(said["startup"]) + total(shutdown) + lost
    wall += sum(total(row["p"]) for row in attempt["steps"])
    return {**said, "steps": attempt["steps"], "wall": wall, "finished": end is not None}


# --- the end of what the page told ------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 10**9
        self.rng = random.Random(0)

    def __call__(self) -> int:
        self.now += self.rng.randrange(1, 5_000_000)
        return self.now


def train(prof: pytscope.Profiler, steps: int) -> None:
    """Micro-batches, nesting, evaluations, a failure that is caught, late and other values."""
    for i in range(steps):
        try:
            with prof.step(update=i % 3 == 2):
                prof.mark("forward")
                with prof.comm():
                    prof.mark("mine")
                _ = 1 / (i % 7)
                prof.mark("backward")
                prof.log(loss=float("nan") if i % 5 == 0 else i / 3, tokens=i)
        except ZeroDivisionError:
            pass
        if i % 4 == 0:
            with prof.phase("eval"):
                pass
            prof.log(accuracy=i, tokens=1)


def recorder(folder: Path) -> pytscope.Profiler:
    return pytscope.Profiler(folder, flush_every=5, clock=Clock(), inline=True)


def shown(segments: Any) -> list[tuple[str, int]]:
    return [(name, ns) for name, ns in segments if ns]


def compare(file: Path, number: int) -> dict[str, Any]:
    """One attempt by both readers."""
    ours: Timeline = pytscope.open(file, attempt=number).shown
    theirs = attempts_of(file.read_bytes())[number]
    (attempt,) = ours.attempts
    assert shown(theirs["startup"]) == list(attempt.startup)
    assert shown(theirs["shutdown"]) == list(attempt.shutdown)
    assert theirs["lost"] == attempt.lost_ns
    assert theirs["wall"] == ours.measured_ns
    assert theirs["finished"] == attempt.finished
    records = list(ours.records())
    assert len(theirs["steps"]) == len(records)
    for row, record in zip(theirs["steps"], records, strict=True):
        assert row["step"] == record.step
        assert shown(row["p"]) == list(record.segments)
        assert repr(sorted(row["v"].items())) == repr(sorted(record.scalars.items()))
        assert row.get("micro", 1) == record.micro_batches
        assert bool(row.get("flags", 0) & 4) == (pytscope.Flag.FAILED in record.flags)
    return theirs


@pytest.fixture(scope="module")
def resumed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two attempts: one that finished and one that went on from step 20."""
    folder = tmp_path_factory.mktemp("format")
    for first in (0, 20):
        prof = recorder(folder).start(step=first)
        train(prof, 90)
        prof.finish()
    return folder / "rank00000.pts"


@pytest.mark.parametrize("number", [0, 1])
def test_it_reads_finished_and_resumed_attempts(resumed: Path, number: int) -> None:
    read = compare(resumed, number)
    assert read["finished"]
    assert read["lost"] == 0
    assert len(read["steps"]) > 20
    assert any(row.get("flags") == 4 for row in read["steps"])


def test_it_counts_what_damage_costs(resumed: Path, tmp_path: Path) -> None:
    data = resumed.read_bytes()
    at = data.index(b'{"b":"steps"', data.index(b'{"b":"steps"') + 1)
    body = data.index(b"\n", at) + 1
    for place in (at + 3, body - 4, body, body + 20):
        file = tmp_path / "rank00000.pts"
        file.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        assert compare(file, 0)["lost"] > 0


HANGS = """
import sys, time
from pytscope import Profiler
prof = Profiler(sys.argv[1]).start()
for i in range(40):
    with prof.step():
        prof.mark("forward")
prof.begin_step()
prof.mark("forward")
with prof.phase("checkpoint"):
    time.sleep(60)
"""


def test_it_reads_a_run_that_was_killed_in_a_step(tmp_path: Path) -> None:
    file = tmp_path / "rank00000.pts"
    child = subprocess.Popen([sys.executable, "-c", HANGS, str(tmp_path)])
    until = time.monotonic() + 30
    while not (file.exists() and b'{"b":"open"' in file.read_bytes()) and time.monotonic() < until:
        time.sleep(0.05)
    child.kill()
    child.wait()
    read = compare(file, 0)
    assert not read["finished"]
    assert len(read["steps"]) == 40
    assert [name for name, _ in shown(read["shutdown"])][1::2] == ["forward", "checkpoint"]

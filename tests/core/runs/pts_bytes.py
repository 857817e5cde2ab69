"""A second writer of rank files, for the tests of the reader: plain, slow, one record at a time.

It shares no code with `pytscope.recording`, so that a mistake in either the
recorder or the reader cannot hide in something both use.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

EPOCH_NS = 1_700_000_000_000_000_000


@attrs.frozen
class Step:
    """What one step is to read as."""

    segments: tuple[tuple[str, int], ...]
    scalars: Mapping[str, float | int] = attrs.field(factory=dict)
    memory: Mapping[str, int] = attrs.field(factory=dict)
    device: tuple[tuple[str, int], ...] = ()
    extras: Mapping[str, int] = attrs.field(factory=dict)
    micro: int = 1
    flags: int = 0

    @property
    def wall_ns(self) -> int:
        return sum(ns for _, ns in self.segments)

    @property
    def values(self) -> list[tuple[str, str, float | int]]:
        """(kind, name, value) in writing order."""
        found: list[tuple[str, str, float | int]] = [("p", n, ns) for n, ns in self.segments]
        found += [("d", name, ns) for name, ns in self.device]
        found += [("s" if isinstance(v, float) else "i", n, v) for n, v in self.scalars.items()]
        found += [("b", name, size) for name, size in self.memory.items()]
        found += [("x", name, ns) for name, ns in self.extras.items()]
        return found

    @property
    def shape(self) -> tuple[Any, ...]:
        return (self.micro, self.flags, *((kind, name) for kind, name, _ in self.values))


def record(header: Mapping[str, Any], data: bytes | None = None) -> bytes:
    if data is not None:
        header = {**header, "len": len(data)}
    text = json.dumps(header, separators=(",", ":")).encode()[:-1]
    crc = zlib.crc32(data or b"", zlib.crc32(text))
    line = text + b',"crc":%d}\n' % crc
    return line if data is None else line + data + b"\n"


def fits_narrow(value: float) -> bool:
    try:
        (back,) = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:
        return False
    return back == value or math.isnan(value)


def column(kind: str, values: Sequence[float | int]) -> tuple[str, bytes]:
    if kind == "s":
        if all(map(fits_narrow, values)):
            return "<f4", b"".join(struct.pack("<f", v) for v in values)
        return "<f8", b"".join(struct.pack("<d", v) for v in values)
    if all(-(2**31) <= v < 2**31 for v in values):
        return "<i4", b"".join(struct.pack("<i", v) for v in values)
    return "<i8", b"".join(struct.pack("<q", v) for v in values)


def steps_record(first: int, t0: int, steps: Sequence[Step], **extra: Any) -> bytes:
    shapes = list(dict.fromkeys(step.shape for step in steps))
    data = bytes(shapes.index(step.shape) for step in steps) if len(shapes) > 1 else b""
    patterns: list[Any] = []
    for shape in shapes:
        rows = [step for step in steps if step.shape == shape]
        columns = []
        for i, (kind, name, _) in enumerate(rows[0].values):
            dtype, packed = column(kind, [row.values[i][2] for row in rows])
            columns.append([kind, name, dtype])
            data += packed
        pattern: list[Any] = [len(rows), columns]
        if rows[0].micro != 1 or rows[0].flags:
            pattern.append({"micro": rows[0].micro, "flags": rows[0].flags})
        patterns.append(pattern)
    header = {"b": "steps", "pats": patterns, "step": first, "n": len(steps), "t0": t0}
    return record({**header, **extra}, data)


def run_record(**fields: Any) -> bytes:
    header = {"b": "run", "format": "pytscope.steps", "v": 1, "rank": 0, "world": None}
    header |= {"attempt": 0, "step": 0, "name": "test", "config": {}, "environment": {}}
    header |= {"warmup": None, "job": None, "restart": None, "local_rank": None}
    header |= {"flops_per_step": None, "peak_flops": None, "epoch_ns": EPOCH_NS, "mono_ns": 7}
    return record({**header, **fields})


def event(kind: str, t: int = 0, **fields: Any) -> bytes:
    return record({"b": "event", "kind": kind, "t": t, **fields})


def anchor(t: int, epoch_ns: int | None = None) -> bytes:
    return record(
        {"b": "anchor", "t": t, "epoch_ns": EPOCH_NS + t if epoch_ns is None else epoch_ns}
    )


def open_record(t: int, step: int, blocks: Sequence[str], segments: Sequence[Any]) -> bytes:
    header = {"b": "open", "t": t, "step": step, "blocks": list(blocks), "segments": list(segments)}
    return record(header)


def end_record(wall_ns: int, steps: int, shutdown: Sequence[Any] = (), **fields: Any) -> bytes:
    header = {"b": "end", "t": wall_ns, "wall_ns": wall_ns, "steps": steps}
    header |= {"shutdown": list(shutdown), "dropped": 0, "overhead_ns": 5, "writer_ns": 6}
    return record({**header, **fields})


def attempt(
    steps: Sequence[Step],
    *,
    block: int = 5,
    step: int = 0,
    startup: Sequence[tuple[str, int]] = (("other", 1000),),
    shutdown: Sequence[tuple[str, int]] = (("other", 500),),
    end: bool = True,
    **run: Any,
) -> list[bytes]:
    """The records of one undamaged attempt, one an item: run, anchor, startup, blocks, end."""
    t = sum(ns for _, ns in startup)
    epoch = run.get("epoch_ns", EPOCH_NS)
    records = [run_record(step=step, **run), anchor(0, epoch)]
    records.append(event("startup", t, segments=list(startup)))
    for i in range(0, len(steps), block):
        group = steps[i : i + block]
        records.append(steps_record(step + i, t, group))
        t += sum(s.wall_ns for s in group)
    if end:
        records.append(end_record(t + sum(ns for _, ns in shutdown), len(steps), shutdown))
    return records


def plain_steps(n: int, wall_ns: int = 1_000_000) -> list[Step]:
    """Steps of one shape, no two alike."""
    return [
        Step(
            (("data", wall_ns // 4 + i), ("forward", wall_ns // 2), ("other", wall_ns // 4)),
            {"loss": 1.0 / (i + 1), "tokens": 1000 + i},
        )
        for i in range(n)
    ]


def mixed_steps(n: int) -> list[Step]:
    """Steps of several shapes, as a loop that logs, evaluates and collects garbage makes them."""
    steps = []
    for i in range(n):
        segments: list[tuple[str, int]] = [("data", 100 + i), ("forward", 1000)]
        if i % 3 == 0:
            segments += [("gc", 77), ("forward", 11)]
        segments.append(("other", 5))
        if i % 7 == 6:
            segments.insert(0, ("eval", 3_000_000_000 + i))
        scalars: dict[str, float | int] = {"loss": i + 0.1} if i % 2 else {}
        memory = {"alloc": 2**33 + i} if i % 4 == 0 else {}
        steps.append(
            Step(tuple(segments), scalars, memory, micro=1 + i % 2, flags=4 * (i % 5 == 4))
        )
    return steps

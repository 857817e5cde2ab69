"""Runs as pytscope 0.2.x left them, whole and broken, made small where a test wants them."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

Record = dict[str, Any]
EVEN = {"data": 0.002, "forward": 0.010, "backward": 0.020, "optimizer": 0.003}
STEPS = 40


def record(step: int, phases: Any = None, **more: Any) -> Record:
    """One step's record."""
    return {
        "step": step,
        "timestamp": 1.6e9 + step / 7,
        "phases": EVEN if phases is None else phases,
        **more,
    }


def even(steps: int = STEPS, *, first: int = 0, phases: Any = None) -> list[Record]:
    """Records of a healthy run."""
    return [
        record(first + i, phases, scalars={"loss": math.exp(-i / 20), "lr": 0.1})
        for i in range(steps)
    ]


def lines(records: Iterable[Record]) -> list[bytes]:
    """The records as 0.2.x wrote them, compact and a line each."""
    return [json.dumps(r, separators=(",", ":")).encode() + b"\n" for r in records]


def write(
    folder: Path,
    steps: Sequence[Record] | bytes | None = None,
    run: Record | bytes | None = None,
    **meta: Any,
) -> Path:
    """A folder with a step file and, unless `run` is empty bytes, its `run.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    if not isinstance(steps, bytes):
        steps = b"".join(lines(even() if steps is None else steps))
    (folder / "steps.jsonl").write_bytes(steps)
    if run is None:
        run = {"name": folder.name, "config": {"lr": 0.1}, "rank": 0, "world_size": 1, **meta}
    if run != b"":
        text = run if isinstance(run, bytes) else json.dumps(run).encode()
        (folder / "run.json").write_bytes(text)
    return folder


def ranks(
    folder: Path, *of_rank: Sequence[Record] | bytes | None, skip: Iterable[int] = ()
) -> Path:
    """A folder with one folder for every rank but those skipped."""
    for rank, steps in enumerate(of_rank):
        if rank not in skip:
            write(folder / f"rank{rank}", steps, rank=rank, world_size=len(of_rank))
    return folder


def _with(line: bytes) -> Callable[[Path], Path]:
    """A healthy run with one more line."""
    return lambda folder: write(folder, b"".join(lines(even())) + line + b"\n")


def _step(text: str) -> Callable[[Path], Path]:
    """A healthy run with one more step, of which the rest is given."""
    return _with(f'{{"step":{STEPS},{text}}}'.encode())


def _half_garbage(folder: Path) -> Path:
    mixed = [line if i % 2 else b"#!?\n" for i, line in enumerate(lines(even()))]
    return write(folder, b"".join(mixed))


def _siblings(folder: Path) -> Path:
    for rank in range(3):
        name = f"{folder.name}_rank{rank}" if rank else folder.name
        write(folder.with_name(name), rank=rank, world_size=1)
    return folder


def _flat_beside_ranks(folder: Path) -> Path:
    return write(ranks(folder, None, None), even(200))


WHOLE: dict[str, Callable[[Path], Path]] = {
    "ok": write,
    "with_wall": lambda p: write(p, wall_time=1.5, n_steps=STEPS),
    "inf_loss": lambda p: write(p, [*even(), record(STEPS, scalars={"loss": math.inf})]),
    "nan_loss": lambda p: write(p, [*even(), record(STEPS, scalars={"loss": math.nan})]),
    "own_phase": lambda p: write(p, even(phases={**EVEN, "augment": 0.040})),
    "empty_lines": lambda p: write(p, b"\n\r\n".join(lines(even()))),
    "escapes": lambda p: write(p, name="\x1b[2J\x1b]0;title\x07 run", config={"a": "\x1b[31m"}),
    "half_characters": lambda p: write(p, even(phases={"\ud83d": 0.1}), name="\udc00"),
    "ranks": lambda p: ranks(p, None, None, None),
    "siblings": _siblings,
    "no_phases": lambda p: write(p, [{"step": i} for i in range(STEPS)]),
}
"""Runs of which every record counts."""

DAMAGED: dict[str, Callable[[Path], Path]] = {
    "half_garbage": _half_garbage,
    "truncated": lambda p: write(p, b"".join(lines(even()))[:-25]),
    "not_utf8": _with(b'{"step":40,"note":"\xe9","phases":{"forward":0.1}}'),
    "not_an_object": _with(b"[17]"),
    "two_objects": _with(b'{"step":40,"phases":{}} {"step":41,"phases":{}}'),
    "nested": _with(b"[" * 100_000),
    "digits": _with(b'{"step":' + b"9" * 5000 + b"}"),
    "nul_bytes": _with(b"\0" * 4096),
    "one_long_line": _with(b'{"step":40,"phases":{"' + b"x" * (1 << 21) + b'":1}}'),
    "no_step": _with(b'{"phases":{"forward":0.1}}'),
    "step_below_zero": _with(b'{"step":-1}'),
    "step_of_half": _with(b'{"step":40.5}'),
    "step_true": _with(b'{"step":true}'),
    "null_phases": _step('"phases":null'),
    "text_phase": _step('"phases":{"forward":"0.1"}'),
    "nan_phase": _step('"phases":{"forward":NaN,"backward":0.1}'),
    "inf_phase": _step('"phases":{"forward":Infinity}'),
    "huge_phase": _step('"phases":{"forward":' + "9" * 400 + ',"backward":0.1}'),
    "phase_below_zero": _step('"phases":{"forward":-0.1,"backward":0.3}'),
    "text_loss": _step('"phases":{"forward":0.1},"scalars":{"loss":"nan","lr":null}'),
    "scalars_list": _step('"scalars":[1]'),
    "huge_loss": _step('"scalars":{"loss":' + "9" * 400 + "}"),
    "memory_below_zero": _step('"memory":{"alloc":-1,"reserved":NaN}'),
    "run_json_list": lambda p: write(p, run=b"[1, 2]"),
    "run_json_not_utf8": lambda p: write(p, run=b'{"name":"\xe9"}'),
    "run_json_cut": lambda p: write(p, run=b'{"name":"a","con'),
    "run_json_nulls": lambda p: write(p, config=None, environment=[], world_size="4"),
    "no_run_json": lambda p: write(p, run=b""),
    "same_step_twice": lambda p: write(p, [r for r in even() for _ in range(2)]),
    "steps_missing": lambda p: write(p, [*even(30), *even(10, first=35)]),
    "end_missing": lambda p: write(p, wall_time=2.0, n_steps=STEPS + 5),
    "wall_elsewhere": lambda p: write(p, wall_time=30.0, n_steps=STEPS),
    "wall_too_short": lambda p: write(p, wall_time=0.5, n_steps=STEPS),
    "recorded_twice": lambda p: write(p, [*even(), *even()]),
    "one_step": lambda p: write(p, even(1)),
}
"""Runs that give a report, which has to say what is wrong with them."""

RANKS: dict[str, Callable[[Path], Path]] = {
    "rank_missing": lambda p: ranks(p, None, None, None, None, skip=[2]),
    "rank_0_missing": lambda p: ranks(p, None, None, None, skip=[0]),
    "rank_alone": lambda p: ranks(p, None, None, skip=[1]),
    "rank_short": lambda p: ranks(p, None, None, even(3)),
    "rank_empty": lambda p: ranks(p, None, None, b""),
    "rank_garbage": lambda p: ranks(p, None, None, b"?\n" * 30),
    "rank_elsewhere": lambda p: ranks(p, None, even(first=1000)),
    "flat_beside_ranks": _flat_beside_ranks,
}
"""Runs of several ranks that are not all there."""


def _bare(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _meta_alone(folder: Path) -> Path:
    write(folder, b"").joinpath("steps.jsonl").unlink()
    return folder


NOTHING: dict[str, Callable[[Path], Path]] = {
    "empty_folder": _bare,
    "no_step_file": _meta_alone,
    "empty_file": lambda p: write(p, b""),
    "blank_file": lambda p: write(p, b"\n \n" * 9),
    "noise": lambda p: write(p, random.Random(2).randbytes(5000)),
    "zeros": lambda p: write(p, bytes(100_000)),
    "all_below_zero": lambda p: write(p, even(phases={"data": -0.5, "forward": 0.1})),
    "no_rank_with_steps": lambda p: ranks(p, b"", b"?\n"),
    "step_file_is_a_folder": lambda p: _bare(p) and _bare(p / "steps.jsonl").parent,
}
"""What holds no step that could be used."""

EVERY = {**WHOLE, **DAMAGED, **RANKS, **NOTHING}

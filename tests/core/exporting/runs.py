"""Runs with everything that a step record can hold, recorded and made."""

from __future__ import annotations

from pathlib import Path

from pytscope.model.records import Flag
from pytscope.runs.building import make_run
from pytscope.runs.run import Run
from pytscope.runs.sources.run_directory import open_run_directory
from tests.core.runs.pts_bytes import Step, attempt
from tests.core.runs.reading import write

NAN, INF = float("nan"), float("inf")


def recorded(folder: Path, steps: int = 30) -> Run:
    """Steps of several shapes, with gaps, large integers and floats that are not finite."""
    odd = [1.5, NAN, INF, -INF, 5e-324, -0.0, 0.1]
    made = []
    for i in range(steps):
        scalars: dict[str, float | int] = {"tokens": 2**53 + i} if i % 2 else {}
        if i % 3 == 0:
            scalars["loss"] = odd[i % len(odd)]
        segments = (("data", 10 + i), ("forward", 2**33 + i), ("data", 5))
        if i % 7 == 0:
            segments = (("eval", 3), *segments)
        made.append(
            Step(
                segments=segments,
                device=(("forward", i + 1),) if i % 5 == 0 else (),
                scalars=scalars,
                memory={"alloc": i} if i % 4 == 0 else {},
                extras={"launch": i} if i % 6 == 0 else {},
                micro=1 + i % 2,
                flags=int(Flag.SKIPPED) if i % 9 == 0 else 0,
            )
        )
    return open_run_directory(write(folder, attempt(made)))


def made() -> Run:
    """Ranks that logged different things, two attempts, warm-up and a redone step."""
    return make_run(
        {"data": 30, "forward": 20},
        ranks={0: {}, 5: {"my phase": 7}},
        attempts=[(0, 12), (8, 12)],
        scalars={"loss": [1.0, None] * 12},
        memory={"alloc": [None, 5] * 12},
        warmup=2,
        name="made",
    )

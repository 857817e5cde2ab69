"""The loops that are timed, the same lines for both recorders."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from time import process_time_ns, sleep, thread_time_ns
from typing import Any

STEPS = 2_000
REST = 64
"""Entries of an event list that may be of the open step."""

BARE = "pass"
CLOCK = "clock(); clock(); clock(); clock(); clock()"
MARKS = """
prof.begin_step()
prof.mark("forward")
prof.mark("backward")
prof.mark("optimizer")
prof.end_step()
"""
# loss and gradient norm are what `item()` of a 32-bit tensor gives
FULL = """
prof.begin_step()
prof.mark("data")
prof.mark("forward")
prof.mark("backward")
prof.mark("optimizer")
prof.log(loss=2.3456788063049316, grad_norm=0.9876499772071838, lr=0.001)
prof.end_step()
"""
MIXED = """
prof.begin_step()
prof.mark("data")
prof.mark("forward")
prof.mark("backward")
if i in garbage: prof.mark("gc")
prof.mark("optimizer")
if i % 50 == 49: prof.mark("eval")
if i % 10 == 9: prof.log(loss=2.3456788063049316, grad_norm=0.9876499772071838, lr=0.001)
if i in printing: prof.mark("log")
prof.end_step()
"""
"""Logs every 10th step, evaluates every 50th, collects garbage in 3 of 100, prints in 5."""

MORE = """
with prof.step():
    prof.mark("forward")
    prof.mark("backward")
    with prof.comm(): pass
    prof.mark("optimizer")
"""
README = """
with prof.step():
    prof.mark("forward")
    prof.mark("backward")
    prof.mark("optimizer")
    prof.log(loss=0.5)
"""

Loop = Callable[[Any], None]


def made(body: str, *, over: str = "range(steps)", steps: int = STEPS) -> Loop:
    """A function that runs the lines for each step; compiled anew, so that no caches are shared."""
    rng = random.Random(1)
    names: dict[str, Any] = {
        "garbage": frozenset(rng.sample(range(steps), steps * 3 // 100)),
        "printing": frozenset(rng.sample(range(steps), steps * 5 // 100)),
    }
    head = "def loop(prof, steps, clock, garbage, printing):\n"
    lines = [f"        {line}" for line in body.strip().splitlines()]
    exec(f"{head}    for i in {over}:\n" + "\n".join(lines), names)
    loop, garbage, printing = names["loop"], names["garbage"], names["printing"]

    def run(prof: Any) -> None:
        from time import perf_counter_ns

        loop(prof, steps, perf_counter_ns, garbage, printing)

    return run


def timed(loop: Loop, prof: Any, after: Callable[[], None] = lambda: None) -> tuple[float, float]:
    """CPU nanoseconds a step: of this thread, and of the process until `after` returns."""
    whole, own = process_time_ns(), thread_time_ns()
    loop(prof)
    own = thread_time_ns() - own
    after()
    return own / STEPS, (process_time_ns() - whole) / STEPS


def drained(prof: Any) -> Callable[[], None]:
    """Waits until the writer thread has written what there is and rests."""

    def wait() -> None:
        prof._writer.wake()
        before = -1
        while len(prof._events) > REST or process_time_ns() - before > 100_000:
            before = process_time_ns()
            sleep(0.002)

    return wait


def in_memory(prof: Any) -> Any:
    """A recorder whose events stay where they are."""
    prof._writer.stop()
    prof._writer.room = sys.maxsize
    return prof

"""Families of healthy memory, in MiB after every step, and leaks that are to be found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import attrs
import numpy as np

from pytscope.builtin.analyzers.memory import memory
from pytscope.builtin.rules import memory_growth
from pytscope.model.errors import Abstention
from pytscope.runs.run import Run
from pytscope.testing import make_run
from tests.core.builtin.rules.noise import Floats

MIB = 1 << 20
Draw = Callable[[np.random.Generator, int], Floats]
"""Draws MiB held after every step."""
LENGTHS = (60, 200, 1_000)
"""Lengths of run for which the rule's page makes its promise."""


def around(level: float, noise: Callable[[np.random.Generator, int], Floats]) -> Draw:
    return lambda rng, n: level + noise(rng, n)


def ramp(part: float, sd: float = 2.0) -> Draw:
    """Filling up from a quarter, with a time constant that is a part of the run."""
    return lambda rng, n: 2048 - 1536 * np.exp(-np.arange(n) / (part * n)) + rng.normal(size=n) * sd


def sawtooth(steps: float, part: float = 0.0) -> Draw:
    """Up by 4 MiB a step, or to 400 MiB, and back to nothing, from a phase drawn by chance."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        period = part * n or steps
        each = 400.0 / period if part else 4.0
        return 1024 + (np.arange(n) + rng.random() * period) % period * each

    return draw


def steps_up(times: int) -> Draw:
    """A few steps up by 300 MiB at places drawn by chance."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        places = rng.integers(n, size=(times, 1))
        return 1024 + 300.0 * (np.arange(n) > places).sum(axis=0) + rng.normal(size=n) * 2

    return draw


def remembering(rho: float, sd: float) -> Callable[[np.random.Generator, int], Floats]:
    """AR(1) noise."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        shocks = rng.normal(size=n) * sd * math.sqrt(1 - rho**2)
        out, level = np.empty(n), rng.normal() * sd
        for i, shock in enumerate(shocks):
            level = rho * level + shock
            out[i] = level
        return out

    return draw


def cached(draw: Draw, class_mib: float) -> Draw:
    """What a caching allocator keeps of it: the maximum so far, in whole size classes."""
    return lambda rng, n: np.ceil(np.maximum.accumulate(draw(rng, n)) / class_mib) * class_mib


def collected(draw: Draw) -> Draw:
    """Garbage of up to 64 MiB on top, collected at random."""
    return lambda rng, n: draw(rng, n) + 64 * rng.random(n)


NORMAL = around(2048, lambda rng, n: rng.normal(size=n) * 200)
LOGNORMAL = around(1024, lambda rng, n: 200 * rng.lognormal(0, 0.8, n))

FAMILIES: dict[str, Draw] = {
    "constant": lambda _rng, n: np.full(n, 2048.0),
    "constant, 2 MiB of noise": around(2048, lambda rng, n: rng.normal(size=n) * 2),
    "warm-up over a thirtieth of the run": ramp(1 / 30),
    "filling up over a tenth of the run": ramp(1 / 10),
    "filling up over a sixth of the run": ramp(1 / 6),
    "lengths: normal, 200 MiB": NORMAL,
    "lengths: lognormal, 200 MiB": LOGNORMAL,
    "lengths: uniform, 400 MiB": around(1024, lambda rng, n: 400 * rng.random(n)),
    "sawtooth of 10 steps": sawtooth(10),
    "sawtooth of a quarter of the run": sawtooth(0, 1 / 4),
    "garbage of 64 MiB": collected(around(1024, lambda rng, n: rng.normal(size=n))),
    "one step up": steps_up(1),
    "two steps up": steps_up(2),
    "three steps up": steps_up(3),
    "AR(1) rho 0.9, 200 MiB": around(2048, remembering(0.9, 200)),
    "AR(1) rho 0.99, 200 MiB": around(2048, remembering(0.99, 200)),
    "random walk, 1 MiB a step": around(2048, lambda rng, n: np.cumsum(rng.normal(size=n))),
    "random walk, 10 MiB a step": around(20480, lambda rng, n: np.cumsum(rng.normal(size=n) * 10)),
    "largest of normal lengths so far": cached(NORMAL, 2),
    "largest of lognormal lengths so far": cached(LOGNORMAL, 20),
}

WALKS = frozenset(name for name in FAMILIES if name.startswith("random walk"))
"""Families near the limit, of which more runs are needed to know."""
MORE = 4
"""How many times as many."""


def run_of(column: str, mib: Floats) -> Run:
    values = np.maximum(np.rint(mib * MIB), 0).astype(np.int64)
    return make_run({"forward": 10}, memory={column: values.tolist()})


def said(run: Run) -> bool:
    """Whether the rule says something on a run."""
    try:
        return bool(memory_growth(memory(run)))
    except Abstention:
        return False


def memory_alarms(draw: Draw, steps: int, seeds: Iterable[int], column: str = "allocated") -> int:
    """On how many healthy runs the rule says something."""
    rngs = (np.random.default_rng((seed, steps)) for seed in seeds)
    return sum(said(run_of(column, draw(rng, steps))) for rng in rngs)


@attrs.frozen
class Leak:
    """A leak that is to be found.

    Attributes:
        what: The leak and what it is in, in words.
        steps: Length of the run.
        draw: Draws it.
        least: In what part of the runs it is found, at the least.
    """

    what: str
    steps: int
    draw: Draw
    least: float = 0.95

    def found(self, seed: int) -> bool:
        rng = np.random.default_rng((seed, self.steps))
        return said(run_of("allocated", self.draw(rng, self.steps)))


def leak(draw: Draw, mib_a_step: float) -> Draw:
    return lambda rng, n: draw(rng, n) + mib_a_step * np.arange(n)


def after_evaluations(every: int, mib: float) -> Draw:
    return lambda rng, n: (
        1024 + mib * ((np.arange(n) + rng.integers(every)) // every) + rng.normal(size=n) * 2
    )


QUIET = FAMILIES["constant, 2 MiB of noise"]
LEAKS = (
    Leak("4 MiB a step in 60 steps; 2 MiB of noise", 60, leak(QUIET, 4.0)),
    Leak("0.2 MiB a step in 300 steps; 2 MiB of noise", 300, leak(QUIET, 0.2), least=0.85),
    Leak("0.4 MiB a step in 300 steps; sawtooth of 10 steps", 300, leak(sawtooth(10), 0.4)),
    Leak("0.5 MB a step in 100,000 steps; constant", 100_000, leak(FAMILIES["constant"], 0.477)),
    Leak(
        "1 MiB a step in 1,000 steps; uniform lengths up to 400 MiB",
        1_000,
        leak(FAMILIES["lengths: uniform, 400 MiB"], 1.0),
    ),
    Leak(
        "2 MiB a step in 2,000 steps; normal lengths of 200 MiB",
        2_000,
        leak(NORMAL, 2.0),
        least=0.8,
    ),
    Leak("20 MiB with every 15th of 300 steps (evaluation)", 300, after_evaluations(15, 20.0)),
)

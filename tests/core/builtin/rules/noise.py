"""Families of healthy step times, and how sure a count of false alarms makes one."""

from __future__ import annotations

import functools
import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from pytscope.analyses import Interruptions, Timing
from pytscope.builtin.analyzers import interruptions, timing
from pytscope.model.errors import Inconclusive
from pytscope.model.findings import Finding
from pytscope.plugins.declare import Rule
from pytscope.runs.run import Run
from pytscope.testing import make_run

Floats = npt.NDArray[np.float64]
Family = Callable[[np.random.Generator, int], Floats]
"""Draws a factor for the duration of every step; its median is about 1."""

PHASES_MS = {"data": 0.8, "forward": 6.0, "backward": 12.0, "optimizer": 1.2}


def lognormal(sd: float) -> Family:
    """Independent noise."""
    return lambda rng, n: rng.lognormal(0.0, sd, n)


def autoregressive(rho: float, sd: float) -> Family:
    """Noise that remembers: AR(1) of the logarithm."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        shocks = rng.normal(size=n) * sd * math.sqrt(1 - rho**2)
        logs, level = np.empty(n), rng.normal() * sd
        for i, shock in enumerate(shocks):
            level = rho * level + shock
            logs[i] = level
        return np.exp(logs)

    return draw


def student(freedom: float, sd: float) -> Family:
    """Noise with a heavy tail."""
    return lambda rng, n: np.exp(rng.standard_t(freedom, n) * sd)


def skewed(shape: float, scale: float) -> Family:
    """Steps that are never fast and sometimes slow."""
    return lambda rng, n: 1.0 + rng.gamma(shape, scale, n)


def mixed(share: float, sd: float, wide: float) -> Family:
    """Noise in which some steps are drawn more widely."""
    return lambda rng, n: np.exp(rng.normal(size=n) * np.where(rng.random(n) < share, wide, sd))


def drifting(times: float, sd: float) -> Family:
    """A slow drift to a multiple of the first duration."""
    return lambda rng, n: np.exp(np.linspace(0, math.log(times), n) + rng.normal(size=n) * sd)


def periodic(every: float, swing: float, sd: float) -> Family:
    """Durations that swing with a period, from a phase drawn by chance."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        angle = 2 * math.pi * (np.arange(n) / every + rng.random())
        return (1 + swing * np.sin(angle)) * rng.lognormal(0.0, sd, n)

    return draw


def settling(first: float, part: float, sd: float) -> Family:
    """A warm-up: from a multiple of the duration down, or up, to it within a part of the run."""
    return lambda rng, n: (
        (1 + (first - 1) * np.exp(-np.arange(n) / max(part * n, 1e-9))) * rng.lognormal(0.0, sd, n)
    )


def quantised(family: Family, levels: int) -> Family:
    """A clock so coarse that a typical duration is a few ticks."""
    return lambda rng, n: np.maximum(np.rint(family(rng, n) * levels), 1) / levels


def stepping(times: float, sd: float) -> Family:
    """A change of level in the middle."""
    return lambda rng, n: np.where(np.arange(n) < n // 2, 1.0, times) * rng.lognormal(0.0, sd, n)


FAMILIES: dict[str, Family] = {
    "lognormal 5 %": lognormal(0.05),
    "lognormal 10 %": lognormal(0.10),
    "lognormal 30 %": lognormal(0.30),
    "AR(1) rho 0.5, 10 %": autoregressive(0.5, 0.10),
    "AR(1) rho 0.9, 10 %": autoregressive(0.9, 0.10),
    "AR(1) rho 0.9, 20 %": autoregressive(0.9, 0.20),
    "Student t4, 5 %": student(4, 0.05),
    "Student t4, 10 %": student(4, 0.10),
    "Student t3, 10 %": student(3, 0.10),
    "5 % of steps drawn at 30 %, the rest at 10 %": mixed(0.05, 0.10, 0.30),
    "drift to 2 times, 10 %": drifting(2.0, 0.10),
    "level times 3 in the middle, 10 %": stepping(3.0, 0.10),
    "period of 20 steps, 20 %": periodic(20, 0.20, 0.05),
    "period of 100 steps, 20 %": periodic(100, 0.20, 0.05),
    "6 ticks of the clock, 10 %": quantised(lognormal(0.10), 6),
    "warm-up from 3 times, 10 %": settling(3.0, 0.02, 0.10),
}
"""What the pages of the rules promise to stay quiet on."""

WARMING_UP = frozenset({"warm-up from 3 times, 10 %"})
"""Families whose runs are made with automatic warm-up, as runs are by default."""

RELATIONS: dict[str, Family] = {
    name: family
    for name, family in FAMILIES.items()
    if not name.startswith(("drift", "level", "warm-up"))
} | {
    "drift to 1.33 times, 10 %": drifting(1.33, 0.10),
    "warm-up from 3 times, 10 %": settling(3.0, 0.05, 0.10),
    "warm-up from 0.3 times, 10 %": settling(0.3, 0.03, 0.10),
}
"""How the relation of one phase to the others may vary without anything being wrong."""

BEYOND: dict[str, Family] = {
    "Student t3, 20 %": student(3, 0.20),
    "skewed: 1 + Gamma(0.5) x 20 %": skewed(0.5, 0.20),
    "lognormal 50 %": lognormal(0.50),
}
"""Noise beyond that promise, printed to show where it ends."""


def healthy_run(family: Family, steps: int, seed: int, *, warmup: int | None = 0) -> Run:
    """A run whose every phase follows one draw of a family; data varies by itself besides."""
    rng = np.random.default_rng((seed, steps))
    factor = family(rng, steps)
    phases = {name: (ms * factor).tolist() for name, ms in PHASES_MS.items()}
    phases["data"] = (PHASES_MS["data"] * rng.lognormal(0.0, 0.5, steps)).tolist()
    return make_run(phases, warmup=warmup)


def related_run(
    family: Family, steps: int, seed: int, *, ratio: float = 2.0, update: float = 1 / 16
) -> Run:
    """A run in which backward and optimizer each follow a draw of their own beside the rest.

    Args:
        family: How they vary.
        steps: Number of steps.
        seed: Seed of all draws.
        ratio: What backward truly takes, as a multiple of forward.
        update: What the optimizer truly takes, as a part of compute.
    """
    rng = np.random.default_rng((seed, steps, 1))
    forward = PHASES_MS["forward"] * rng.lognormal(0.0, 0.10, steps)
    backward = ratio * forward * family(rng, steps)
    optimizer = update / (1 - update) * (1 + ratio) * forward * family(rng, steps)
    phases = {"forward": forward, "backward": backward, "optimizer": optimizer}
    return make_run({name: ms.tolist() for name, ms in phases.items()})


def interrupted_run(family: Family, steps: int, seed: int) -> Run:
    """A run that copies and collects as healthy ones do, recorded with waiting for the device.

    Copies take 3 % of the step; collections come at random and take 0.5 % of the wall, in
    pauses whose usual length is drawn for each run.
    """
    rng = np.random.default_rng((seed, steps, 2))
    factor = family(rng, steps)
    phases = {name: (ms * factor).tolist() for name, ms in PHASES_MS.items()}
    step_ms = sum(PHASES_MS.values())
    phases["h2d"] = (0.03 * step_ms * factor * rng.lognormal(0.0, 0.5, steps)).tolist()
    pause = step_ms * rng.choice([0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
    pausing = rng.random(steps) < 0.005 * step_ms / pause
    phases["gc"] = np.where(pausing, pause * rng.lognormal(0.0, 0.3, steps), 0.0).tolist()
    said = {"kind": "instrumentation", "seams": ["h2d", "gc"], "sync": True}
    return make_run(phases, last_attempt={"events": [said]})


@functools.cache
def _needs(check: Callable[..., object]) -> tuple[type, ...]:
    """What a rule's function needs beside `Timing`."""
    parameters = inspect.signature(check, eval_str=True).parameters.values()
    return tuple(p.annotation for p in parameters if p.kind is not p.KEYWORD_ONLY)[1:]


def said_by(rule: Rule, run: Run, timed: Timing | None = None) -> list[Finding]:
    """What a rule says; it needs `Timing`, may need `Interruptions`, and gets nothing else."""
    known = {Run: lambda: run, Interruptions: lambda: interruptions(run)}
    given = [known[need]() if need in known else None for need in _needs(rule.check)]
    return list(rule(timed or timing(run), *given))


def alarms(rules: Iterable[Rule], runs: Iterable[Run]) -> Counter[str]:
    """On how many runs each rule says something, as `said_by` does."""
    fired: Counter[str] = Counter()
    for run in runs:
        timed = timing(run)
        for rule in rules:
            try:
                fired[rule.id] += bool(said_by(rule, run, timed))
            except Inconclusive:
                continue
    return fired


def false_alarms(rule: Rule, family: Family, steps: int, seeds: Iterable[int]) -> int:
    """On how many healthy runs a rule says something."""
    warmup = None if family in [FAMILIES[name] for name in WARMING_UP] else 0
    runs = (healthy_run(family, steps, seed, warmup=warmup) for seed in seeds)
    return alarms([rule], runs)[rule.id]


def upper_bound(fired: int, runs: int, level: float = 0.95) -> float:
    """One-sided Clopper-Pearson bound on the rate behind a count of alarms."""
    low, high = fired / runs, 1.0
    for _ in range(60):
        rate = (low + high) / 2
        tail = sum(
            math.comb(runs, k) * rate**k * (1 - rate) ** (runs - k) for k in range(fired + 1)
        )
        low, high = (rate, high) if tail > 1 - level else (low, rate)
    return high

"""Families of healthy step times, and how sure a count of false alarms makes one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from pytscope.builtin.analyzers import timing
from pytscope.model.errors import Inconclusive
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
}
"""What the pages of the rules promise to stay quiet on."""

BEYOND: dict[str, Family] = {
    "Student t3, 20 %": student(3, 0.20),
    "skewed: 1 + Gamma(0.5) x 20 %": skewed(0.5, 0.20),
    "lognormal 50 %": lognormal(0.50),
}
"""Noise beyond that promise, printed to show where it ends."""


def healthy_run(family: Family, steps: int, seed: int) -> Run:
    """A run whose every phase follows one draw of a family; data varies by itself besides."""
    rng = np.random.default_rng((seed, steps))
    factor = family(rng, steps)
    phases = {name: (ms * factor).tolist() for name, ms in PHASES_MS.items()}
    phases["data"] = (PHASES_MS["data"] * rng.lognormal(0.0, 0.5, steps)).tolist()
    return make_run(phases)


def false_alarms(rule: Rule, family: Family, steps: int, seeds: Iterable[int]) -> int:
    """On how many healthy runs a rule says something that needs `Timing` and may have more."""
    fired = 0
    optional = [None] * (rule.check.__code__.co_argcount - 1)
    for seed in seeds:
        try:
            fired += bool(rule(timing(healthy_run(family, steps, seed)), *optional))
        except Inconclusive:
            continue
    return fired


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

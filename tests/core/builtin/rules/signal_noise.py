"""Unrelated noisy axes, and moments that are none of chance, for the rates and the power."""

from __future__ import annotations

from collections.abc import Iterable

import attrs
import numpy as np

from pytscope.analyses.spikes import TITLES
from pytscope.builtin.analyzers import event_mask, instability, spikes
from pytscope.builtin.rules import correlated_instability
from pytscope.model.errors import Abstention
from pytscope.model.findings import Finding
from pytscope.runs.run import Run
from pytscope.testing import make_run
from tests.core.builtin.rules.noise import (
    FAMILIES,
    Family,
    Floats,
    autoregressive,
    lognormal,
    mixed,
    skewed,
    student,
)

LENGTHS = (100, 1_000)


def stepping_alone(times: float, sd: float) -> Family:
    """A change of level in every axis, at a place of its own."""
    return lambda rng, n: (
        np.where(np.arange(n) < rng.integers(n), 1.0, times) * rng.lognormal(0.0, sd, n)
    )


def bursting(share: float, times: float, sd: float) -> Family:
    """Stretches of one to five steps, of every axis by itself, that are far above the rest."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        values = rng.lognormal(0.0, sd, n)
        for start in np.flatnonzero(rng.random(n) < share):
            values[start : start + rng.integers(1, 6)] *= times
        return values

    return draw


UNRELATED: dict[str, Family] = {
    name: family for name, family in FAMILIES.items() if not name.startswith(("level", "warm-up"))
} | {
    "Student t3, 20 %": student(3, 0.20),
    "AR(1) rho 0.99, 20 %": autoregressive(0.99, 0.20),
    "lognormal 50 %": lognormal(0.50),
    "10 % of steps drawn at 50 %, the rest at 5 %": mixed(0.10, 0.05, 0.50),
    "level times 3 somewhere in every axis, 10 %": stepping_alone(3.0, 0.10),
}
"""What each axis does by itself; the page of the rule promises to stay quiet on it."""

BEYOND_NOISE: dict[str, Family] = {
    "skewed: 1 + Gamma(0.5) x 20 %": skewed(0.5, 0.20),
    "bursts of 1 to 5 steps at 4 times, one in 200 steps": bursting(0.005, 4.0, 0.05),
    "bursts of 1 to 5 steps at 4 times, one in 50 steps": bursting(0.02, 4.0, 0.05),
}
"""Axes that keep upsetting themselves, printed to show where the promise ends."""


def unrelated_run(family: Family, steps: int, seed: int, axes: int = 3) -> Run:
    """A run whose loss, gradient norm, step time and memory each follow a draw of their own."""
    rng = np.random.default_rng((seed, steps, 5))
    falling = 1 + 2 / (1 + 0.05 * np.arange(steps))
    scalars = {
        "loss": (falling * family(rng, steps)).tolist(),
        "grad_norm": family(rng, steps).tolist(),
    }
    phases = {"forward": (10 * family(rng, steps)).tolist()}
    held = (1e9 * family(rng, steps)).astype(np.int64).tolist()
    memory = {"allocated": held} if axes > len(scalars) + 1 else None
    return make_run(phases, scalars=scalars, memory=memory)


def said(run: Run) -> list[Finding]:
    """What the rule says of a run; nothing where it abstains."""
    mask = event_mask(run)
    try:
        found = spikes(run, mask)
        return list(correlated_instability(instability(run, found, mask), found))
    except Abstention:
        return []


def signal_alarms(family: Family, steps: int, seeds: Iterable[int], axes: int = 3) -> int:
    """On how many runs of unrelated axes the rule says something."""
    return sum(bool(said(unrelated_run(family, steps, seed, axes))) for seed in seeds)


@attrs.frozen
class Upset:
    """Something that happens to several axes at once.

    Attributes:
        what: What it is, as the table names it.
        steps: Steps of the run.
        times: Multiple of the usual, by axis.
        lasting: Steps it lasts.
        lag: Steps by which the gradient norm comes first.
        number: How often it happens.
        sd: Noise of every axis.
        least: Least part of the runs in which it is found.
    """

    what: str
    steps: int
    times: dict[str, float]
    lasting: int = 3
    lag: int = 0
    number: int = 1
    sd: float = 0.05
    least: float = 0.0

    def run(self, seed: int) -> Run:
        """A run that it happens in, at places drawn by chance."""
        rng = np.random.default_rng((seed, self.steps, 6))
        axes = {name: rng.lognormal(0.0, self.sd, self.steps) for name in self.times}
        room = (self.steps - 40) // self.number
        for i in range(self.number):
            start = 25 + i * room + int(rng.integers(max(1, room - self.lasting - self.lag)))
            for name, times in self.times.items():
                first = start - (self.lag if name == "grad_norm" else 0)
                axes[name][first : first + self.lasting] *= times
        axes["loss"] *= 1 + 2 / (1 + 0.05 * np.arange(self.steps))
        forward = (10 * axes.pop("step_time", np.ones(self.steps))).tolist()
        return make_run(
            {"forward": forward}, scalars={name: axis.tolist() for name, axis in axes.items()}
        )

    def found(self, seed: int) -> bool:
        """Whether the rule finds it, with the axes that it happens to."""
        titles = {TITLES[name] for name in self.times}
        return any(
            titles == {e.metric.split(",")[0] for e in finding.evidence if "highest" in e.metric}
            for finding in said(self.run(seed))
        )


THREE = {"loss": 2.0, "grad_norm": 5.0, "step_time": 2.0}
UPSETS: tuple[Upset, ...] = (
    Upset("three axes at once: loss and step time x2, gradient norm x5", 100, THREE, least=0.95),
    Upset("the same, in a longer run", 1_000, THREE, least=0.95),
    Upset("the same, gradient norm 2 steps before", 1_000, THREE, lag=2, least=0.95),
    Upset("the same, gradient norm 2 steps before", 100, THREE, lag=2),
    Upset("loss x2 and gradient norm x5", 100, {"loss": 2.0, "grad_norm": 5.0}),
    Upset("loss x2 and gradient norm x5", 200, {"loss": 2.0, "grad_norm": 5.0}, least=0.95),
    Upset("loss x2 and gradient norm x5", 1_000, {"loss": 2.0, "grad_norm": 5.0}, least=0.95),
    Upset("loss x1.3 and gradient norm x2", 1_000, {"loss": 1.3, "grad_norm": 2.0}),
    Upset("loss x1.5 and gradient norm x2", 1_000, {"loss": 1.5, "grad_norm": 2.0}),
    Upset(
        "loss x2 and gradient norm x5, 4 steps before",
        1_000,
        {"loss": 2.0, "grad_norm": 5.0},
        lag=4,
    ),
    Upset(
        "loss x2 and gradient norm x5, five times, 2 steps before",
        1_000,
        {"loss": 2.0, "grad_norm": 5.0},
        lag=2,
        number=5,
        least=0.95,
    ),
)
"""What the rule ought to find, and how often it must."""

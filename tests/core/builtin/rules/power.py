"""Effects that the statistical rules claim to find, and whether they do."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from pytscope.builtin.rules import (
    backward_heavy,
    dataloader_bound,
    gc_pauses,
    h2d_bound,
    jitter,
    optimizer_heavy,
    recompilation,
)
from pytscope.model.errors import Inconclusive
from pytscope.model.findings import Finding
from pytscope.plugins.declare import Rule
from pytscope.runs.run import Run
from pytscope.testing import make_run
from tests.core.builtin.rules.noise import FAMILIES, Floats, said_by

NOISE = "AR(1) rho 0.9, 10 %"


@attrs.frozen
class Claim:
    """An effect, and the rule that is to find it.

    Attributes:
        rule: The rule.
        what: The effect and the noise that it is in, in words.
        make: Makes a run that has it, from a seed.
        right: Whether a finding says what is there.
        least: In what part of the runs it is found, at the least.
    """

    rule: Rule
    what: str
    make: Callable[[int], Run]
    right: Callable[[Finding, int], bool] = lambda _finding, _seed: True
    least: float = 0.9

    def found(self, seed: int) -> bool:
        """Whether the rule finds it in one run, and says the right thing."""
        try:
            said = said_by(self.rule, self.make(seed))
        except Inconclusive:
            return False
        return any(self.right(finding, seed) for finding in said)


def _noise(seed: int, steps: int, stream: int = 0) -> Floats:
    return FAMILIES[NOISE](np.random.default_rng((seed, stream)), steps)


def _run(seed: int, steps: int, **factors: Floats | float) -> Run:
    base = {"data": 0.3, "forward": 6.0, "backward": 12.0, "optimizer": 1.2}
    base |= {name: 1.0 for name in ("h2d", "gc", "compile") if name in factors}
    return make_run(
        {
            name: (ms * factors.get(name, 1.0) * _noise(seed, steps, i)).tolist()
            for i, (name, ms) in enumerate(base.items())
        },
        last_attempt={"events": [{"kind": "instrumentation", "seams": list(base), "sync": True}]},
    )


def _after(steps: int, at: int, times: float) -> Floats:
    return np.where(np.arange(steps) < at, 1.0, times)


def _every(steps: int, every: int, seed: int, times: float) -> Floats:
    return np.where(np.arange(steps) % every == seed % every, times, 0.0)


def _names(at: int, slack: int) -> Callable[[Finding, int], bool]:
    return lambda finding, _seed: abs(finding.steps[0][0] - at) <= slack


CLAIMS = (
    Claim(
        jitter,
        f"every 20th of 300 steps takes 3 times as long; {NOISE}",
        lambda seed: _run(
            seed,
            300,
            **dict.fromkeys(
                ("forward", "backward"), np.where(np.arange(300) % 20 == seed % 20, 3.0, 1.0)
            ),
        ),
        lambda finding, _seed: "every 20 steps" in finding.title,
    ),
    Claim(
        dataloader_bound,
        f"a loader that takes 15 % of the step in 100 steps; {NOISE}",
        lambda seed: _run(seed, 100, data=11.3),
    ),
    Claim(
        backward_heavy,
        f"backward takes 7 times forward in 100 steps; {NOISE}",
        lambda seed: _run(seed, 100, backward=3.5),
        least=0.7,
    ),
    Claim(
        backward_heavy,
        f"backward takes twice as long from step 120 of 200, named within 10; {NOISE}",
        lambda seed: _run(seed, 200, backward=_after(200, 120, 2.0)),
        _names(120, 10),
        least=0.5,
    ),
    Claim(
        backward_heavy,
        f"backward takes twice as long from step 700 of 1,000, named within 10; {NOISE}",
        lambda seed: _run(seed, 1_000, backward=_after(1_000, 700, 2.0)),
        _names(700, 10),
        least=0.8,
    ),
    Claim(
        backward_heavy,
        f"backward grows to 4 times its time over 300 steps; {NOISE}",
        lambda seed: _run(seed, 300, backward=np.linspace(1.0, 4.0, 300)),
        lambda finding, _seed: "grew" in finding.detail,
        least=0.2,
    ),
    Claim(
        optimizer_heavy,
        f"the optimizer takes a third of compute in 100 steps; {NOISE}",
        lambda seed: _run(seed, 100, optimizer=7.5),
    ),
    Claim(
        h2d_bound,
        f"copies that take 8 % of the step in 100 steps; {NOISE}",
        lambda seed: _run(seed, 100, h2d=1.7),
    ),
    Claim(
        recompilation,
        f"one in every 25 of 300 steps compiles for 10 steps; {NOISE}",
        lambda seed: _run(seed, 300, compile=_every(300, 25, seed, 195.0)),
        lambda finding, _seed: "one in every 25" in finding.title,
    ),
    Claim(
        gc_pauses,
        f"one in every 30 of 300 steps is stopped for as long as it takes; {NOISE}",
        lambda seed: _run(seed, 300, gc=_every(300, 30, seed, 19.5)),
        lambda finding, _seed: "one in every 30" in finding.detail,
    ),
)

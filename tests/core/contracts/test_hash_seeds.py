"""The same bytes under every hash seed and order of discovery."""

from __future__ import annotations

from pathlib import Path

from tests.core.plugins.throwaway import distribution, pack, python

ANALYSE = """
import sys
import pytscope
from pytscope import RenderOptions
from pytscope.plugins.guarded import render
from pytscope.plugins.registry import load_registry
from pytscope.testing import make_run
run = make_run(
    {"data": [40, 45] * 20, "forward": 20, "log": 5, "mine": 1, "yours": 1},
    ranks={0: {}, 2: {"data": 50}, 1: {"forward": 30}},
    scalars={"loss": 1.0, "lr": 0.1},
    flops_per_step=1e9,
    peak_flops=1e12,
)
report = pytscope.analyze(run, show_plugins=True)
options = RenderOptions(show_passed=True, verbose=True, reproducible=True)
reporters = load_registry().reporters
for name in ("json", "text"):
    sys.stdout.write(render(reporters, name, report, options)[0])
"""
MANY = """
    for name in {"alpha", "beta", "gamma", "delta", "epsilon"}:
        yield Finding(severity=Severity.LOW, title=name, explains={"TIMING.JITTER", "A.B"})
"""
ANALYZERS = """
import attrs
from pytscope import Analyzer, Run, hookimpl
from pytscope.analyses import Budget, BudgetPart

@attrs.frozen(eq=False, kw_only=True)
class {name}(BudgetPart):
    pass

def analyse(run: Run) -> {name}:
    return {name}(take_from="data_stall", give_to="{name}", ns=1000, why="of a test")

@hookimpl
def pytscope_analyzers():
    return [Analyzer("{name}", analyse)]
"""


def test_five_hash_seeds_and_both_scan_orders(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    core = distribution(tmp_path / "core", "pytscope-core", version="0.3.0")
    distribution(first, "zeta-pack", pack("ZETA.SET", MANY.strip()))
    distribution(first, "wait-pack", ANALYZERS.format(name="Wait"))
    distribution(second, "alpha-pack", pack("ALPHA.SET", MANY.strip()))
    distribution(second, "bubble-pack", ANALYZERS.format(name="Bubble"))
    distribution(second, "thief-pack", pack("ZETA.SET", "return []"))
    outputs = set()
    for seed in range(5):
        folders = (first, second) if seed % 2 else (second, first)
        done = python(ANALYSE, *folders, core, environ={"PYTHONHASHSEED": str(seed)})
        assert done.returncode == 0, done.stderr
        outputs.add(done.stdout)
    (output,) = outputs
    assert "ALPHA.SET" in output
    assert "thief" in output
    assert "Bubble" in output

"""Fits the example in each of its scenarios, one after the other, with any number of ranks.

    python -m tests.lightning.scenarios FOLDER RANKS

Lightning starts the other ranks by the same command line.
"""

from __future__ import annotations

import sys
import warnings
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SCENARIOS: dict[str, list[str]] = {
    "healthy": [],
    "slow_collator": ["--slow-collator"],
    "slow_validation": ["--slow-validation", "--validate-every", "5"],
    "frequent_checkpoints": ["--save-every", "1"],
}
STEPS = 200


def example() -> Any:
    """The module of the example."""
    spec = spec_from_file_location("lightning_fit", ROOT / "examples" / "lightning_fit.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fit(folder: Path, name: str, ranks: int) -> None:
    """Fit it in one scenario."""
    module = example()
    size = ["--steps", str(STEPS), "--width", "24", "--devices", str(ranks)]
    module.train(module.parsed([*SCENARIOS[name], *size, "--run-dir", str(folder / name)]))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for scenario in SCENARIOS:
        fit(Path(sys.argv[1]), scenario, int(sys.argv[2]))

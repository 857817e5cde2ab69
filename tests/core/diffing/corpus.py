"""Public training logs beside the repository, as runs; not part of it."""

from __future__ import annotations

import csv
from pathlib import Path

import attrs
import numpy as np
import pytest

from pytscope.runs.run import Run
from pytscope.testing import make_run

METRICS = Path(__file__).parents[4] / "shared" / "data" / "metrics_csv"


def rows_of(name: str) -> list[dict[str, str]]:
    """Rows of one of the logs; the test is skipped, visibly, where it is not there."""
    path = METRICS / name
    if not path.is_file():
        pytest.skip(f"needs {name} in {METRICS}")
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def logged_run(name: str) -> Run:
    """A log as a run whose steps have the log's numbers."""
    rows = rows_of(name)
    columns = {
        "loss": [float(row["train_loss"]) if row["train_loss"] else None for row in rows],
        "val_loss": [float(row["val_loss"]) if row["val_loss"] else None for row in rows],
    }
    scalars = {key: values for key, values in columns.items() if any(values)}
    assert [int(row["step"]) for row in rows] == list(range(len(rows))), name
    return make_run({"forward": 1}, scalars=scalars, name=name)


def told_run(value: float, name: str, **settings: object) -> Run:
    """A run of which the final validation loss alone is known."""
    run = make_run({"forward": 1}, steps=1, scalars={"val_loss": [value]}, name=name)
    return attrs.evolve(run, config=settings)


def noisy_loss(seed: int, steps: int = 400, *, shift: float = 0.0) -> list[float]:
    """A falling loss with noise of its own."""
    rng = np.random.default_rng(seed)
    level = 3.0 + 4.0 * np.exp(-np.arange(steps) / 40) + shift + rng.normal(0, 0.01)
    return (level + rng.normal(0, 0.05, steps)).tolist()

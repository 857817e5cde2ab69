"""Public logs as series and as runs; labelled, and kept beside the repository."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from pytscope.runs.attempt import Attempt
from pytscope.runs.run import ColumnStore, Run, Timeline

DATA = Path(__file__).parents[4] / "shared" / "data"
FOLDERS = ("trainer_states", "metrics_csv")
STEP_NS = 10_000_000

Series = dict[str, tuple[np.ndarray, np.ndarray]]
"""Steps and values by name, of `loss` and `grad_norm`."""


def labelled() -> list[dict[str, Any]]:
    """Every log with its label, its folder added; none where the data is not here."""
    found: list[dict[str, Any]] = []
    for folder in FOLDERS:
        manifest = DATA / folder / "manifest.json"
        if manifest.exists():
            found += [{**entry, "folder": folder} for entry in json.loads(manifest.read_text())]
    return [entry for entry in found if not entry["file"].endswith("seed_groups.csv")]


def read(entry: dict[str, Any]) -> Series:
    """Loss and gradient norm of a log; of a step that is there twice the last."""
    path = DATA / entry["folder"] / entry["file"]
    if path.suffix == ".json":
        rows = [row for row in json.loads(path.read_text())["log_history"] if "loss" in row]
        return _series(rows, "step", {"loss": "loss", "grad_norm": "grad_norm"})
    with path.open() as file:
        table = list(csv.DictReader(file))
    names = {"loss": "loss", "train_loss": "loss", "grad_norm": "grad_norm"}
    return _series(table, "global_step" if "global_step" in table[0] else "step", names)


def _series(rows: list[dict[str, Any]], step: str, names: dict[str, str]) -> Series:
    found: Series = {}
    for column, name in names.items():
        values = {
            int(float(r[step])): _number(r[column]) for r in rows if r.get(column) not in ("", None)
        }
        if values:
            steps = sorted(values)
            found[name] = np.array(steps), np.array([values[s] for s in steps])
    return found


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def as_run(series: Series) -> Run:
    """A run that logged some series, of steps that all take the same."""
    steps = np.unique(np.concatenate([at for at, _ in series.values()]))
    columns = {name: (np.searchsorted(steps, at), values) for name, (at, values) in series.items()}
    zeros = np.zeros(len(steps), np.int64)
    timeline = Timeline(
        0,
        (Attempt(0, int(steps[0])),),
        step=steps,
        attempt=zeros,
        start_ns=np.arange(len(steps)) * STEP_NS,
        wall_ns=np.full(len(steps), STEP_NS),
        flags=zeros,
        micro_batches=zeros + 1,
        columns=ColumnStore(
            {"scalar": tuple(columns), "phase": ("forward",)},
            lambda kind, name: (
                columns[name] if kind == "scalar" else (np.arange(len(steps)), zeros + STEP_NS)
            ),
            lambda _row: (("forward", STEP_NS),),
        ),
    )
    return Run(path="", name="log", timelines=(timeline,))

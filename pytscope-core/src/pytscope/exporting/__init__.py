"""A run's step records for other programs: one row a step, some thousand at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pytscope.exporting.csv import csv_text
from pytscope.exporting.jsonl import jsonl_text
from pytscope.runs.run import Run

TEXTS: Mapping[str, Callable[[Run], Iterator[str]]] = {"jsonl": jsonl_text, "csv": csv_text}
"""Forms that are text: each gives whole lines, some thousand at a time."""

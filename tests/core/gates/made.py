"""Analysed runs for the tests of gates."""

from __future__ import annotations

import functools
from typing import Any

from pytscope.analysis.orchestrator import analyzed
from pytscope.gates.demands import demand
from pytscope.gates.gating import Budgets, gate_of
from pytscope.gates.judging import Written
from pytscope.gates.vocabulary import Vocabulary
from pytscope.model.gate import Gate
from pytscope.plugins.registry import Registry, load_registry
from pytscope.plugins.selection import PluginSelection
from pytscope.runs.run import Run
from pytscope.testing import make_run


@functools.cache
def registry() -> Registry:
    return load_registry(PluginSelection(autoload=False))


def words(run: Run) -> Vocabulary:
    return Vocabulary.of(*analyzed(run, registry()))


def gate(run: Run, *budgets: str, **asked: Any) -> Gate:
    written = [Written(demand(text)) for text in budgets]
    return gate_of(*analyzed(run, registry()), Budgets(written=written, **asked))


PLAIN = make_run({"data": 30, "forward": 60, "backward": 10}, scalars={"loss": 2.5})
"""A hundred steps of 100 ms, 30 % of them waiting for data."""

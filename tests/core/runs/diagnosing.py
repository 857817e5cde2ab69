"""The whole way from bytes to a report, for tests of damaged, lying and foreign files."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np

from pytscope.analysis.orchestrator import analyze
from pytscope.model.document import report_json
from pytscope.model.errors import PytscopeError
from pytscope.model.report import Report
from pytscope.plugins.declare import RenderOptions
from pytscope.plugins.registry import Registry, load_registry
from pytscope.plugins.selection import PluginSelection
from pytscope.runs.run import Run
from pytscope.runs.sources.run_directory import open_run_directory


@functools.cache
def registry() -> Registry:
    return load_registry(PluginSelection(only=frozenset()))


def diagnose(folder: Path) -> tuple[Run, Report] | None:
    """Open, analyse, and draw a run; None when the public errors say that it cannot be."""
    try:
        run = open_run_directory(folder)
        report = analyze(run, registry())
    except PytscopeError:
        return None
    problems = [f"{p.stage}: {p.message}" for p in report.problems]
    assert problems == [], problems
    json.loads(report_json(report))
    text = registry().reporters["text"].reporter.render(report, RenderOptions())
    assert text.encode()
    assert_adds_up(run, report)
    return run, report


def assert_adds_up(run: Run, report: Report) -> None:
    """Nothing hides and nothing counts twice, whatever the file said."""
    budget = report.analyses["budget"]
    assert sum(line.ns for line in budget.lines) == budget.wall_ns
    for timeline in run.timelines:
        phases = np.zeros(len(timeline), object)
        for name in timeline.phases:
            phases = phases + timeline.phase_ns(name).astype(object)
        assert phases.tolist() == timeline.wall_ns.tolist()
        assert timeline.steps_ns == sum(timeline.wall_ns.tolist())
        lost = sum(attempt.lost_ns for attempt in timeline.attempts)
        regions = [a.startup + a.shutdown for a in timeline.attempts]
        named = sum(ns for region in regions for _, ns in region)
        assert timeline.measured_ns == timeline.steps_ns + lost + named
        for attempt in timeline.attempts:
            steps = timeline.step[timeline.attempt == attempt.number]
            assert (np.diff(steps) > 0).all()
        assert sum(1 for _ in timeline.records()) == len(timeline)
        timeline.spans()

"""`--format json`: documents of a report, of a comparison (`diff`), of a gate (`check`)."""

from __future__ import annotations

from pytscope.model.comparison import Comparison
from pytscope.model.gate import Gate
from pytscope.model.report import Report
from pytscope.plugins.declare import RenderOptions, reporter


def json_comparison(comparison: Comparison, options: RenderOptions) -> str:
    """The same of a comparison."""
    return comparison.to_json(reproducible=options.reproducible)


def json_gate(gate: Gate, options: RenderOptions) -> str:
    """The same of a gate."""
    return gate.to_json(reproducible=options.reproducible)


@reporter("json", compare=json_comparison, check=json_gate)
def json_report(report: Report, options: RenderOptions) -> str:
    """Write everything there is to say, whatever the text report leaves out."""
    return report.to_json(reproducible=options.reproducible)

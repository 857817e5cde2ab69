"""`--format json`: the report as the `pytscope.report/1` document."""

from __future__ import annotations

from pytscope.model.report import Report
from pytscope.plugins.declare import RenderOptions, reporter


@reporter("json")
def json_report(report: Report, options: RenderOptions) -> str:
    """Write everything there is to say, whatever the text report leaves out."""
    return report.to_json(reproducible=options.reproducible)

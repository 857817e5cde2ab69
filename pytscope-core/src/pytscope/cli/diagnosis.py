"""From the command line of `analyze` to a drawn report and an exit code."""

from __future__ import annotations

from pathlib import Path

from pytscope.analysis.orchestrator import analyzed
from pytscope.api import opened
from pytscope.cli import gates
from pytscope.cli.asked import Asked, analyze_options, look
from pytscope.cli.config import Config
from pytscope.cli.formats import checked_targets, draw
from pytscope.cli.kept import must_be_elsewhere, must_not_replace
from pytscope.cli.presentation import Presentation
from pytscope.cli.progress import reading
from pytscope.cli.settings import first
from pytscope.model.findings import Severity
from pytscope.model.report import Report
from pytscope.plugins.registry import Registry
from pytscope.runs.usable import must_be_usable


def diagnose(
    path: str, asked: Asked, config: Config, registry: Registry, presentation: Presentation
) -> int:
    """Analyse a run, draw its report, and decide the exit code.

    Args:
        path: The run.
        asked: The command line.
        config: The settings file.
        registry: What is loaded.
        presentation: Options before and after the verb.

    Raises:
        PytscopeError: Something cannot be read, used or written. A run without
            a usable step is drawn first, for what its coverage says.
    """
    targets = checked_targets(asked.formats, registry, Report)
    files = [target.file for target in targets]
    must_be_elsewhere(files, Path(path), "Give the report another file.")
    must_not_replace(files, config.path, "the settings file")
    options = analyze_options(asked, config, registry)
    with reading(path):
        run = opened(path, registry, source=asked.source, attempt=asked.attempt)
        report, prepared = analyzed(run, registry, options)
    shown = gates.at_least(report, first(asked.severity, config.severity) or Severity.INFO)
    late = draw(shown, targets, registry, look(asked, config, presentation))
    must_be_usable(prepared)
    strict = asked.strict or config.strict
    limit = first(asked.fail_on, config.fail_on)
    failed = []
    if isinstance(limit, Severity) and (count := gates.reaching(report, limit)):
        failed = [f"fail-on: {count} finding{'s' * (count > 1)} of severity {limit.value} or above"]
    return gates.exit_code(failed, gates.strict_reasons(prepared, report, late) if strict else ())

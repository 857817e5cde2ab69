"""The sections around the findings: the run, problems, plugins, the footer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from pytscope.analyses.units import count, duration
from pytscope.builtin.reporters.lines import Line, Span, Tone
from pytscope.builtin.reporters.pen import Pen
from pytscope.builtin.reporters.tables import table_lines
from pytscope.model.panels import Table
from pytscope.model.report import PluginInfo, Problem, Report, RunSummary, credited
from pytscope.plugins.declare import RenderOptions


def run_lines(run: RunSummary, pen: Pen) -> list[Line]:
    """The first line: which run, how much of it, and whether it is whole."""
    whole = run.finished and run.world_size in (None, len(run.ranks))
    return pen.heading(Tone.OK if whole else Tone.WATCH, f"RUN {run.name}", run_words(run))


def run_words(run: RunSummary) -> str:
    """How much of a run there is, and whether it is whole."""
    ranks = len(run.ranks)
    said = [count(run.steps, "step"), _long(run)]
    if run.world_size is not None and run.world_size != ranks:
        said.append(f"{ranks} of {count(run.world_size, 'rank')}")
    else:
        said.append(count(ranks, "rank"))
    if len(run.attempts) > 1:
        said.append(f"attempts {_numbers(run.attempts)}")
    if run.window is not None:
        first, last = run.window
        said.append(f"steps {'' if first is None else first}:{'' if last is None else last} only")
    if run.live:
        said.append("still recording")
    elif not run.finished:
        said.append("did not finish")
    return " · ".join(said)


def _long(run: RunSummary) -> str:
    if run.wall_ns is None:
        return f"{duration(run.recorded_ns or 0)} recorded"
    return f"{duration(run.wall_ns)} wall"


def problems_lines(problems: tuple[Problem, ...], pen: Pen, *, traces: bool) -> list[Line]:
    """What plugins failed at; everything else in the report is unaffected."""
    if not problems:
        return []
    headline = "plugins that failed, and at what; the rest of the report stands"
    lines = pen.heading(Tone.BAD, f"PROBLEMS ({len(problems)})", headline)
    for problem in problems:
        who = credited(problem.plugin, problem.distribution, problem.version)
        lines += pen.lines("  ", f"{who}, {problem.stage}: {problem.message}", hang=4)
        if traces and problem.traceback:
            lines += _trace(problem.traceback, pen)
    return lines


def _trace(traceback: str, pen: Pen) -> list[Line]:
    lines: list[Line] = []
    for line in traceback.splitlines():
        indent = 6 + min(8, len(line) - len(line.lstrip(" ")))
        lines += pen.lines([Span(" " * indent)], line, tone=Tone.FAINT)
    return lines


def plugins_lines(plugins: tuple[PluginInfo, ...], pen: Pen, *, reproducible: bool) -> list[Line]:
    """The table of plugins."""
    lines = pen.heading(Tone.OK, f"PLUGINS ({len(plugins)})", "by distribution, built-ins first")
    return lines + table_lines(plugins_table(plugins, reproducible=reproducible), pen)


def plugins_table(plugins: tuple[PluginInfo, ...], *, reproducible: bool) -> Table:
    """A row a plugin; load times are left out when reproducible."""
    header = ["plugin", "distribution", "state", "load", "brings"]
    rows = [
        [p.name, f"{p.distribution} {p.version}", p.state.value, _load(p), _brings(p)]
        for p in plugins
    ]
    if reproducible:
        for row in (header, *rows):
            del row[3]
    return Table(header, tuple(map(tuple, rows)), () if reproducible else (3,))


def _load(plugin: PluginInfo) -> str:
    return duration(plugin.load_ns) if plugin.load_ns else ""


def _brings(plugin: PluginInfo) -> str:
    brought = (f"{kind}: {', '.join(names)}" for kind, names in plugin.registers.items() if names)
    return "; ".join(filter(None, (plugin.reason, *brought)))


def footer_lines(report: Report, options: RenderOptions, pen: Pen) -> list[Line]:
    """What was read, and where to go from here."""
    lines = pen.lines("  ", footer_words(report, options), hang=2, tone=Tone.FAINT)
    if report.findings:
        rule = report.findings[0].rule
        lines += pen.lines("  ", f"More: pytscope explain {rule}", tone=Tone.FAINT)
    return lines


def footer_words(report: Report, options: RenderOptions) -> str:
    """What was read, by what."""
    run = report.run
    said = [f"Read by source {run.source}"]
    if not options.reproducible:
        said = [f"Read {run.path} by source {run.source}"]
        if run.created_epoch_ns is not None:
            said.append(f"recorded {_day(run.created_epoch_ns)}")
    if run.other_attempts:
        which = "attempt" if len(run.other_attempts) == 1 else "attempts"
        said.append(
            f"not analysed: {which} {_numbers(run.other_attempts)} of the same folder (--attempt N)"
        )
    said += made_with(run)
    said.append(f"pytscope-core {report.tool_version}")
    if not options.reproducible:
        said += slow_words(report.plugins)
    return " · ".join(said)


def made_with(run: RunSummary) -> list[str]:
    """The version of torch and the device that a run was made with, where they are known."""
    torch = run.environment.get("torch")
    if not isinstance(torch, Mapping) or not isinstance(torch.get("version"), str):
        return []
    devices = torch.get("devices")
    rows = [d for d in devices if isinstance(d, Mapping)] if isinstance(devices, list) else []
    names = [str(d.get("name")) for d in rows if d.get("current") is True]
    return [f"torch {torch['version']}{f' on {names[0]}' if names else ''}"]


def slow_words(plugins: tuple[PluginInfo, ...]) -> list[str]:
    """Which plugins made the analysis long, a clause each."""
    return [
        f"{stage} of plugin {plugin.name} took {duration(ns)}"
        for plugin in plugins
        if not plugin.builtin
        for stage, ns in plugin.slow_ns.items()
    ]


def _numbers(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))


def _day(epoch_ns: int) -> str:
    try:
        return f"{datetime.fromtimestamp(epoch_ns // 10**9, UTC):%Y-%m-%d %H:%M} UTC"
    except (OverflowError, ValueError, OSError):  # a clock that was never set
        return f"at {epoch_ns} ns since 1970"

"""From a run to a report. No files, clocks, environment or terminal in here."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from pytscope.analysis.answers import compute
from pytscope.analysis.folding import fold
from pytscope.analysis.options import AnalyzeOptions
from pytscope.analysis.outcomes import Checked, check_rule, disabled
from pytscope.analysis.sections import panels, writable
from pytscope.analysis.settings import disabled_rules, threshold_values
from pytscope.analysis.summary import summarise
from pytscope.model.errors import NothingUsable
from pytscope.model.report import Problem, Report
from pytscope.plugins.listing import explained, timed
from pytscope.plugins.registry import Registry
from pytscope.runs.run import Run
from pytscope.runs.warmup import with_warmup
from pytscope.runs.window import windowed


def analyze(run: Run, registry: Registry, options: AnalyzeOptions | None = None) -> Report:
    """Analyse a run with everything registered.

    Args:
        run: The run as opened.
        registry: Analyzers and rules.
        options: What the caller asks for.

    Raises:
        UsageError: An option names an unknown rule or threshold, or a value
            does not fit.
        NothingUsable: The run, or the asked-for part of it, is empty.
        PluginError: A plugin failed and `raise_errors` is set.
    """
    return analyzed(run, registry, options)[0]


def analyzed(
    run: Run, registry: Registry, options: AnalyzeOptions | None = None
) -> tuple[Report, Run]:
    """The report of a run, and the run as it was prepared for it; otherwise as `analyze`."""
    asked = options or AnalyzeOptions()
    guard = registry.guard.another(reraise=asked.raise_errors)
    reasons = disabled_rules(registry, asked)
    thresholds = threshold_values(registry, asked)
    prepared = prepare(run, asked)
    answers, failed = compute(prepared, registry, guard)
    # Drawn before the rules run, whatever those do to what they are given.
    drawn, undrawn = panels(answers.analyses, registry, guard)
    analyses, unwritable = writable(answers.analyses, registry, guard)
    checked: list[Checked] = []
    for rule_id, registered in registry.rules.items():
        values = thresholds[rule_id]
        if rule_id in reasons:
            checked.append(disabled(registered, values, reasons[rule_id]))
        else:
            checked.append(check_rule(registered, answers, values, guard))
    ruled = (p for c in checked for p in c.problems)
    during = (*failed, *ruled, *undrawn, *unwritable, *guard.noted)
    problems = _sorted((*registry.problems, *registry.late, *during))
    spent = {**registry.guard.spent_ns, **guard.spent_ns}
    report = Report(
        run=summarise(prepared),
        folded=fold((f for c in checked for f in c.findings), registry.rule_names),
        checks=tuple(c.check for c in checked),
        panels=drawn,
        problems=problems,
        plugins=timed(explained(registry.plugins, problems), spent),
        analyses=analyses,
        tool_version=next((p.version for p in registry.plugins if p.builtin), ""),
        show_plugins=asked.show_plugins,
    )
    return report, prepared


def prepare(run: Run, options: AnalyzeOptions) -> Run:
    """The run with the options' warm-up, window and figures.

    Warm-up is decided first: a window does not make its own first steps warm-up.

    Raises:
        NothingUsable: The run, or the asked-for part of it, is empty.
    """
    if not run.timelines:
        msg = f"{run.path} holds no record of any rank"
        raise NothingUsable(msg)
    prepared = with_warmup(run, options.warmup)
    if options.steps is not None:
        prepared = windowed(prepared, *options.steps)
    figures = {"flops_per_step": options.flops_per_step, "peak_flops": options.peak_flops}
    given = {name: value for name, value in figures.items() if value is not None}
    return attrs.evolve(prepared, **given)  # type: ignore[arg-type]  # both fields are floats


def _sorted(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    def place(problem: Problem) -> tuple[str, ...]:
        return (problem.plugin, problem.distribution, problem.stage, problem.message)

    return tuple(sorted(problems, key=place))

"""From the command line of `diff` to a drawn comparison and an exit code."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from pytscope.analysis.options import AnalyzeOptions
from pytscope.api import opened
from pytscope.cli import gates, settings
from pytscope.cli.config import Config
from pytscope.cli.diff import Wanted
from pytscope.cli.formats import Look, checked_comparison_targets, draw_comparison
from pytscope.cli.noise_file import add_noise, read_noise
from pytscope.cli.output import say
from pytscope.cli.presentation import Presentation
from pytscope.cli.progress import reading
from pytscope.cli.settings import first
from pytscope.diffing.compare import comparison_of
from pytscope.diffing.gate import Gated, RegressionGate
from pytscope.diffing.options import Compared, CompareOptions
from pytscope.model.comparison import Comparison
from pytscope.model.errors import NothingUsable, UsageError
from pytscope.model.report import Report
from pytscope.plugins.declare import RenderOptions
from pytscope.plugins.registry import Registry
from pytscope.plugins.selection import raises_plugin_errors
from pytscope.runs.run import Run

DONE, GATE, STRICT = 0, 1, 4
_WIDTH = 88


def compare_runs(
    wanted: Wanted, config: Config, registry: Registry, presentation: Presentation
) -> int:
    """Compare runs, draw the comparison, and decide the exit code.

    Args:
        wanted: The command line.
        config: The settings file.
        registry: What is loaded.
        presentation: Options before and after the verb.

    Raises:
        PytscopeError: Something cannot be read, used or written. Runs without
            a completed step are drawn first, for what they were made with.
    """
    reraise = raises_plugin_errors(os.environ)
    targets = checked_comparison_targets(wanted.formats, registry)
    noise = read_noise(wanted.noise_store)
    options = CompareOptions(
        analysis=_analysis(wanted, config, registry, reraise=reraise),
        noise=noise,
        gate=wanted.fail_on if isinstance(wanted.fail_on, RegressionGate) else None,
        detailed=wanted.verbose,
    )
    compared = Compared.of(*_opened(wanted, registry))
    with reading(" ".join((*wanted.runs[0], *wanted.runs[1]))):
        comparison, read = comparison_of(compared, registry, options)
    drawn = draw_comparison(
        comparison, targets, registry, _look(wanted, config, presentation), reraise=reraise
    )
    _must_have_steps(comparison)
    if wanted.noise_store is not None and wanted.steps is None:
        add_noise(wanted.noise_store, [run for _, run in read])
    elif wanted.noise_store is not None:
        say(f"{wanted.noise_store} is left as it is: --steps does not show how the runs ended")
    late = drawn.problems[len(comparison.problems) :]
    strict = wanted.strict or bool(config.strict)
    return _code(comparison, read, len(late), strict=strict)


def _analysis(
    wanted: Wanted, config: Config, registry: Registry, *, reraise: bool
) -> AnalyzeOptions:
    warmup = first(wanted.warmup, config.warmup)
    return AnalyzeOptions(
        warmup=warmup if isinstance(warmup, int) else None,
        steps=wanted.steps,
        select=settings.patterns(config, "select", registry),
        ignore=settings.patterns(config, "ignore", registry),
        thresholds=settings.thresholds(config, (), registry),
        flops_per_step=config.flops_per_step,
        peak_flops=None if config.peak_tflops is None else config.peak_tflops * 1e12,
        raise_errors=reraise,
    )


def _opened(wanted: Wanted, registry: Registry) -> tuple[list[Run], list[Run]]:
    """The runs of either arm.

    Raises:
        PytscopeError: One cannot be read, or `--attempt` names a run that is not there.
    """
    paths = (*wanted.runs[0], *wanted.runs[1])
    attempts = _attempts(wanted, len(paths))
    found = []
    for path, attempt in zip(paths, attempts, strict=True):
        with reading(path):
            found.append(opened(path, registry, source=wanted.source, attempt=attempt))
    size = len(wanted.runs[0])
    return found[:size], found[size:]


def _attempts(wanted: Wanted, runs: int) -> list[int | None]:
    """The attempt asked for of every run; one asked of a run by its letter counts first."""
    labels = Compared.letters(runs)
    unknown = [a.label for a in wanted.attempts if a.label is not None and a.label not in labels]
    if unknown:
        msg = f"--attempt: there is no run {unknown[0]}; the runs are {labels[0]} to {labels[-1]}"
        raise UsageError(msg)
    of_all = next((a.number for a in reversed(wanted.attempts) if a.label is None), None)
    own = {a.label: a.number for a in wanted.attempts if a.label is not None}
    return [own.get(label, of_all) for label in labels]


def _look(wanted: Wanted, config: Config, presentation: Presentation) -> Look:
    options = RenderOptions(
        width=first(presentation.width, config.width) or _WIDTH,
        ascii=bool(first(presentation.ascii, config.ascii)),
        verbose=wanted.verbose,
        reproducible=wanted.reproducible,
    )
    return Look(color=first(presentation.color, config.color) or "auto", options=options)


def _must_have_steps(comparison: Comparison) -> None:
    empty = [side for side in comparison.sides if not side.run.steps]
    if empty:
        holds = ", ".join(f"{side.label} ({side.run.path})" for side in empty)
        msg = f"no completed step in {holds}"
        raise NothingUsable(msg)


def _code(
    comparison: Comparison, read: Sequence[tuple[Report, Run]], late: int, *, strict: bool
) -> int:
    unevaluated = comparison.gate == Gated.NOT_EVALUATED.value
    if unevaluated:
        say(f"fail-on: not evaluated: {comparison.gate_reason}")
    if strict:
        reasons = list(_strict_reasons(comparison, read))
        for reason in reasons:
            say(f"strict: {reason}")
        if reasons or late or unevaluated:
            return STRICT
    if comparison.gate == Gated.FAILED.value:
        say(f"fail-on: {comparison.gate_reason}")
        return GATE
    return DONE


def _strict_reasons(comparison: Comparison, read: Sequence[tuple[Report, Run]]) -> Iterable[str]:
    said: dict[str, list[str]] = {}
    for side, (report, run) in zip(comparison.sides, read, strict=True):
        for reason in gates.strict_reasons(run, report):
            said.setdefault(reason, []).append(side.label)
    for reason, labels in said.items():
        yield f"{', '.join(labels)}: {reason}"

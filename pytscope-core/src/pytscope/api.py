"""The programmatic API: open a run, analyse it. The environment is read here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytscope.analysis.options import AnalyzeOptions
from pytscope.analysis.orchestrator import analyzed
from pytscope.model.comparison import Comparison
from pytscope.model.errors import RunNotFound, RunUnreadable
from pytscope.model.findings import Severity
from pytscope.model.gate import Gate
from pytscope.model.report import Report
from pytscope.plugins.registry import Registry, load_registry
from pytscope.plugins.selection import PluginSelection, raises_plugin_errors
from pytscope.runs.opening import open_run
from pytscope.runs.run import Run

if TYPE_CHECKING:  # an analysis needs none of it
    from pytscope.diffing.noise import NoiseStore
    from pytscope.diffing.options import Unread


def open(  # noqa: A001  # read as `pytscope.open`
    path: str | Path, *, source: str | None = None, attempt: int | None = None
) -> Run:
    """Open a recorded run.

    Args:
        path: A run's folder or one of its files.
        source: Name of the source to open it with; by default the first one
            that recognises it.
        attempt: Number of the attempt to open; by default the last chain of
            attempts that continue each other.

    Raises:
        RunNotFound: There is nothing at the path.
        RunUnreadable: No source can open it.
        UsageError: There is no such source or attempt.
    """
    registry = load_registry(
        PluginSelection.from_environment(os.environ), raise_errors=raises_plugin_errors(os.environ)
    )
    return opened(path, registry, source=source, attempt=attempt)


def opened(
    path: str | Path, registry: Registry, *, source: str | None = None, attempt: int | None = None
) -> Run:
    """Open a recorded run with a registry's sources; otherwise as `open`."""
    try:
        return open_run(path, registry.sources, source=source, attempt=attempt)
    except RunUnreadable as error:
        failed = [f"{p.stage} of plugin {p.plugin} failed: {p.message}." for p in registry.late]
        error.hint = " ".join(filter(None, (error.hint, *dict.fromkeys(failed))))
        raise


def tried(
    path: str | Path, registry: Registry, *, source: str | None = None, attempt: int | None = None
) -> Run | Unread:
    """As `opened`, for a comparison, which goes on without a run that cannot be read.

    Raises:
        RunNotFound: There is nothing at the path, as after a slip of the fingers.
    """
    from pytscope.diffing.options import Unread  # an analysis needs none of it

    try:
        return opened(path, registry, source=source, attempt=attempt)
    except (RunNotFound, RunUnreadable) as error:
        if not Path(path).exists():
            raise
        return Unread(str(path), error)


def analyze(
    path_or_run: str | Path | Run,
    *,
    source: str | None = None,
    attempt: int | None = None,
    warmup: int | None = None,
    steps: tuple[int | None, int | None] | None = None,
    select: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    thresholds: Mapping[str, Mapping[str, Any]] | None = None,
    flops_per_step: float | None = None,
    peak_flops: float | None = None,
    show_plugins: bool = False,
    raise_errors: bool = False,
    plugins: PluginSelection | None = None,
) -> Report:
    """Analyse a recorded run with everything that is installed.

    Args:
        path_or_run: A path, as for `open`, or an opened run.
        source: As for `open`; for a path only.
        attempt: As for `open`; for a path only.
        warmup: Warm-up steps a rank and attempt; None for the recorded number
            or, without one, an automatic choice.
        steps: First and last step, both included; None for an open end.
        select: Rules to check: ids, areas such as `TIMING` or globs.
        ignore: Rules to leave out, in the same forms.
        thresholds: Values by rule id and threshold name.
        flops_per_step: FLOPs of one optimizer step on one rank.
        peak_flops: Peak FLOP/s of one rank's device.
        show_plugins: Show the table of plugins in the report.
        raise_errors: Raise when a plugin fails, instead of reporting it.
        plugins: Which plugins to load; by default what the environment says.

    Raises:
        PytscopeError: One of its kinds says what cannot be done and why.
    """
    return _analyzed(
        path_or_run,
        AnalyzeOptions(
            warmup=warmup,
            steps=steps,
            select=select,
            ignore=ignore,
            thresholds=thresholds or {},
            flops_per_step=flops_per_step,
            peak_flops=peak_flops,
            show_plugins=show_plugins,
            raise_errors=raise_errors or raises_plugin_errors(os.environ),
        ),
        plugins,
        source=source,
        attempt=attempt,
    )[0]


def _analyzed(
    path_or_run: str | Path | Run,
    options: AnalyzeOptions,
    plugins: PluginSelection | None,
    *,
    source: str | None,
    attempt: int | None,
) -> tuple[Report, Run]:
    selection = plugins or PluginSelection.from_environment(os.environ)
    registry = load_registry(selection, raise_errors=options.raise_errors)
    if isinstance(path_or_run, Run):
        run = path_or_run
    else:
        run = opened(path_or_run, registry, source=source, attempt=attempt)
    return analyzed(run, registry, options)


def check(
    path_or_run: str | Path | Run,
    *,
    budgets: str | Iterable[str] = (),
    baseline: str | Path | None = None,
    fail_on: str | Severity | None = None,
    source: str | None = None,
    attempt: int | None = None,
    warmup: int | None = None,
    steps: tuple[int | None, int | None] | None = None,
    select: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    thresholds: Mapping[str, Mapping[str, Any]] | None = None,
    flops_per_step: float | None = None,
    peak_flops: float | None = None,
    raise_errors: bool = False,
    plugins: PluginSelection | None = None,
) -> Gate:
    """Hold a recorded run to budgets; writes nothing, and reads no settings file.

    Args:
        path_or_run: A path, as for `open`, or an opened run.
        budgets: Budgets such as `step_ms.median <= 120`, as `pytscope check`
            reads them.
        baseline: File that `pytscope check --update-baseline` wrote, for budgets
            with `baseline` in them; read only if there is one.
        fail_on: Severity from which a finding fails the gate, such as `high`;
            None or `never` for no such budget.
        source: As for `open`; for a path only.
        attempt: As for `open`; for a path only.
        warmup: As for `analyze`, and so the others below.
        steps: First and last step, both included; None for an open end.
        select: Rules to check: ids, areas such as `TIMING` or globs.
        ignore: Rules to leave out, in the same forms.
        thresholds: Values by rule id and threshold name.
        flops_per_step: FLOPs of one optimizer step on one rank.
        peak_flops: Peak FLOP/s of one rank's device.
        raise_errors: Raise when a plugin fails, instead of reporting it.
        plugins: Which plugins to load; by default what the environment says.

    Returns:
        The gate: `passed`, `judged` with every budget, and the analysis as
        `report`. A run without a usable step does not pass.

    Raises:
        PytscopeError: One of its kinds says what cannot be done and why.
    """
    from pytscope.gates.gating import budgets_of, gate_of

    asked = budgets_of(budgets, baseline, fail_on)
    options = AnalyzeOptions(
        warmup=warmup,
        steps=steps,
        select=select,
        ignore=ignore,
        thresholds=thresholds or {},
        flops_per_step=flops_per_step,
        peak_flops=peak_flops,
        raise_errors=raise_errors or raises_plugin_errors(os.environ),
    )
    report, run = _analyzed(path_or_run, options, plugins, source=source, attempt=attempt)
    return gate_of(report, run, asked)


def diff(
    *runs: str | Path | Run,
    vs: str | Path | Run | Sequence[str | Path | Run] = (),
    source: str | None = None,
    warmup: int | None = None,
    steps: tuple[int | None, int | None] | None = None,
    noise: NoiseStore | None = None,
    fail_on: float | None = None,
    detailed: bool = False,
    raise_errors: bool = False,
    plugins: PluginSelection | None = None,
) -> Comparison:
    """Compare runs: what they were made with, where they part, what came of it.

    Args:
        runs: Paths, as for `open`, or opened runs. Without `vs` the first is
            compared with each of the others; an attempt of its own is opened
            with `open(path, attempt=N)`.
        vs: The runs of a second arm; then `runs` are the first, and both are
            taken for repeats of each other.
        source: As for `open`; for paths only.
        warmup: Warm-up steps a rank and attempt, which leave the durations;
            None for the recorded number or, without one, an automatic choice.
        steps: First and last step, both included; None for an open end.
        noise: What earlier repeats came to, from `NoiseStore.read`.
        fail_on: Relative worsening from which on the comparison's `gate` is
            `failed`, such as 0.05; 0 for any that is seen; None for no gate.
        detailed: Show facts that hardly change numbers, and how phases were tested, too.
        raise_errors: Raise when a plugin fails, instead of reporting it.
        plugins: Which plugins to load; by default what the environment says.

    Returns:
        The comparison. A run that cannot be read, or has no step, is in its `left_out` where
        two others can be compared, and one of each arm.

    Raises:
        PytscopeError: One of its kinds says what cannot be done and why.
    """
    from pytscope.diffing.compare import compare
    from pytscope.diffing.gate import RegressionGate
    from pytscope.diffing.noise import NoiseStore
    from pytscope.diffing.options import Compared, CompareOptions

    raises = raise_errors or raises_plugin_errors(os.environ)
    selection = plugins or PluginSelection.from_environment(os.environ)
    registry = load_registry(selection, raise_errors=raises)

    def read(given: Sequence[str | Path | Run]) -> list[Run | Unread]:
        return [r if isinstance(r, Run) else tried(r, registry, source=source) for r in given]

    second = [vs] if isinstance(vs, str | Path | Run) else vs
    options = CompareOptions(
        analysis=AnalyzeOptions(warmup=warmup, steps=steps, raise_errors=raises),
        noise=noise or NoiseStore(),
        gate=None if fail_on is None else RegressionGate(fail_on),
        detailed=detailed,
    )
    return compare(Compared.of(read(runs), read(second)), registry, options)

"""From the command line of `diff` to a drawn comparison and an exit code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs

from pytscope.api import tried
from pytscope.cli import gates
from pytscope.cli.asked import Asked, analyze_options, look
from pytscope.cli.config import Config, find_config
from pytscope.cli.diff_values import AttemptOf
from pytscope.cli.formats import checked_targets, draw
from pytscope.cli.kept import must_be_elsewhere, must_not_replace
from pytscope.cli.noise_file import add_noise, read_noise
from pytscope.cli.output import say
from pytscope.cli.parameters import Never, Target
from pytscope.cli.presentation import Presentation
from pytscope.cli.progress import reading
from pytscope.cli.selection import selected_registry
from pytscope.diffing.compare import comparison_of
from pytscope.diffing.gate import Gated, RegressionGate
from pytscope.diffing.options import Compared, CompareOptions, Unread
from pytscope.model.comparison import Comparison
from pytscope.model.errors import NothingUsable, UsageError
from pytscope.model.report import Problem, Report
from pytscope.plugins.registry import Registry
from pytscope.runs.run import Run


@attrs.frozen(kw_only=True)
class DiffAsked:
    """What was written after `pytscope diff`.

    Attributes:
        analysis: The options that `analyze` has too.
        runs: The runs of the first arm, and of the second.
        noise_store: The noise store's file, or None.
        fail_on: The gate, `never`, or None.
        attempts: The attempts asked for.
    """

    analysis: Asked
    runs: tuple[tuple[str, ...], tuple[str, ...]]
    noise_store: Path | None = None
    fail_on: RegressionGate | Never | None = None
    attempts: tuple[AttemptOf, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All runs, those of the first arm first."""
        return (*self.runs[0], *self.runs[1])


def compare_runs(asked: DiffAsked, presentation: Presentation) -> int:
    """Compare runs, draw the comparison, and decide the exit code.

    Args:
        asked: The command line.
        presentation: Options before and after the verb.

    Raises:
        PytscopeError: Something cannot be read, used or written. Runs without
            a completed step are drawn first, for what they were made with.
    """
    config = find_config(Path.cwd())
    registry = selected_registry(asked.analysis.only, asked.analysis.blocked)
    targets = checked_targets(asked.analysis.formats, registry, Comparison)
    _keep(asked, targets, config)
    options = CompareOptions(
        analysis=analyze_options(asked.analysis, config, registry),
        noise=read_noise(asked.noise_store),
        gate=asked.fail_on if isinstance(asked.fail_on, RegressionGate) else None,
        detailed=asked.analysis.verbose,
    )
    compared = Compared.of(*_opened(asked, registry))
    with reading(" ".join(asked.paths)):
        comparison, read = comparison_of(compared, registry, options)
    late = draw(comparison, targets, registry, look(asked.analysis, config, presentation))
    for one in comparison.left_out:
        say(f"{one.label} ({one.path}) is left out: {one.reason}")
    _must_have_steps(comparison)
    if asked.noise_store is not None and asked.analysis.steps is None:
        add_noise(asked.noise_store, [run for _, run in read])
    elif asked.noise_store is not None:
        say(f"{asked.noise_store} is left as it is: --steps does not show how the runs ended")
    strict = asked.analysis.strict or bool(config.strict)
    return _code(comparison, read, late, strict=strict)


def _keep(asked: DiffAsked, targets: Iterable[Target], config: Config) -> None:
    """Let nothing that is read be written over.

    Raises:
        UsageError: Something would be.
    """
    reports = [target.file for target in targets]
    for path in asked.paths:
        must_be_elsewhere(reports, Path(path), "Give the comparison another file.")
        must_be_elsewhere([asked.noise_store], Path(path), "Give the noise store another file.")
    must_not_replace(reports, asked.noise_store, "the noise store")
    must_not_replace([*reports, asked.noise_store], config.path, "the settings file")


def _opened(asked: DiffAsked, registry: Registry) -> tuple[list[Run | Unread], list[Run | Unread]]:
    """The runs of either arm, or why one cannot be read.

    Raises:
        UsageError: `--attempt` names a run or an attempt that is not there.
        RunNotFound: There is nothing at a path.
    """
    attempts = _attempts(asked.attempts, len(asked.paths))
    found: list[Run | Unread] = []
    for path, attempt in zip(asked.paths, attempts, strict=True):
        with reading(path):
            found.append(tried(path, registry, source=asked.analysis.source, attempt=attempt))
    size = len(asked.runs[0])
    return found[:size], found[size:]


def _attempts(asked: Sequence[AttemptOf], runs: int) -> list[int | None]:
    """The attempt asked for of every run; one asked of a run by its letter counts first."""
    labels = Compared.letters(runs)
    unknown = [a.label for a in asked if a.label is not None and a.label not in labels]
    if unknown:
        msg = f"--attempt: there is no run {unknown[0]}; the runs are {labels[0]} to {labels[-1]}"
        raise UsageError(msg)
    of_all = next((a.number for a in reversed(asked) if a.label is None), None)
    own = {a.label: a.number for a in asked if a.label is not None}
    return [own.get(label, of_all) for label in labels]


def _must_have_steps(comparison: Comparison) -> None:
    empty = [side for side in comparison.sides if not side.run.steps]
    if empty:
        holds = ", ".join(f"{side.label} ({side.run.path})" for side in empty)
        msg = f"no completed step in {holds}"
        raise NothingUsable(msg)


def _code(
    comparison: Comparison,
    read: Sequence[tuple[Report, Run]],
    late: Iterable[Problem],
    *,
    strict: bool,
) -> int:
    said = f"fail-on: {comparison.gate_reason}"
    minded = list(_strict_reasons(comparison, read, late)) if strict else []
    if comparison.gate == Gated.NOT_EVALUATED.value:
        said = f"fail-on: not evaluated: {comparison.gate_reason}"
        if strict:
            minded.append(said)
        else:
            say(said)
    failed = [said] if comparison.gate == Gated.FAILED.value else []
    return gates.exit_code(failed, minded)


def _strict_reasons(
    comparison: Comparison, read: Sequence[tuple[Report, Run]], late: Iterable[Problem]
) -> Iterable[str]:
    for one in comparison.left_out:
        yield f"{one.label} is left out: {one.reason}"
    said: dict[str, list[str]] = {}
    for side, (report, run) in zip(comparison.sides, read, strict=True):
        for reason in gates.strict_reasons(run, report):
            said.setdefault(reason, []).append(side.label)
    for reason, labels in said.items():
        yield f"{', '.join(labels)}: {reason}"
    for problem in late:
        yield f"plugin {problem.plugin}, {problem.stage}: {problem.message}"

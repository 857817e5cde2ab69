"""From the command line of `check` to a drawn gate and an exit code."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import attrs

from pytscope.analysis.orchestrator import analyzed
from pytscope.api import opened
from pytscope.cli import gates
from pytscope.cli.asked import Asked, analyze_options, look
from pytscope.cli.check_settings import (
    CheckSettings,
    beside,
    place_of_key,
    placed,
    places,
    shown,
    source_root,
)
from pytscope.cli.config import Config, find_config
from pytscope.cli.formats import checked_targets, draw, step_summary
from pytscope.cli.kept import must_be_elsewhere, must_not_replace
from pytscope.cli.metric_listing import print_metrics
from pytscope.cli.output import say, write_file
from pytscope.cli.parameters import Target
from pytscope.cli.presentation import Presentation
from pytscope.cli.progress import reading
from pytscope.cli.scripts import script_of
from pytscope.cli.selection import selected_registry
from pytscope.cli.settings import first
from pytscope.gates.baseline_file import read_baseline_file
from pytscope.gates.demands import Demand
from pytscope.gates.gating import Budgets, gate_of, new_baseline, unusable_for
from pytscope.gates.judging import Written
from pytscope.gates.vocabulary import Vocabulary
from pytscope.model.errors import NothingUsable, UsageError
from pytscope.model.findings import Severity
from pytscope.model.gate import Gate


@attrs.frozen(kw_only=True)
class CheckAsked:
    """What was written after `pytscope check`.

    Attributes:
        analysis: The options that `analyze` has too.
        budgets: Budgets of the command line.
        baseline: The baseline's file, or None.
        updating: Whether the run is to become the baseline.
        listing: Whether to list the metrics instead.
    """

    analysis: Asked
    budgets: tuple[Demand, ...] = ()
    baseline: Path | None = None
    updating: bool = False
    listing: bool = False


def check_run(asked: CheckAsked, presentation: Presentation) -> int:
    """Check a run, draw what became of it, and decide the exit code.

    Args:
        asked: The command line.
        presentation: Options before and after the verb.

    Raises:
        PytscopeError: Something cannot be read, used or written.
    """
    config = find_config(Path.cwd())
    own = config.check or CheckSettings()
    registry = selected_registry(asked.analysis.only, asked.analysis.blocked)
    targets = checked_targets(asked.analysis.formats, registry, Gate)
    path, budgets = _run_path(asked, own, config), _budgets(asked, own, config)
    _keep(targets, Path(path), budgets, config)
    options = analyze_options(asked.analysis, config, registry)
    with reading(path):
        run = opened(path, registry, source=asked.analysis.source, attempt=asked.analysis.attempt)
        report, prepared = analyzed(run, registry, options)
    if asked.listing:
        print_metrics(Vocabulary.of(report, prepared))
        return gates.DONE
    root = source_root(os.environ)
    known = attrs.evolve(
        budgets, script=script_of(prepared, root), run_place=placed(Path(path), root)
    )
    gate = gate_of(report, prepared, known)
    places = step_summary(targets, os.environ)
    late = draw(gate, places, registry, look(asked.analysis, config, presentation))
    if unusable := unusable_for(prepared, known):
        raise NothingUsable(unusable)
    if asked.updating:
        made = new_baseline(report, prepared, budgets.written)
        write_file(Path(budgets.baseline_path), made.text())
        say(f"wrote {budgets.baseline_path} (baseline of {len(made.metrics)} metrics)")
    failed = [f"check: {one.budget}: {one.standing.value}" for one in gate.judged if one.fails]
    strict = asked.analysis.strict or config.strict
    return gates.exit_code(failed, gates.strict_reasons(prepared, report, late) if strict else ())


def _run_path(asked: CheckAsked, own: CheckSettings, config: Config) -> str:
    if asked.analysis.run is not None:
        return asked.analysis.run
    if own.run is None:
        msg = f"there is no RUN: none is named, and none in {_settings(config)}"
        raise UsageError(msg, hint='Name it, or set run = "…" in [tool.pytscope.check].')
    return shown(beside(config.path, own.run))


def _settings(config: Config) -> str:
    """The settings that were read, for who expected others."""
    if config.path is None:
        return "a pytscope.toml or pyproject.toml here or above"
    return shown(config.path)


def _keep(targets: Iterable[Target], run: Path, budgets: Budgets, config: Config) -> None:
    """Let nothing that is read be written over, nor the new baseline by a report.

    Raises:
        UsageError: Something would be.
    """
    reports = [target.file for target in targets]
    baseline = Path(budgets.baseline_path) if budgets.baseline_path else None
    must_be_elsewhere(reports, run, "Give the report another file.")
    must_not_replace(reports, baseline, "the baseline")
    must_not_replace(reports, config.path, "the settings file")
    if budgets.updating:
        must_be_elsewhere([baseline], run, "Give the baseline another file.")
        must_not_replace([baseline], config.path, "the settings file")


def _budgets(asked: CheckAsked, own: CheckSettings, config: Config) -> Budgets:
    """The budgets of the settings, then those of the command line.

    Raises:
        UsageError: There are none, or what they need is not named.
        BaselineUnreadable: The baseline cannot be read.
    """
    written = [
        *_of_file(own, config),
        *(Written(demand) for demand in asked.budgets),
    ]
    limit = first(asked.analysis.fail_on, own.fail_on, config.fail_on)
    if not (asked.listing or asked.updating or written or isinstance(limit, Severity)):
        msg = (
            f"there is nothing to check: no budget and no fail-on, and none in {_settings(config)}"
        )
        raise UsageError(
            msg,
            hint="Set budgets in [tool.pytscope.check], or give --budget 'step_ms.median <= 120'.",
        )
    file = asked.baseline
    if file is None and own.baseline is not None:
        file = beside(config.path, own.baseline)
    if asked.updating and file is None:
        msg = "--update-baseline does not know which file to write"
        raise UsageError(
            msg, hint='Name it: --baseline FILE, or baseline = "…" in [tool.pytscope.check].'
        )
    needed = file is not None and not (asked.updating or asked.listing)
    relative = any(one.demand.relative for one in written)
    if asked.baseline is not None and needed and not relative:
        say(f"{asked.baseline} is not read: no budget has 'baseline' in it")
    place = None
    if config.path is not None and asked.analysis.fail_on is None and own.fail_on is not None:
        place = place_of_key(config.path, "fail-on", source_root(os.environ))
    return Budgets(
        written=written,
        fail_on=limit if isinstance(limit, Severity) else None,
        fail_on_place=place,
        baseline=read_baseline_file(file) if needed and relative and file else None,
        baseline_path=shown(file) if file else "",
        updating=asked.updating,
    )


def _of_file(own: CheckSettings, config: Config) -> list[Written]:
    if config.path is None:
        return []
    where = places(config.path, own.budgets, source_root(os.environ))
    return [Written(demand, at) for demand, at in zip(own.budgets, where, strict=True)]

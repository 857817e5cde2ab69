"""From an analysed run and its budgets to a gate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs

from pytscope.gates.baseline import Baseline, baseline_of, unlike
from pytscope.gates.baseline_file import read_baseline_file
from pytscope.gates.demands import demand
from pytscope.gates.judging import Against, Written, judged, judged_findings
from pytscope.gates.panel import gate_panel
from pytscope.gates.scalar_metrics import evaluated_alone
from pytscope.gates.vocabulary import Vocabulary
from pytscope.model.errors import UsageError
from pytscope.model.findings import Severity
from pytscope.model.gate import BaselineFacts, Gate, Judged, Place, Standing
from pytscope.model.report import Report
from pytscope.runs.run import Run
from pytscope.runs.usable import unusable_reason


@attrs.frozen(kw_only=True)
class Budgets:
    """What a run has to keep.

    Attributes:
        written: The budgets.
        fail_on: Severity from which a finding fails the gate, or None.
        fail_on_place: Where that is written, or None.
        baseline: What relative budgets are held against, or None.
        baseline_path: File it is kept in, or an empty string.
        updating: Whether this run is to become the baseline.
        script: Training script, for reporters that point to code.
        run_place: The run, for the same.
    """

    written: Sequence[Written] = ()
    fail_on: Severity | None = None
    fail_on_place: Place | None = None
    baseline: Baseline | None = None
    baseline_path: str = ""
    updating: bool = False
    script: str = ""
    run_place: str = ""


def budgets_of(
    budgets: str | Iterable[str], baseline: str | Path | None, fail_on: str | Severity | None
) -> Budgets:
    """Budgets as a program writes them.

    Args:
        budgets: Their texts.
        baseline: The baseline's file; read only if a budget refers to it.
        fail_on: A severity, `never`, or None.

    Raises:
        UsageError: There are none, or one of them is no budget.
        BaselineUnreadable: The baseline cannot be read.
    """
    texts = [budgets] if isinstance(budgets, str) else [*budgets]
    try:
        written = [Written(demand(text)) for text in texts]
        limit = _severity(fail_on)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if not written and limit is None:
        msg = "there is nothing to check: no budget and no fail_on"
        raise UsageError(msg)
    relative = any(one.demand.relative for one in written)
    return Budgets(
        written=written,
        fail_on=limit,
        baseline=read_baseline_file(Path(baseline)) if relative and baseline is not None else None,
        baseline_path=str(baseline or ""),
    )


def _severity(named: str | Severity | None) -> Severity | None:
    if named is None or isinstance(named, Severity):
        return named
    return None if named == "never" else Severity.named(named)


def unusable_for(run: Run, asked: Budgets) -> str:
    """Why a run without a usable step cannot be judged; empty for one that can.

    Values of evaluations outside of training need no step: a folder in which only a test was
    recorded can be held to them, where nothing else is asked.

    Args:
        run: The run as it was analysed.
        asked: What it is to be held to.
    """
    reason = unusable_reason(run)
    if not reason or asked.updating or asked.fail_on is not None or not asked.written:
        return reason
    metrics = [one.demand.metric for one in asked.written]
    return "" if all(evaluated_alone(run, metric) for metric in metrics) else reason


def gate_of(report: Report, run: Run, asked: Budgets) -> Gate:
    """Judge a run; one that is not usable for what is asked fails.

    Args:
        report: Its analysis.
        run: The run as it was analysed.
        asked: The budgets.

    Raises:
        UsageError: A budget cannot be judged, whatever the run.
    """
    vocabulary = Vocabulary.of(report, run)
    against = Against(asked.baseline, asked.updating)
    unusable = unusable_for(run, asked)
    rows = [_unusable(unusable)] if unusable else []
    rows += [judged(one, vocabulary, against) for one in asked.written]
    if asked.fail_on is not None:
        rows.append(judged_findings(report, asked.fail_on, asked.fail_on_place))
    base = None if asked.updating else asked.baseline
    relative = base is not None and any(one.demand.relative for one in asked.written)
    notes = tuple(unlike(base, report)) if base is not None and relative else ()
    if asked.written and len(run.ranks) > 1:
        notes = (*notes, _shown(run))
    return Gate(
        report=report,
        judged=tuple(rows),
        panel=gate_panel(tuple(rows), notes),
        fail_on=asked.fail_on and asked.fail_on.value,
        baseline=_facts(base, asked.baseline_path) if base is not None else None,
        written=asked.baseline_path if asked.updating else "",
        notes=notes,
        script=asked.script,
        run_place=asked.run_place,
    )


def _shown(run: Run) -> str:
    """Which of several ranks the times are of; another run may show another one."""
    rank, ranks = run.shown.rank, len(run.ranks)
    return f"times and shares are of rank {rank}, one of {ranks:,}: that of median wall"


def _unusable(reason: str) -> Judged:
    """A budget that nobody has to write: some step counts."""
    return Judged(
        budget="steps.rated > 0",
        metric="steps.rated",
        unit="count",
        op=">",
        limit=0.0,
        value=0.0,
        standing=Standing.FAILED,
        reason=reason,
    )


def _facts(baseline: Baseline, path: str) -> BaselineFacts:
    return BaselineFacts(
        path=path,
        run=baseline.run,
        tool_version=baseline.tool_version,
        made_with=baseline.made_with,
    )


def new_baseline(report: Report, run: Run, written: Sequence[Written]) -> Baseline:
    """The baseline that a run makes, with every metric that budgets are about."""
    return baseline_of(Vocabulary.of(report, run), [one.demand.metric for one in written])

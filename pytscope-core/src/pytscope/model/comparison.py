"""What a comparison of runs says: values that every reporter can draw, without arrays."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs

from pytscope.model.comparison_causes import CauseId
from pytscope.model.findings import Confidence, Severity
from pytscope.model.panels import Panel
from pytscope.model.report import Outcome, Problem, RunSummary


class Kind(enum.Enum):
    """What a recorded fact is about, the likeliest to change numbers first."""

    DATA = "data"
    SEED = "seed"
    WEIGHTS = "weights"
    CONFIG = "config"
    CODE = "code"
    PRECISION = "precision"
    DETERMINISM = "determinism"
    PARALLELISM = "parallelism"
    PACKAGES = "packages"
    DEVICE = "device"
    DRIVER = "driver"
    ENVIRONMENT = "environment"
    HOST = "host"
    COMMAND = "command"


class Likelihood(enum.Enum):
    """Whether a difference in a fact changes a run's numbers."""

    YES = "changes numbers"
    PERHAPS = "may change numbers"
    HARDLY = "hardly changes numbers"


@attrs.frozen
class Difference:
    """A recorded fact that is not the same in all of the runs.

    Attributes:
        key: Dotted name, such as `config.lr` or `packages.torch`.
        kind: What it is about.
        likelihood: Whether it changes numbers.
        values: One a run, in the order of the runs: plain values; `ABSENT`
            where the run has none, `NOT_GIVEN` of an option that was not given.
        why: A sentence on what it does to numbers, or an empty string.
        within: Whether it differs between runs of one arm too.
    """

    key: str
    kind: Kind
    likelihood: Likelihood
    values: tuple[Any, ...]
    why: str = ""
    within: bool = False


ABSENT = "(not recorded)"
"""Stands for a value that a run did not record."""
NOT_GIVEN = "(not given)"
"""Stands for the value of an option that is not on the recorded command line of a run."""


@attrs.frozen
class At:
    """Where two series first differ.

    Attributes:
        step: Global step.
        series: Name of the series.
        first: Value of the first run.
        second: Value of the second run.
    """

    step: int
    series: str
    first: float | int
    second: float | int


@attrs.frozen
class SeriesDifference:
    """One logged series of two runs, aligned by global step.

    Attributes:
        name: Name of the series.
        compared: Steps at which both runs have a value.
        only_first: Steps at which only the first run has one.
        only_second: Steps at which only the second run has one.
        bitwise: Where it first differs at all, or None.
        material: Where it first differs by more than the tolerance, or None.
        largest: Largest absolute difference of finite values, or None.
        tolerance: What counts as material, in words.
    """

    name: str
    compared: int
    only_first: int
    only_second: int
    bitwise: At | None
    material: At | None
    largest: float | None
    tolerance: str = ""


class CauseKind(enum.Enum):
    """Why two runs part, in the order in which causes are looked for."""

    BATCH = "batch"
    INITIAL = "init"
    BACKWARD = "backward"
    SCHEDULE = "schedule"
    RESUME = "resume"
    UNKNOWN = "unknown"


@attrs.frozen(kw_only=True)
class Cause:
    """One cause of a divergence.

    Attributes:
        id: What it is, for programs.
        kind: Its kind.
        title: One line, such as `the order of the data`.
        detail: What shows it, and what was ruled out, with steps and values.
        keys: Keys of the differences that bear it out.
        fix: What to do, for what is on in these runs; or an empty string.
        confidence: How sure.
    """

    id: CauseId
    kind: CauseKind
    title: str
    detail: str
    keys: tuple[str, ...] = ()
    fix: str = ""
    confidence: Confidence = Confidence.CONFIRMED


@attrs.frozen(kw_only=True)
class Divergence:
    """Where and why two runs part.

    Attributes:
        first: Label of the first run.
        second: Label of the second run.
        steps: Global steps that both have.
        only_first: Steps that only the first has.
        only_second: Steps that only the second has.
        series: Every series that both logged.
        bitwise: The first step with any difference, or None.
        material: The first step with a difference that matters, or None.
        identical: Whether all that both recorded is equal at every common
            step; None when no series could be compared.
        causes: All causes found, the likeliest first.
        not_compared: What could not be compared, with the reason, as sentences.
    """

    first: str
    second: str
    steps: int
    only_first: int = 0
    only_second: int = 0
    series: tuple[SeriesDifference, ...] = ()
    bitwise: At | None = None
    material: At | None = None
    identical: bool | None = None
    causes: tuple[Cause, ...] = ()
    not_compared: tuple[str, ...] = ()


class Verdict(enum.Enum):
    """What a measured difference amounts to."""

    IDENTICAL = "identical"
    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    NO_DIFFERENCE = "no difference seen"
    UNDECIDED = "cannot tell"


@attrs.frozen(kw_only=True)
class Measured:
    """One number of each run, or of each arm's steps, set beside the other arm's.

    Attributes:
        metric: Such as `final loss`, `step time`, `forward`.
        unit: Such as `ms`, or an empty string.
        lower_is_better: Which way is worse; None where neither is.
        first: The first arm's values, one a run.
        second: The second arm's values, one a run.
        difference: Centre of the second less that of the first.
        low: Lower end of its 95 % interval, or None.
        high: Upper end, or None.
        relative: The difference over the first's centre, or None.
        p: Chance of so large a difference without a true one, or None.
        test: What was tested, in words, such as `Welch t, 3 and 3 runs`.
        noise: Standard deviation between repeats, or None when unknown.
        smallest: Smallest difference that would have been seen, or None.
        verdict: What it amounts to.
        detail: A sentence.
        interval_of: What the interval covers: `runs`, `steps`, or `repeats` where the runs are
            too few for a verdict and are held against the known spread of repeats.
        runs_needed: Runs an arm that would show the difference four times in five, where it
            is held against the spread of repeats; None for more than a hundred.
        between: Labels of the two runs it is about, such as `A, B`; an empty
            string where it is about the arms.
    """

    metric: str
    unit: str = ""
    lower_is_better: bool | None = True
    first: tuple[float, ...]
    second: tuple[float, ...]
    difference: float
    low: float | None = None
    high: float | None = None
    relative: float | None = None
    p: float | None = None
    test: str = ""
    noise: float | None = None
    smallest: float | None = None
    verdict: Verdict = Verdict.UNDECIDED
    detail: str = ""
    interval_of: str = "runs"
    runs_needed: int | None = None
    between: str = ""


@attrs.frozen(kw_only=True)
class SharedStep:
    """A bad step that several runs have in common, which only their data explain.

    Attributes:
        step: Global step.
        series: Name of the series that stands out.
        runs: Labels of the runs that have it.
        ratios: Value over the local level, one a run.
        chance: Chance that unrelated runs agree as well.
        detail: A sentence.
    """

    step: int
    series: str
    runs: tuple[str, ...]
    ratios: tuple[float, ...]
    chance: float
    detail: str = ""


@attrs.frozen(kw_only=True)
class Side:
    """One of the compared runs.

    Attributes:
        label: `A`, `B`, …
        arm: 0 or 1.
        run: The run as reports name it.
        repeats: Key of its configuration in a noise store, or an empty string.
    """

    label: str
    arm: int
    run: RunSummary
    repeats: str = ""


@attrs.frozen(kw_only=True)
class LeftOut:
    """One of the runs that were given, and that the comparison goes without.

    Attributes:
        label: `A`, `B`, …, by its place among all that were given.
        arm: 0 or 1.
        path: Where it is, as given; an empty string for a run without one.
        reason: Why it could not be compared.
    """

    label: str
    arm: int
    path: str
    reason: str


@attrs.frozen(kw_only=True)
class ComparedRule:
    """What became of a rule that has a finding in at least one of the runs.

    Attributes:
        rule: Its id.
        outcomes: One a run, in the order of the runs.
        severities: Of its gravest finding, one a run; None without one.
        costs_s: Seconds that its findings cost, one a run; None where no time
            is lost, or without a finding.
        title: Title of a finding.
    """

    rule: str
    outcomes: tuple[Outcome, ...]
    severities: tuple[Severity | None, ...]
    costs_s: tuple[float | None, ...]
    title: str = ""


@attrs.frozen(eq=False, kw_only=True)
class Comparison:
    """The result of comparing runs.

    Attributes:
        sides: The runs, in the order given.
        left_out: Runs that were given too, and could not be read or have no step.
        grouped: Whether the runs were compared as two arms; otherwise the
            first was compared with each of the others.
        identical: Whether nothing that was recorded of training differs.
        headline: The one line to read.
        facts: Number of recorded facts that any of the runs has.
        differences: Provenance, likeliest to change numbers first.
        divergences: Where pairs of runs part.
        outcomes: Losses and other results.
        timings: Durations.
        not_compared: Results that could not be compared, as sentences.
        cut: Recorded facts that were too long and so recorded in part: they may
            differ all the same.
        watched: Series in which bad steps were looked for.
        shared: Bad steps that siblings share.
        checks: Number of rules by what became of them, one a run.
        findings: Rules that have a finding in any of the runs.
        gained: Rules with a finding in the second arm alone.
        lost: Rules with a finding in the first arm alone.
        panels: The same as sections, in drawing order.
        problems: Plugin failures met on the way.
        gate: Outcome of `--fail-on`: `passed`, `failed`, `not evaluated`, or
            None when not asked.
        gate_reason: A sentence on it.
        tool_version: Version of pytscope-core.
    """

    sides: tuple[Side, ...]
    left_out: tuple[LeftOut, ...] = ()
    grouped: bool = False
    identical: bool | None
    headline: str
    facts: int = 0
    differences: tuple[Difference, ...] = ()
    divergences: tuple[Divergence, ...] = ()
    outcomes: tuple[Measured, ...] = ()
    timings: tuple[Measured, ...] = ()
    not_compared: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    shared: tuple[SharedStep, ...] = ()
    checks: tuple[Mapping[Outcome, int], ...] = ()
    findings: tuple[ComparedRule, ...] = ()
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    panels: tuple[Panel, ...] = ()
    problems: tuple[Problem, ...] = ()
    gate: str | None = None
    gate_reason: str = ""
    tool_version: str = ""

    def to_json(self, *, reproducible: bool = False) -> str:
        """The `pytscope.diff/1` document as text.

        Args:
            reproducible: Leave out times of day and paths.
        """
        from pytscope.model.comparison_document import comparison_json  # it imports this module

        return comparison_json(self, reproducible=reproducible)

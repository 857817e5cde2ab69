"""What a rule says: findings, their cost, evidence and severity."""

from __future__ import annotations

import enum
from collections.abc import Iterable

import attrs

StepRange = tuple[int, int]
"""First and last step, both included."""


class Severity(enum.Enum):
    """How much a finding matters, most important first."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"

    @property
    def order(self) -> int:
        """0 for `HIGH`, growing as the severity falls."""
        return list(Severity).index(self)

    @property
    def tag(self) -> str:
        """The word shown in brackets: HIGH, MED, LOW or INFO."""
        return "MED" if self is Severity.MEDIUM else self.name

    @classmethod
    def named(cls, text: str) -> Severity:
        """The severity of a name, whatever its case; `med` is short for medium.

        Raises:
            ValueError: There is none; a sentence names those there are.
        """
        word = str(text).strip().lower()
        try:
            return cls.MEDIUM if word == "med" else cls(word)
        except ValueError:
            msg = f"{text!r} is none of: {', '.join(s.value for s in cls)}"
            raise ValueError(msg) from None

    @classmethod
    def of_share(cls, share: float) -> Severity:
        """Severity of a time finding from its share of measured wall time.

        At least 0.20 is high, 0.08 medium, 0.02 low; less is info.
        """
        for limit, severity in ((0.20, cls.HIGH), (0.08, cls.MEDIUM), (0.02, cls.LOW)):
            if share >= limit:
                return severity
        return cls.INFO


class Confidence(enum.Enum):
    """How sure a rule is."""

    CONFIRMED = "confirmed"
    SUGGESTIVE = "suggestive"


@attrs.frozen
class Cost:
    """Measured seconds that would not have been spent without the cause.

    Attributes:
        value: The estimate, seconds.
        low: Lower end of its interval, or None when it is a plain sum.
        high: Upper end of its interval, or None.
    """

    value: float
    low: float | None = None
    high: float | None = None


@attrs.frozen
class Evidence:
    """One row of a finding's evidence.

    Attributes:
        metric: What was measured, in words.
        value: Its value.
        unit: Unit of the value, or an empty string.
        low: Lower end of its interval, or None.
        high: Upper end of its interval, or None.
        steps: Steps it was measured over, or None for the whole window.
        rank: Rank it was measured on, or None for all.
    """

    metric: str
    value: float | int | str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    steps: StepRange | None = None
    rank: int | None = None


def _cost(value: Cost | float | None) -> Cost | None:
    return value if value is None or isinstance(value, Cost) else Cost(float(value))


def _evidence(rows: Iterable[Evidence | tuple[object, ...]]) -> tuple[Evidence, ...]:
    return tuple(r if isinstance(r, Evidence) else Evidence(*r) for r in rows)  # type: ignore[arg-type]  # `analysis.plain` checks the fields of what rules yield


def step_ranges(steps: Iterable[int | StepRange]) -> tuple[StepRange, ...]:
    """Join step numbers and ranges into sorted, disjoint inclusive ranges."""
    pairs = sorted((int(s), int(s)) if not isinstance(s, tuple) else s for s in steps)
    joined: list[StepRange] = []
    for first, last in pairs:
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(joined)


def _ranks(values: Iterable[int]) -> tuple[int, ...]:
    return tuple(values)


def _rule_ids(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


@attrs.frozen(kw_only=True)
class Finding:
    """A diagnosis a practitioner would act on.

    Attributes:
        severity: How much it matters.
        title: One line naming the cause.
        detail: A sentence or two with the numbers.
        cost_s: Seconds lost to it, or None when no time is lost. A float is
            taken as a `Cost` without an interval.
        evidence: Rows of `Evidence` (or tuples of its fields).
        fix: What to change, concretely.
        verify: How to see that the change helped.
        steps: Steps concerned, as numbers or inclusive ranges.
        ranks: Ranks concerned.
        confidence: How sure the rule is.
        explains: Ids of rules whose findings this one accounts for.
        rule: Id of the rule; the host fills it in.
    """

    severity: Severity
    title: str
    detail: str = ""
    cost_s: Cost | None = attrs.field(default=None, converter=_cost)
    evidence: tuple[Evidence, ...] = attrs.field(default=(), converter=_evidence)
    fix: str = ""
    verify: str = ""
    steps: tuple[StepRange, ...] = attrs.field(default=(), converter=step_ranges)
    ranks: tuple[int, ...] = attrs.field(default=(), converter=_ranks)
    confidence: Confidence = Confidence.CONFIRMED
    explains: tuple[str, ...] = attrs.field(default=(), converter=_rule_ids)
    rule: str = ""

    @property
    def sort_key(self) -> tuple[int, float, str, int]:
        """Severity, then cost (null last), then rule, then first step."""
        cost = -self.cost_s.value if self.cost_s is not None else float("inf")
        return (self.severity.order, cost, self.rule, self.steps[0][0] if self.steps else -1)

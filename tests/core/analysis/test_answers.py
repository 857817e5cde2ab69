from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import pytest

from pytscope import (
    Analyzer,
    Finding,
    Inconclusive,
    NotApplicable,
    NotMeasured,
    PluginError,
    Rule,
    Run,
    analyzer,
)
from pytscope.analysis.answers import Absent, Answers, compute
from pytscope.model.report import Outcome
from pytscope.plugins.needs import Kind, Need
from pytscope.testing import make_run
from tests.core.plugins.made import registry

RUN = make_run({"data": 1}, steps=3)


@attrs.frozen
class Clock:
    ticks: int


@attrs.frozen
class Double:
    ticks: int


@attrs.frozen
class Part:
    ns: int


@attrs.frozen
class Wait(Part):
    pass


@attrs.frozen
class Bubble(Part):
    pass


@attrs.frozen
class Total:
    ns: int


@analyzer("clock")
def clock(run: Run) -> Clock:
    return Clock(len(run.shown))


@analyzer("double")
def double(clock: Clock) -> Double:
    return Double(2 * clock.ticks)


@analyzer("wait")
def wait(run: Run) -> Wait:
    return Wait(1)


@analyzer("bubble")
def bubble(run: Run) -> Bubble | None:
    return Bubble(2)


@analyzer("total")
def total(parts: tuple[Part, ...]) -> Total:
    return Total(sum(p.ns for p in parts))


def raising(error: BaseException, name: str = "clock") -> Analyzer:
    def call(run: Run) -> Clock:
        raise error

    return Analyzer(name, call)


def answers(*analyzers: Analyzer, run: Run = RUN) -> Answers:
    found, problems = compute(run, registry(*analyzers))
    assert problems == ()
    return found


def test_analyses_are_handed_on() -> None:
    found = answers(double, clock)
    assert found.analyses == {"clock": Clock(3), "double": Double(6)}
    assert found.argument(Need("x", Double)) == Double(6)
    assert found.argument(Need("x", Run)) is RUN


def test_every_part_reaches_the_sum_whatever_the_order_of_registration() -> None:
    assert answers(total, wait, bubble).analyses["total"] == Total(3)
    assert answers(bubble, wait, total).argument(Need("x", Part, Kind.EVERY)) == (
        Bubble(2),
        Wait(1),
    )


def test_no_part_is_an_empty_tuple() -> None:
    assert answers(total).analyses == {"total": Total(0)}


def test_an_optional_analysis_may_have_nothing_to_say() -> None:
    silent = Analyzer("bubble", lambda: None, Bubble | None)  # type: ignore[arg-type]  # as its annotation
    found = answers(silent, wait, total)
    assert found.analyses["total"] == Total(1)
    assert found.argument(Need("x", Bubble)) == Absent(
        Outcome.NOT_APPLICABLE, "bubble has nothing to say of this run"
    )
    assert found.argument(Need("x", Bubble, Kind.OPTIONAL)) is None


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (NotMeasured("a device clock"), Outcome.NOT_MEASURED),
        (NotApplicable("it has one rank"), Outcome.NOT_APPLICABLE),
        (Inconclusive("30 ms"), Outcome.INCONCLUSIVE),
    ],
)
def test_an_abstention_passes_on_with_its_reason(error: Exception, outcome: Outcome) -> None:
    found = answers(raising(error), double)
    absent = Absent(outcome, str(error))
    assert found.argument(Need("x", Clock)) == absent
    assert found.argument(Need("x", Double)) == absent
    assert found.argument(Need("x", Clock, Kind.OPTIONAL)) is None
    assert found.analyses == {}
    assert found.arguments((Need("r", Run), Need("x", Double))) == absent


def test_a_failure_is_a_problem_and_an_error_for_those_who_need_it() -> None:
    found, (problem,) = compute(RUN, registry(raising(ValueError("bad")), double, total))
    assert (problem.plugin, problem.stage, problem.message) == (
        "acme",
        "analyzer clock",
        "ValueError: bad",
    )
    reason = "needs Clock, whose analyzer clock failed: ValueError: bad"
    assert found.argument(Need("x", Double)) == Absent(Outcome.ERROR, reason)
    assert found.analyses == {"total": Total(0)}


@pytest.mark.parametrize("returned", [None, 3, Double(1)])
def test_another_type_than_promised_is_a_failure(returned: Any) -> None:
    wrong = Analyzer("clock", lambda: returned, Clock)
    _, (problem,) = compute(RUN, registry(wrong))
    assert problem.message == f"it returned {type(returned).__name__}, not Clock"


def test_what_nobody_provides_says_so() -> None:
    assert answers().argument(Need("x", Clock)) == Absent(
        Outcome.NOT_MEASURED, "needs Clock, which no installed plugin provides"
    )


def test_what_was_refused_says_so() -> None:
    def compute_clock(clock: Clock) -> Clock: ...

    found, _ = compute(RUN, registry(Analyzer("clock", compute_clock)))
    assert found.argument(Need("x", Clock)) == Absent(
        Outcome.ERROR, "needs Clock, but its analyzer clock needs itself"
    )


def test_authors_may_have_it_raised() -> None:
    with pytest.raises(PluginError, match="analyzer clock"):
        compute(RUN, registry(raising(ValueError())), reraise=True)


class Trace:
    """An attachment."""


class Lazy(Mapping[type, Any]):
    """Attachments that are opened when they are asked for."""

    def __init__(self, opens: Any) -> None:
        self.opens = opens
        self.opened = 0

    def __getitem__(self, kind: type) -> Any:
        self.opened += 1
        return self.opens()

    def __contains__(self, kind: object) -> bool:
        return kind is Trace

    def __iter__(self) -> Iterator[type]:
        return iter([Trace])

    def __len__(self) -> int:
        return 1


def reads_trace(trace: Trace) -> list[Finding]:
    return []


def with_trace(opens: Any) -> tuple[Answers, tuple[Any, ...], Lazy]:
    lazy = Lazy(opens)
    run = attrs.evolve(RUN, attachments=lazy)
    rules = (Rule("A.A", reads_trace, "1"), Rule("A.B", reads_trace, "1"))
    found, problems = compute(run, registry(clock, *rules))
    return found, problems, lazy


def test_an_attachment_is_opened_once_and_only_when_needed() -> None:
    found, problems, lazy = with_trace(Trace)
    assert isinstance(found.argument(Need("x", Trace)), Trace)
    assert problems == ()
    assert lazy.opened == 1
    run = attrs.evolve(RUN, attachments=Lazy(Trace))
    compute(run, registry(clock))
    assert run.attachments.opened == 0  # type: ignore[attr-defined]  # the class above


def test_an_attachment_that_cannot_be_opened_is_one_problem() -> None:
    def fail() -> Any:
        raise ValueError("torn")

    found, (problem,), _ = with_trace(fail)
    assert problem.stage == "attachment Trace"
    assert found.argument(Need("x", Trace)) == Absent(
        Outcome.ERROR, "needs Trace, which cannot be read: ValueError: torn"
    )


def test_an_attachment_may_abstain() -> None:
    def abstain() -> Any:
        raise NotMeasured("a trace with kernels")

    found, problems, _ = with_trace(abstain)
    assert problems == ()
    assert found.argument(Need("x", Trace)) == Absent(Outcome.NOT_MEASURED, "a trace with kernels")


class Hostile:
    """An analysis that dislikes being looked at."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __hash__(self) -> int:
        raise RuntimeError("hash")

    def __bool__(self) -> bool:
        raise RuntimeError("bool")

    def __repr__(self) -> str:
        raise RuntimeError("repr")


def test_a_hostile_analysis_is_handed_on_untouched() -> None:
    value = Hostile()
    found = answers(Analyzer("hostile", lambda: value, Hostile))
    assert found.argument(Need("x", Hostile)) is value

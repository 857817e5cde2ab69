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
from pytscope.analyses import BudgetPart
from pytscope.analysis.answers import Absent, Answers, compute
from pytscope.model.report import Outcome
from pytscope.plugins.isolation import Guard
from pytscope.plugins.loading import load_builtins
from pytscope.plugins.needs import Kind, Need
from pytscope.plugins.registry import build_registry
from pytscope.testing import make_run
from tests.core.plugins.made import plugin, registry

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
    found, problems = compute(run, registry(*analyzers), Guard())
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
    found, (problem,) = compute(RUN, registry(raising(ValueError("bad")), double, total), Guard())
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
    _, (problem,) = compute(RUN, registry(wrong), Guard())
    assert problem.message == f"it returned {type(returned).__name__}, not Clock"


def test_what_nobody_provides_says_so() -> None:
    assert answers().argument(Need("x", Clock)) == Absent(
        Outcome.NOT_MEASURED, "needs Clock, which no installed plugin provides"
    )


def test_what_was_refused_says_so() -> None:
    def compute_clock(clock: Clock) -> Clock: ...

    found, _ = compute(RUN, registry(Analyzer("clock", compute_clock)), Guard())
    assert found.argument(Need("x", Clock)) == Absent(
        Outcome.ERROR, "needs Clock, but its analyzer clock needs itself"
    )


def test_authors_may_have_it_raised() -> None:
    with pytest.raises(PluginError, match="analyzer clock"):
        compute(RUN, registry(raising(ValueError())), Guard(reraise=True))


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
    found, problems = compute(run, registry(clock, *rules), Guard())
    return found, problems, lazy


def test_an_attachment_is_opened_once_and_only_when_needed() -> None:
    found, problems, lazy = with_trace(Trace)
    assert isinstance(found.argument(Need("x", Trace)), Trace)
    assert problems == ()
    assert lazy.opened == 1
    run = attrs.evolve(RUN, attachments=Lazy(Trace))
    compute(run, registry(clock), Guard())
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


PARTS = {
    "ns": "part.ns must be int, not str",
    "take_from": "part.take_from must be str, not int",
    "by_rank": "part.by_rank[0] must be int, not float",
    "huge": "part.ns must be a whole number of 64 bits",
    "raises": "ZeroDivisionError: division by zero",
}


class Raising(BudgetPart):
    @property
    def take_from(self) -> str:  # type: ignore[override]  # the point of the test
        raise ZeroDivisionError("division by zero")


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_the_budget_that_is_rubbish_leaves_the_budget_alone(name: str) -> None:
    fields: dict[str, Any] = {"take_from": "data_stall", "give_to": "x", "ns": 1, "why": "w"}
    wrong = {"ns": "1", "take_from": 3, "by_rank": {0: 0.5}}.get(name)
    fields |= {name: wrong} if wrong is not None else {}
    fields |= {"ns": 2**70} if name == "huge" else {}

    def bad(run: Run) -> BudgetPart:
        return object.__new__(Raising) if name == "raises" else BudgetPart(**fields)

    made = build_registry(
        [load_builtins(Guard(reraise=True)), plugin(analyzers=[Analyzer("bad", bad)])]
    )
    found, (problem,) = compute(RUN, made, Guard())
    assert (problem.plugin, problem.stage, problem.message) == ("acme", "analyzer bad", PARTS[name])
    assert found.analyses["budget"].parts == ()
    assert found.analyses["budget"].wall_ns == RUN.shown.wall_ns.sum()


@attrs.frozen(eq=False)
class Shared:
    by_name: Mapping[str, int] = attrs.field(factory=lambda: {"a": 1})


def test_what_one_rule_is_given_it_cannot_change_for_another() -> None:
    def shared(run: Run) -> Shared:
        return Shared()

    found, _ = compute(RUN, registry(Analyzer("shared", shared)), Guard())
    analysis = found.analyses["shared"]
    assert analysis.by_name == {"a": 1}
    with pytest.raises(TypeError):
        analysis.by_name["a"] = 2


@pytest.mark.parametrize("column", ["step", "wall_ns", "flags", "start_ns", "micro_batches"])
def test_the_columns_of_a_run_cannot_be_written_to(column: str) -> None:
    run = make_run({"data": 1}, steps=3, scalars={"loss": 1.0})
    with pytest.raises(ValueError, match="read-only"):
        getattr(run.shown, column)[0] = 7
    for array in run.shown.column("scalar", "loss"):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0

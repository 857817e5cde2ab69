"""Compute the analyses, and answer what analyzers and rules need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar, final

import attrs

from pytscope.analyses.budget import BudgetPart
from pytscope.analysis.plain import plain
from pytscope.model.errors import Inconclusive, NotApplicable, NotMeasured
from pytscope.model.report import Outcome, Problem
from pytscope.model.wording import one_line
from pytscope.plugins.discovery import BUILTIN
from pytscope.plugins.entries import RegisteredAnalyzer
from pytscope.plugins.isolation import Failure, Guard, Origin, Refusal
from pytscope.plugins.needs import Kind, Need
from pytscope.plugins.ordering import meets
from pytscope.plugins.registry import Registry
from pytscope.runs.run import Run

T = TypeVar("T")


@final
@attrs.frozen
class Absent:
    """Why something is not there: the outcome and reason of the rules that need it.

    Told apart by `type(...) is`, as `Failure` is.
    """

    outcome: Outcome
    reason: str


def settled(call: Callable[[], T]) -> T | Absent:
    """The result of a call that may abstain instead; to be run inside the guard."""
    try:
        return call()
    except NotMeasured as error:
        return Absent(Outcome.NOT_MEASURED, one_line(str(error)))
    except NotApplicable as error:
        return Absent(Outcome.NOT_APPLICABLE, one_line(str(error)))
    except Inconclusive as error:
        return Absent(Outcome.INCONCLUSIVE, one_line(str(error)))


@attrs.frozen(eq=False)
class Answers:
    """What is known about a run.

    Attributes:
        run: The run.
        values: Attachments and analyses by exact type, or why one is absent.
        analyses: Analyses by analyzer name, in the order they were computed.
        provided: Their types as declared, in the same order.
        withheld: For types whose analyzer was refused: why there is none.
    """

    run: Run
    values: Mapping[type, Any]
    analyses: Mapping[str, Any] = attrs.field(factory=dict)
    provided: Sequence[type] = ()
    withheld: Mapping[type, str] = attrs.field(factory=dict)

    def argument(self, need: Need) -> Any:
        """What to pass for a need; `Absent` when it cannot be met."""
        if need.type is Run:
            return self.run
        if need.kind is Kind.EVERY:
            return tuple(self.values[t] for t in self.provided if meets(need, t))
        found = self.values.get(need.type, self)
        answer = self._unprovided(need.type) if found is self else found
        return None if need.kind is Kind.OPTIONAL and type(answer) is Absent else answer

    def arguments(self, needs: Sequence[Need]) -> tuple[Any, ...] | Absent:
        """Every argument, or why the first one that is absent is."""
        found = tuple(self.argument(need) for need in needs)
        return next((a for a in found if type(a) is Absent), found)

    def _unprovided(self, wanted: type) -> Absent:
        if wanted in self.withheld:
            reason = f"needs {wanted.__name__}, but {self.withheld[wanted]}"
            return Absent(Outcome.ERROR, one_line(reason))
        reason = f"needs {wanted.__name__}, which no installed plugin provides"
        return Absent(Outcome.NOT_MEASURED, one_line(reason))


def compute(run: Run, registry: Registry, guard: Guard) -> tuple[Answers, tuple[Problem, ...]]:
    """Run every analyzer, each after those it needs.

    Args:
        run: The run.
        registry: What is registered.
        guard: Calls the analyzers.

    Returns:
        The answers, and a problem for each analyzer or attachment that failed.
    """
    values, problems = _attached(run, registry, guard)
    answers = Answers(run, values, withheld=registry.withheld)
    for registered in registry.analyzers.values():
        result = _analysis(registered, answers, guard)
        if type(result) is Failure:
            problems.append(result.problem)
            result = _failed(registered, result.problem)
        answers = _with(answers, registered, result)
    return answers, tuple(problems)


def _with(answers: Answers, registered: RegisteredAnalyzer, result: Any) -> Answers:
    """The answers and one more; an attachment of the same type stays."""
    values = {registered.provides: result, **answers.values}
    if type(result) is Absent:
        return attrs.evolve(answers, values=values)
    return attrs.evolve(
        answers,
        values=values,
        analyses={**answers.analyses, registered.name: result},
        provided=(*answers.provided, registered.provides),
    )


def _failed(registered: RegisteredAnalyzer, problem: Problem) -> Absent:
    name = registered.provides.__name__
    reason = f"needs {name}, whose analyzer {registered.name} failed: {problem.message}"
    return Absent(Outcome.ERROR, one_line(reason))


def _analysis(registered: RegisteredAnalyzer, answers: Answers, guard: Guard) -> Any:
    arguments = answers.arguments(registered.wants)
    if type(arguments) is Absent:
        return arguments
    call = partial(settled, partial(_checked, registered, arguments))
    return guard(registered.origin, registered.stage, call)


def _checked(registered: RegisteredAnalyzer, arguments: tuple[Any, ...]) -> Any:
    value = registered.analyzer.compute(*arguments)
    if value is None and registered.optional:
        return Absent(Outcome.NOT_APPLICABLE, f"{registered.name} has nothing to say of this run")
    if not isinstance(value, registered.provides):
        msg = f"it returned {type(value).__name__}, not {registered.provides.__name__}"
        raise Refusal(msg)
    if isinstance(value, BudgetPart):
        plain(value, BudgetPart, "part")  # the budget relies on its fields
    return _sealed(value)


def _sealed(value: Any) -> Any:
    """The analysis, whose mappings those that are given it cannot write to."""
    if attrs.has(type(value)):
        for field in attrs.fields(type(value)):
            stored = getattr(value, field.name, None)
            if type(stored) is dict:
                object.__setattr__(value, field.name, MappingProxyType(stored))
    return value


def _attached(run: Run, registry: Registry, guard: Guard) -> tuple[dict[type, Any], list[Problem]]:
    """The attachments that anyone needs, opened, by type."""
    wants = [a.wants for a in registry.analyzers.values()]
    wants += [r.wants for r in registry.rules.values()]
    wanted = dict.fromkeys(need.type for needs in wants for need in needs)
    origin = _source_origin(run, registry)
    values: dict[type, Any] = {}
    problems: list[Problem] = []
    for kind in wanted:
        call = partial(settled, partial(_opened, run, kind))
        found = guard(origin, f"attachment {kind.__name__}", call)
        if type(found) is Failure:
            problems.append(found.problem)
            reason = f"needs {kind.__name__}, which cannot be read: {found.problem.message}"
            values[kind] = Absent(Outcome.ERROR, one_line(reason))
        elif found is not None:
            values[kind] = found
    return values, problems


def _opened(run: Run, kind: type) -> Any:
    return run.attachments[kind] if kind in run.attachments else None  # noqa: SIM401  # a lazy mapping opens on []


def _source_origin(run: Run, registry: Registry) -> Origin:
    for plugin in registry.plugins:
        if run.source in plugin.registers.get("sources", ()):
            return Origin.of(plugin)
    return BUILTIN

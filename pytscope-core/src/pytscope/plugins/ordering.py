"""The order in which analyzers run, and the cycles among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytscope.model.report import Problem
from pytscope.plugins.entries import RegisteredAnalyzer
from pytscope.plugins.needs import Kind, Need


def meets(need: Need, provided: type) -> bool:
    """Whether an analysis of a type is (one of) what a need asks for."""
    if need.kind is Kind.EVERY:
        return any(base is need.type for base in type.mro(provided))
    return need.type is provided


def in_order(
    analyzers: Sequence[RegisteredAnalyzer],
) -> tuple[tuple[RegisteredAnalyzer, ...], tuple[Problem, ...]]:
    """Order analyzers so that each comes after those it needs.

    Analyzers that may run at the same point keep the order: built-ins, then
    by plugin and name. One that takes part in a cycle is left out, a built-in
    only when all of the cycle is built in.

    Returns:
        The analyzers that can run, in order, and a problem for each left out.
    """
    left = {a.name: a for a in sorted(analyzers, key=lambda a: (a.origin.order, a.name))}
    done: list[RegisteredAnalyzer] = []
    problems: list[Problem] = []
    edges = {name: _before(a, left) for name, a in left.items()}
    while left:
        ready = next((name for name in left if left.keys().isdisjoint(edges[name])), None)
        if ready is not None:
            done.append(left.pop(ready))
            continue
        cycle = _cycle({name: tuple(b for b in edges[name] if b in left) for name in left})
        path = " -> ".join((*cycle, cycle[0]))
        members = [left[name] for name in cycle]
        for member in [m for m in members if not m.origin.builtin] or members:
            del left[member.name]
            said = f"it needs itself: {path}"
            problems.append(member.origin.problem(member.stage, said))
    return tuple(done), tuple(problems)


def _before(
    analyzer: RegisteredAnalyzer, others: Mapping[str, RegisteredAnalyzer]
) -> tuple[str, ...]:
    """Names of the analyzers, among others, that have to run first."""
    return tuple(
        name
        for name, other in others.items()
        if any(meets(need, other.provides) for need in analyzer.wants)
    )


def _cycle(before: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """One cycle of a graph in which every node has a predecessor, first name first."""
    path: list[str] = [next(iter(before))]
    while (following := before[path[-1]][0]) not in path:
        path.append(following)
    cycle = path[path.index(following) :]
    start = cycle.index(min(cycle))
    return (*cycle[start:], *cycle[:start])

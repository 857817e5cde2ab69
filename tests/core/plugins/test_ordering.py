from __future__ import annotations

import itertools
from typing import Any

import attrs
import pytest

from pytscope import Analyzer, Run
from pytscope.model.report import PluginState
from pytscope.plugins.entries import RegisteredAnalyzer
from pytscope.plugins.isolation import Origin
from pytscope.plugins.needs import Kind, Need
from pytscope.plugins.ordering import in_order, meets
from tests.core.plugins.made import ACME, OTHER, OWN


class Part:
    """What several analyzers provide kinds of."""


class Wait(Part):
    """One kind."""


class Sum:
    """What needs every part."""


@attrs.frozen
class A:
    """An analysis."""


@attrs.frozen
class B:
    """An analysis."""


@attrs.frozen
class C:
    """An analysis."""


def made(
    name: str, provides: type, *needs: type | Need, origin: Origin = ACME
) -> RegisteredAnalyzer:
    info = origin.row(PluginState.LOADED)
    wants = tuple(
        n if isinstance(n, Need) else Need(f"p{i}", n) for i, n in enumerate((Run, *needs))
    )
    return RegisteredAnalyzer(Analyzer(name, lambda: None), wants, provides, owner=info)


def names(*analyzers: RegisteredAnalyzer) -> list[str]:
    ordered, problems = in_order(analyzers)
    assert problems == ()
    return [a.name for a in ordered]


def test_needs_come_first() -> None:
    assert names(made("a", A, B), made("b", B, C), made("c", C)) == ["c", "b", "a"]


def test_ties_go_to_the_built_ins_then_by_plugin_and_name() -> None:
    analyzers = [
        made("z", A, origin=OWN),
        made("b", B, origin=OTHER),
        made("y", C, origin=ACME),
        made("a", Part, origin=ACME),
    ]
    for shuffled in itertools.permutations(analyzers):
        assert names(*shuffled) == ["z", "a", "y", "b"]


def test_one_that_needs_every_part_waits_for_all_kinds() -> None:
    every = Need("parts", Part, Kind.EVERY)
    budget = made("budget", Sum, every, origin=OWN)
    assert names(budget, made("wait", Wait), made("part", Part), made("a", A)) == [
        "a",
        "part",
        "wait",
        "budget",
    ]


def test_an_optional_need_orders_too() -> None:
    maybe = Need("b", B, Kind.OPTIONAL)
    assert names(made("a", A, maybe), made("b", B)) == ["b", "a"]


def test_what_meets_a_need() -> None:
    assert meets(Need("x", Part), Part)
    assert not meets(Need("x", Part), Wait)
    assert meets(Need("x", Part, Kind.EVERY), Wait)
    assert not meets(Need("x", Part, Kind.EVERY), A)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_cycle_is_a_problem_of_each_member(length: int) -> None:
    types: list[Any] = [A, B, C]
    ring = [made(t.__name__, t, types[(i + 1) % length]) for i, t in enumerate(types[:length])]
    ordered, problems = in_order([*ring, made("free", Part)])
    assert [a.name for a in ordered] == ["free"]
    assert sorted(p.stage for p in problems) == [f"analyzer {a.name}" for a in ring]
    path = " -> ".join("ABC"[:length])
    assert {p.message for p in problems} == {f"it needs itself: {path} -> A"}


def test_a_cycle_is_named_alike_whatever_the_order() -> None:
    ring = [made("a", A, B), made("b", B, C), made("c", C, A)]
    said = {in_order(shuffled)[1] for shuffled in itertools.permutations(ring)}
    assert len(said) == 1


def test_a_stranger_cannot_take_a_built_in_down_with_it() -> None:
    budget = made("budget", Sum, Need("parts", Part, Kind.EVERY), origin=OWN)
    circular = made("wait", Wait, Sum)
    ordered, (problem,) = in_order([budget, circular, made("part", Part)])
    assert [a.name for a in ordered] == ["part", "budget"]
    assert (problem.plugin, problem.stage) == ("acme", "analyzer wait")
    assert problem.message == "it needs itself: budget -> wait -> budget"


def test_a_cycle_of_built_ins_is_told() -> None:
    ordered, problems = in_order([made("a", A, B, origin=OWN), made("b", B, A, origin=OWN)])
    assert ordered == ()
    assert len(problems) == 2


def test_what_needs_a_cycle_still_runs_and_finds_nothing() -> None:
    ordered, _ = in_order([made("a", A, A), made("b", B, A)])
    assert [a.name for a in ordered] == ["b"]

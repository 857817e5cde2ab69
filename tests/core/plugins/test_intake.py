from __future__ import annotations

from typing import Any

import attrs
import pytest

from pytscope import Analyzer, PluginError, Reporter, Rule, Run, Source, rule
from pytscope.model.report import PluginState
from pytscope.plugins.isolation import Guard
from pytscope.plugins.needs import Need
from pytscope.plugins.registry import build_registry
from tests.core.plugins.made import ACME, OTHER, OWN, plugin


def check(run: Run) -> list[Any]:
    """A page."""
    return []


@attrs.frozen
class Clock:
    """An analysis."""


@attrs.frozen
class Watch:
    """Another analysis."""


def clock(run: Run) -> Clock:
    return Clock()


def watch(run: Run) -> Watch:
    return Watch()


def test_what_is_declared_is_registered_with_its_owner() -> None:
    loaded = attrs.evolve(
        plugin(
            rules=[Rule("B.B", check, "1.0"), Rule("A.A", check, "1.0")],
            analyzers=[Analyzer("clock", clock)],
            reporters=[Reporter("count", check)],
            sources=[Source("disk", lambda path: False, check)],
        ),
        load_ns=7,
    )
    registry = build_registry([loaded])
    (info,) = registry.plugins
    assert info.state is PluginState.LOADED
    assert info.registers == {
        "rules": ("A.A", "B.B"),
        "analyzers": ("clock",),
        "reporters": ("count",),
        "sources": ("disk",),
    }
    assert info.load_ns == 7
    assert list(registry.rules) == ["A.A", "B.B"]
    registered = registry.rules["A.A"]
    assert registered.owner == info
    assert registered.wants == (Need("run", Run),)
    assert registered.page == "A page."
    assert registry.analyzers["clock"].owner == info
    assert registry.analyzers["clock"].wants == (Need("run", Run),)
    assert registry.reporters["count"].owner == info
    assert [s.name for s in registry.sources] == ["disk"]


@pytest.mark.parametrize(
    ("first", "second", "stage", "said"),
    [
        ({"rules": [Rule("A.B", check, "1")]}, {"rules": [Rule("A.B", check, "2")]}, "rule A.B",
         "rule id A.B"),
        ({"rules": [Rule("A.B", check, "1", ("A.C",))]}, {"rules": [Rule("A.C", check, "2")]},
         "rule A.C", "rule id A.C"),
        ({"rules": [Rule("A.B", check, "1")]}, {"rules": [Rule("Z.Z", check, "2", ("A.B",))]},
         "rule Z.Z", "rule id A.B"),
        ({"analyzers": [Analyzer("clock", clock)]}, {"analyzers": [Analyzer("clock", watch)]},
         "analyzer clock", "analyzer clock"),
        ({"analyzers": [Analyzer("clock", clock)]}, {"analyzers": [Analyzer("other", clock)]},
         "analyzer other", "an analyzer of Clock"),
        ({"reporters": [Reporter("text", check)]}, {"reporters": [Reporter("text", check)]},
         "reporter text", "reporter text"),
        ({"sources": [Source("s", lambda p: True, check)]},
         {"sources": [Source("s", lambda p: True, check)]}, "source s", "source s"),
    ],
)  # fmt: skip
def test_the_first_owner_keeps_a_name_and_both_are_named(
    first: dict[str, Any], second: dict[str, Any], stage: str, said: str
) -> None:
    registry = build_registry([plugin(OWN, **first), plugin(ACME, **second)])
    (problem,) = registry.problems
    assert (problem.plugin, problem.stage) == ("acme", stage)
    owner = "builtin (pytscope-core 0.3.0)"
    assert problem.message == f"{said} is already registered by {owner}, which keeps it"


def test_a_taken_alias_does_not_cost_the_rule() -> None:
    registry = build_registry(
        [
            plugin(OWN, rules=[Rule("A.B", check, "1")]),
            plugin(ACME, rules=[Rule("Z.Z", check, "1", ("A.B", "A.OLD"))]),
        ]
    )
    assert registry.rules["Z.Z"].rule.aliases == ("A.OLD",)
    assert registry.rules["A.B"].owner.builtin
    assert registry.rule_names["A.B"] == "A.B"


def test_a_refused_analyzer_does_not_hold_its_type() -> None:
    registry = build_registry(
        [
            plugin(OWN, analyzers=[Analyzer("clock", clock)]),
            plugin(ACME, analyzers=[Analyzer("clock", watch)]),
            plugin(OTHER, analyzers=[Analyzer("watch", watch)]),
        ]
    )
    assert registry.analyzers["watch"].owner.name == "other"
    assert len(registry.problems) == 1


def test_one_bad_item_leaves_the_others() -> None:
    sound = Rule("A.A", check, "1.0")
    loaded = plugin(rules=[3, sound, Rule("B.B", lambda x: [], "1.0"), check])
    registry = build_registry([loaded])
    assert list(registry.rules) == ["A.A"]
    assert [p.stage for p in registry.problems] == ["pytscope_rules", "rule B.B", "pytscope_rules"]
    assert registry.plugins[0].state is PluginState.LOADED


def test_a_plugin_of_which_nothing_is_left_is_broken() -> None:
    (info,) = build_registry([plugin(rules=[3])]).plugins
    assert info.state is PluginState.BROKEN
    assert info.reason == "it returned a int where a Rule belongs"
    assert info.registers == {}


def test_a_plugin_without_anything_is_loaded() -> None:
    (info,) = build_registry([plugin()]).plugins
    assert info.state is PluginState.LOADED


def test_an_analyzer_whose_needs_are_bad_leaves_a_reason() -> None:
    def compute(x) -> Clock: ...  # type: ignore[no-untyped-def]  # the point of the test

    registry = build_registry([plugin(analyzers=[Analyzer("clock", compute)])])
    assert registry.withheld == {Clock: "its analyzer clock was refused"}
    assert registry.analyzers == {}


def test_a_cycle_leaves_a_reason() -> None:
    def compute(x: Clock) -> Clock: ...

    registry = build_registry([plugin(analyzers=[Analyzer("clock", compute)])])
    assert registry.withheld == {Clock: "its analyzer clock needs itself"}
    (problem,) = registry.problems
    assert problem.message == "it needs itself: clock -> clock"


class Trap:
    """Raises whatever is asked of it."""

    def __getattribute__(self, name: str) -> Any:
        raise SystemExit(name)


def test_hostile_items_are_problems() -> None:
    registry = build_registry([plugin(rules=[Trap(), Rule("A.A", check, "1")])])
    (problem,) = registry.problems
    assert problem.message.startswith("called sys.exit(")
    assert list(registry.rules) == ["A.A"]


def test_authors_may_have_it_raised() -> None:
    with pytest.raises(PluginError, match=r"rule id A\.B is already registered"):
        build_registry([plugin(rules=[Rule("A.B", check, "1")] * 2)], guard=Guard(reraise=True))


def test_a_rule_may_be_registered_as_it_was_decorated() -> None:
    decorated = rule("A.B", since="1.0", aliases=["A.OLD"])(check)
    registry = build_registry([plugin(rules=[decorated])])
    assert registry.rules["A.B"].rule == decorated

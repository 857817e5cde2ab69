from __future__ import annotations

import re
from typing import Any

import attrs
import pytest

from pytscope import Analyzer, Reporter, Rule, Source
from pytscope.plugins.admission import admit, page_of
from pytscope.plugins.isolation import Refusal


def check(run: Any) -> list[Any]:
    """First line.

    \x1b[2J is escaped.
    """
    return []


RULE = Rule("A.B", check, "1.0", ("A.C",), {"run": int})


def refused(item: object, wanted: type = Rule) -> str:
    with pytest.raises(Refusal) as caught:
        admit(item, wanted)
    return str(caught.value)


def test_a_sound_object_comes_back_equal() -> None:
    source = Source("acme", lambda path: False, check)
    for item in (RULE, Analyzer("a", check), Reporter("r", check), source):
        assert admit(item, type(item)) == item


def test_another_type_is_refused_with_what_to_do() -> None:
    assert refused(check) == (
        "it returned a function where a Rule belongs; decorate it with @rule(…)"
    )
    assert refused(3) == "it returned a int where a Rule belongs"
    assert "decorate it with @analyzer" in refused(check, Analyzer)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": "lower.case"}, "rule id 'lower.case' must look like AREA.NAME"),
        ({"id": None}, "rule id None must look like"),
        ({"aliases": ("x",)}, "rule id 'x' must look like"),
        ({"aliases": 3}, None),
        ({"since": 1}, "since of rule A.B must be text, not int"),
        ({"check": "check"}, "check of rule A.B must be a function, not str"),
        ({"needs": []}, "needs must map parameters to types, not be a list"),
        ({"needs": {1: int}}, "a key of needs must be text"),
    ],
)
def test_fields_are_what_they_claim(changes: dict[str, Any], said: str | None) -> None:
    if said is None:
        with pytest.raises(TypeError):
            admit(attrs.evolve(RULE, **changes), Rule)
    else:
        assert re.match(re.escape(said), refused(attrs.evolve(RULE, **changes)))


@pytest.mark.parametrize("name", ["", "a b", "-x", "a\n", "a/b"])
@pytest.mark.parametrize("kind", [Analyzer, Reporter])
def test_names_are_plain(kind: Any, name: str) -> None:
    assert "may hold letters, digits" in refused(kind(name, check), kind)


def test_a_source_needs_functions() -> None:
    assert "open of source s must be a function" in refused(
        Source("s", lambda path: True, None),  # type: ignore[arg-type]  # the point of the test
        Source,
    )


class Loud(str):
    """Text that shouts when it is used."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise RuntimeError("hash")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __str__(self) -> str:
        raise RuntimeError("str")


class Odd(Rule):
    def __getattribute__(self, name: str) -> Any:
        if name == "page":
            raise RuntimeError("page")
        return super().__getattribute__(name)


def test_subclasses_become_the_plain_classes() -> None:
    admitted = admit(Odd(Loud("A.B"), check, Loud("1.0")), Rule)
    assert type(admitted) is Rule
    assert type(admitted.id) is str
    assert type(admitted.since) is str


def test_a_page_is_escaped_and_keeps_its_lines() -> None:
    assert page_of(RULE) == "First line.\n\n\\x1b[2J is escaped."


def test_a_docstring_that_is_no_text_is_no_page() -> None:
    class Check:
        __doc__ = 3  # type: ignore[assignment]  # the point of the test

        def __call__(self) -> None: ...

    assert page_of(Rule("A.B", Check(), "1.0")) == ""

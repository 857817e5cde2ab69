from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from pytscope import Analyzer, Meter, Panel, PluginError, Status
from pytscope.analysis.sections import panels, writable
from pytscope.plugins.isolation import Guard
from pytscope.plugins.registry import build_registry
from tests.core.plugins.made import OWN, plugin, registry


class Drawn:
    """An analysis with a panel."""

    def __init__(self, draw: Callable[[], Any]) -> None:
        self._draw = draw

    def panel(self) -> Any:
        return self._draw()


def made(panel_id: str = "acme", **changes: Any) -> Panel:
    return attrs.evolve(Panel(panel_id, "ACME", "fine", Status.OK), **changes)


def drawn(**analyses: Any) -> tuple[list[str], list[str]]:
    owners = registry(*(_analyzer(name) for name in analyses))
    shown, problems = panels(analyses, owners, Guard())
    return [p.id for p in shown], [f"{p.stage}: {p.message}" for p in problems]


def _analyzer(name: str) -> Analyzer:
    return Analyzer(name, lambda: None, type(name, (), {}))


def test_panels_are_ordered_by_place_and_id() -> None:
    shown, problems = drawn(
        z=Drawn(lambda: made("z", order=10)),
        b=Drawn(lambda: made("b")),
        a=Drawn(lambda: made("a")),
    )
    assert shown == ["z", "a", "b"]
    assert problems == []


def test_an_analysis_may_have_none() -> None:
    assert drawn(a=3, b=Drawn(lambda: None), c=attrs.make_class("C", ["panel"])(3)) == (
        [],
        [],
    )


class Trap:
    @property
    def panel(self) -> Any:
        raise SystemExit(1)


@pytest.mark.parametrize(
    ("analysis", "said"),
    [
        (Trap(), "called sys.exit(1)"),
        (Drawn(lambda: 1 / 0), "ZeroDivisionError: division by zero"),
        (Drawn(lambda: "text"), "panel must be Panel, not str"),
        (Drawn(lambda: made(title=3)), "panel.title must be str, not int"),
        (Drawn(lambda: made(rows=[Meter("m", float("nan"))])), "a meter's share must be finite"),
    ],
)
def test_a_panel_that_fails_is_a_problem_beside_the_others(analysis: Any, said: str) -> None:
    assert drawn(bad=analysis, good=Drawn(lambda: made("good"))) == (
        ["good"],
        [f"panel of analyzer bad: {said}"],
    )


def test_two_panels_of_one_id() -> None:
    shown, problems = drawn(a=Drawn(made), b=Drawn(made))
    assert shown == ["acme"]
    assert problems == ["panel of analyzer b: panel id 'acme' is taken by another analysis"]


def test_authors_may_have_it_raised() -> None:
    with pytest.raises(PluginError):
        panels({"a": Trap()}, registry(_analyzer("a")), Guard(reraise=True))


class Nameless:
    """An object that does not even tell its class."""

    @property
    def __class__(self) -> type:  # type: ignore[override]  # the point of the test
        raise RuntimeError("class")


def test_an_analysis_that_cannot_be_written_is_left_out() -> None:
    owners = registry(_analyzer("good"), _analyzer("bad"))
    kept, (problem,) = writable({"good": [1, 2], "bad": Nameless()}, owners, Guard())
    assert kept == {"good": [1, 2]}
    assert (problem.stage, problem.message) == ("JSON of analyzer bad", "RuntimeError: class")


def test_an_id_of_a_built_in_panel_cannot_be_taken_by_being_computed_first() -> None:
    owners = build_registry(
        [plugin(OWN, analyzers=[_analyzer("own")]), plugin(analyzers=[_analyzer("acme")])]
    )
    analyses = {
        "acme": Drawn(lambda: made("timing", title="THEIRS")),
        "own": Drawn(lambda: made("timing", title="OURS")),
    }
    (shown,), (problem,) = panels(analyses, owners, Guard())
    assert shown.title == "OURS"
    assert problem.stage == "panel of analyzer acme"

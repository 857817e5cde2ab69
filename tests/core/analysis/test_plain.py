from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

from pytscope import Cost, Evidence, Finding, Meter, Panel, Severity, Spark, Status, Table, Text
from pytscope.analyses import BudgetPart
from pytscope.analysis.plain import plain
from pytscope.plugins.isolation import Refusal

FINDING = Finding(
    severity=Severity.HIGH,
    title="t",
    cost_s=Cost(1.0, low=0.5),
    evidence=[Evidence("m", 3, "ms", steps=(1, 2), rank=0), Evidence("w", "text")],
    steps=[1, 2, (5, 9)],
    ranks=[0],
    explains=["A.B"],
)
PANEL = Panel(
    "timing",
    "TIMING",
    "h",
    Status.OK,
    [Meter("m", 0.5), Spark("s", [1.0, 2.0]), Table(["a"], (("x",),)), Text("p")],
)


@pytest.mark.parametrize("value", [FINDING, PANEL])
def test_sound_values_come_back_equal(value: Any) -> None:
    assert plain(value, type(value), "it") == value


class Shout(str):
    __slots__ = ()

    def __format__(self, spec: str) -> str:
        raise RuntimeError("format")


class Sly(Finding):
    @property
    def sort_key(self) -> Any:
        raise RuntimeError("sort")


def test_everything_becomes_plain() -> None:
    sly = Sly(
        severity=Severity.LOW,
        title=Shout("t"),
        cost_s=Cost(np.float32(0.5), low=1),
        evidence=[Evidence("n", np.int64(3)), Evidence("x", np.float32(0.5))],
        steps=[(np.int64(1), np.int64(2))],
        ranks=np.arange(2),
    )
    made = plain(sly, Finding, "finding")
    assert type(made) is Finding
    assert type(made.title) is str
    assert made.cost_s == Cost(0.5, low=1.0)
    assert type(made.cost_s.low) is float  # type: ignore[union-attr]  # compared above
    assert [type(e.value) for e in made.evidence] == [int, float]
    assert type(made.steps[0][0]) is int
    assert made.ranks == (0, 1)
    assert f"{made.title}" == "t"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"severity": "high"}, "finding.severity must be a Severity, not str"),
        ({"title": None}, "finding.title must be str, not NoneType"),
        ({"ranks": ["0"]}, "finding.ranks[0] must be int, not str"),
        ({"steps": [(1, 2, 3)]}, None),
        ({"evidence": [Evidence("m", None)]}, "finding.evidence[0].value must be"),  # type: ignore[arg-type]
        ({"evidence": [Evidence(3, 1)]}, "finding.evidence[0].metric must be str, not int"),  # type: ignore[arg-type]
        ({"cost_s": Cost("1")}, "finding.cost_s.value must be float, not str"),  # type: ignore[arg-type]
        ({"confidence": None}, "finding.confidence must be a Confidence, not NoneType"),
        ({"detail": b"x"}, "finding.detail must be str, not bytes"),
    ],
)
def test_a_wrong_field_is_named(changes: dict[str, Any], said: str | None) -> None:
    if said is None:
        with pytest.raises(ValueError, match="too many values"):
            attrs.evolve(FINDING, **changes)
        return
    with pytest.raises(Refusal) as caught:
        plain(attrs.evolve(FINDING, **changes), Finding, "finding")
    assert str(caught.value).startswith(said)


def test_another_type_altogether() -> None:
    with pytest.raises(Refusal, match="finding must be Finding, not dict"):
        plain({}, Finding, "finding")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["text"], r"panel\.rows\[0\] must be Meter or Spark or Table or Text, not str"),
        ([Meter("m", "half")], r"panel\.rows\[0\]\.share must be float"),  # type: ignore[arg-type]
        ([Spark("s", ["x"])], r"panel\.rows\[0\]\.values\[0\] must be float"),  # type: ignore[list-item]
        ([Table(["a"], ((1,),))], r"panel\.rows\[0\]\.rows\[0\]\[0\] must be str"),  # type: ignore[arg-type]
    ],
)
def test_rows_of_a_panel(rows: list[Any], said: str) -> None:
    with pytest.raises(Refusal, match=said):
        plain(attrs.evolve(PANEL, rows=rows), Panel, "panel")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"title": "x" * 100_001}, "finding.title must not be longer than 100,000 characters"),
        ({"ranks": [2**63]}, "finding.ranks[0] must be a whole number of 64 bits"),
        ({"evidence": [Evidence("m", -(10**5000))]}, "finding.evidence[0].value must be a whole"),
        ({"ranks": range(1_000_001)}, "finding.ranks must not have more than 1,000,000 items"),
    ],
)
def test_what_has_no_bounds_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(Refusal) as caught:
        plain(attrs.evolve(FINDING, **changes), Finding, "finding")
    assert str(caught.value).startswith(said)


def test_mappings_are_rebuilt_too() -> None:
    part = BudgetPart("data_stall", "cache", np.int64(3), "w", by_rank={np.int64(1): 2})
    made = plain(part, BudgetPart, "part")
    assert (type(made.ns), made.by_rank) == (int, {1: 2})
    assert type(next(iter(made.by_rank))) is int
    for wrong, said in (
        ({"a": 1}, "a key of part.by_rank must be int"),
        ({1: "a"}, r"part.by_rank\[1\] must be int"),
        ([1], "part.by_rank must be a mapping, not list"),
    ):
        with pytest.raises(Refusal, match=said):
            plain(BudgetPart("a", "b", 1, "w", by_rank=wrong), BudgetPart, "part")  # type: ignore[arg-type]  # the point of the test

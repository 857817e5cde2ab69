from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytscope import Finding, Severity
from pytscope.analysis.folding import covers, fold


def made(rule: str, cost_s: float | None = None, **fields: Any) -> Finding:
    base = {"severity": Severity.MEDIUM, "title": rule, "rule": rule, "cost_s": cost_s}
    return Finding(**{**base, **fields})


def shape(*findings: Finding, **options: Any) -> list[tuple[str, list[str]]]:
    return [(f.finding.rule, [a.rule for a in f.also]) for f in fold(findings, **options)]


def test_order_is_severity_cost_rule_first_step() -> None:
    expected = [
        made("Z.HIGH", severity=Severity.HIGH),
        made("Z.DEAR", 9.0),
        made("B.CHEAP", 1.0),
        made("C.CHEAP", 1.0, steps=[1]),
        made("C.CHEAP", 1.0, steps=[7]),
        made("A.FREE"),
    ]
    for shuffled in itertools.permutations(expected):
        assert [f.finding for f in fold(shuffled)] == expected


def test_what_ended_the_run_is_the_first_of_its_severity() -> None:
    expected = [
        made("A.CAUSE", 99.0, severity=Severity.HIGH),
        made("COVERAGE.NOT_FINISHED"),
        made("B.CHEAP", 1.0),
    ]
    assert shape(*reversed(expected)) == [(one.rule, []) for one in expected]
    crash = made("COVERAGE.NOT_FINISHED", severity=Severity.HIGH)
    assert shape(*expected[::2], crash)[0] == ("COVERAGE.NOT_FINISHED", [])


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [
        (made("A.A", 5.0), made("B.B", 10.0), True),
        (made("A.A", 4.9), made("B.B", 10.0), False),
        (made("A.A"), made("B.B", 10.0), False),
        (made("A.A", steps=[(0, 4)]), made("B.B", steps=[(0, 9)]), True),
        (made("A.A", steps=[(0, 3)]), made("B.B", steps=[(0, 9)]), False),
        (made("A.A", steps=[0, 2, 4]), made("B.B", steps=[4, 0, 2]), True),
        (made("A.A"), made("B.B", steps=[3]), True),
        (made("A.A", 1.0, steps=[3]), made("B.B"), True),
        (made("A.A", 9.0, steps=[50]), made("B.B", 10.0, steps=[3]), True),
    ],
)
def test_covering(outer: Finding, inner: Finding, expected: bool) -> None:
    assert covers(outer, inner) is expected


def test_a_finding_folds_under_the_one_that_lists_and_covers_it() -> None:
    cause = made("A.CAUSE", 9.0, explains=["B.EFFECT", "C.FAR"])
    assert shape(cause, made("B.EFFECT", 10.0), made("C.FAR", 100.0), made("D.ELSE", 1.0)) == [
        ("C.FAR", []),
        ("A.CAUSE", ["B.EFFECT"]),
        ("D.ELSE", []),
    ]


def test_not_being_listed_is_not_folding() -> None:
    assert shape(made("A.A", 9.0), made("B.B", 1.0)) == [("A.A", []), ("B.B", [])]


def test_each_finding_of_a_rule_is_judged_by_itself() -> None:
    cause = made("A.A", 5.0, explains=["B.B"])
    assert shape(cause, made("B.B", 2.0), made("B.B", 50.0)) == [("B.B", []), ("A.A", ["B.B"])]


def test_chains_fold_under_the_outermost() -> None:
    assert shape(
        made("A.A", 9.0, explains=["B.B"]), made("B.B", 8.0, explains=["C.C"]), made("C.C", 7.0)
    ) == [("A.A", ["B.B", "C.C"])]


def test_of_two_that_explain_each_other_the_first_stays() -> None:
    assert shape(made("B.B", 9.0, explains=["A.A"]), made("A.A", 10.0, explains=["B.B"])) == [
        ("A.A", ["B.B"])
    ]


LOW, HIGH = Severity.LOW, Severity.HIGH


def test_what_accounts_for_a_graver_finding_heads_its_row() -> None:
    cause = made("A.CAUSE", 9.0, severity=LOW, explains=["B.EFFECT", "C.EFFECT"])
    grave, mild = made("B.EFFECT", 10.0, severity=HIGH), made("C.EFFECT", 2.0, severity=LOW)
    assert shape(cause, mild, grave) == [("A.CAUSE", ["B.EFFECT", "C.EFFECT"])]


def test_a_row_stands_where_its_gravest_finding_would() -> None:
    cause = made("A.CAUSE", 9.0, severity=LOW, explains=["B.EFFECT"])
    grave, other = made("B.EFFECT", 1.0, severity=HIGH), made("D.ELSE", 50.0)
    assert shape(cause, other, grave) == [("A.CAUSE", ["B.EFFECT"]), ("D.ELSE", [])]
    cheaper = made("D.ELSE", 0.5, severity=HIGH)
    assert shape(cause, cheaper, grave) == [("A.CAUSE", ["B.EFFECT"]), ("D.ELSE", [])]


def test_a_rule_does_not_explain_itself() -> None:
    assert shape(made("A.A", 9.0, explains=["A.A"]), made("A.A", 1.0)) == [
        ("A.A", []),
        ("A.A", []),
    ]


def test_former_ids_explain_too() -> None:
    cause = made("A.A", 9.0, explains=["B.OLD"])
    names = {"B.OLD": "B.B", "B.B": "B.B", "A.A": "A.A"}
    assert shape(cause, made("B.B", 1.0), rule_names=names) == [("A.A", ["B.B"])]


@given(
    st.lists(
        st.builds(
            made,
            st.sampled_from(["A.A", "B.B", "C.C"]),
            st.none() | st.integers(0, 3).map(float),
            severity=st.sampled_from(Severity),
            explains=st.lists(st.sampled_from(["A.A", "B.B", "C.C"]), max_size=2),
            steps=st.lists(st.integers(0, 5), max_size=3),
        ),
        max_size=7,
    ),
    st.randoms(),
)
def test_nothing_is_lost_and_order_of_arrival_does_not_matter(
    findings: list[Finding], random: Any
) -> None:
    rows = fold(findings)
    shown = [f for row in rows for f in (row.finding, *row.also)]
    assert sorted(map(repr, shown)) == sorted(map(repr, findings))
    gravest = [min(f.severity.order for f in (row.finding, *row.also)) for row in rows]
    assert gravest == sorted(gravest)
    shuffled = [*findings]
    random.shuffle(shuffled)
    assert [repr(r) for r in fold(shuffled)] == [repr(r) for r in rows]

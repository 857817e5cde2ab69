from __future__ import annotations

from typing import Annotated, Any

import pytest

from pytscope import Bounds, Rule, Run, UsageError
from pytscope.analysis.options import AnalyzeOptions
from pytscope.analysis.settings import disabled_rules, threshold_values
from tests.core.plugins.made import registry


def check(
    run: Run, *, min_share: Annotated[float, Bounds(ge=0, le=1)] = 0.3, count: int = 2
) -> list[Any]:
    return []


def bare(run: Run) -> list[Any]:
    return []


RULES = registry(
    Rule("A.ONE", check, "1", aliases=("A.OLD",)),
    Rule("A.TWO", bare, "1"),
    Rule("B.ONE", bare, "1"),
)
DEFAULTS = {"min_share": 0.3, "count": 2}


def test_nothing_is_disabled_by_default() -> None:
    assert disabled_rules(RULES, AnalyzeOptions()) == {}


def test_select_and_ignore() -> None:
    options = AnalyzeOptions(select=["A"], ignore=["A.OLD"])
    assert disabled_rules(RULES, options) == {
        "A.ONE": "ignored by 'A.OLD'",
        "B.ONE": "not among the selected rules",
    }


def test_one_pattern_may_be_given_as_text() -> None:
    assert AnalyzeOptions(select="A.ONE").select == ("A.ONE",)
    assert set(disabled_rules(RULES, AnalyzeOptions(select="*.ONE"))) == {"A.TWO"}


@pytest.mark.parametrize("field", ["select", "ignore"])
def test_a_pattern_without_a_rule_is_refused(field: str) -> None:
    with pytest.raises(UsageError, match=r"no rule matches 'A\.ON'; did you mean 'A\.ONE'"):
        disabled_rules(RULES, AnalyzeOptions(**{field: ["A.ON"]}))


def values(**rules: Any) -> dict[str, Any]:
    return threshold_values(RULES, AnalyzeOptions(thresholds=rules.get("set", {})))


def test_defaults_apply() -> None:
    assert values() == {"A.ONE": DEFAULTS, "A.TWO": {}, "B.ONE": {}}


def test_what_is_set_is_converted() -> None:
    given = {"A.ONE": {"min_share": 1}, "A.OLD": {"count": "5"}}
    one = values(set=given)["A.ONE"]
    assert one == {"min_share": 1.0, "count": 5}
    assert type(one["min_share"]) is float


@pytest.mark.parametrize(
    ("given", "said", "hint"),
    [
        (
            {"A.ONEE": {}},
            "thresholds are set for 'A.ONEE', which is no rule; did you mean 'A.O",
            "",
        ),
        (
            {"A.ONE": {"min_shar": 1}},
            "rule A.ONE has no threshold 'min_shar'; did you mean 'min_share'?",
            "It has: min_share: float, >= 0 and <= 1 (default 0.3), count: int (default 2).",
        ),
        ({"A.TWO": {"x": 1}}, "rule A.TWO has no threshold 'x'", "It has: none."),
        ({"A.ONE": {"min_share": 2}}, "threshold A.ONE.min_share must be >= 0 and <= 1, not 2", ""),
        ({"A.ONE": {"count": 2.0}}, "threshold A.ONE.count must be of type int, not 2.0", ""),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, Any], said: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        values(set=given)
    assert str(caught.value).startswith(said)
    assert caught.value.hint == hint


@pytest.mark.parametrize("value", [0, -1.0, float("inf"), float("nan")])
@pytest.mark.parametrize("field", ["flops_per_step", "peak_flops"])
def test_figures_are_positive(field: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"{field} must be a positive number"):
        AnalyzeOptions(**{field: value})

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

import pytest

from pytscope import Bounds
from pytscope.plugins.isolation import Refusal
from pytscope.plugins.thresholds import Threshold, effective, read_thresholds

SHARE = Threshold("share", float, 0.3, Bounds(ge=0, le=1))
COUNT = Threshold("count", int, 5, Bounds(gt=0))
WORD = Threshold("word", str, "loss")
SWITCH = Threshold("switch", bool, True)


def refused(function: Callable[..., Any]) -> str:
    with pytest.raises(Refusal) as caught:
        read_thresholds(function)
    return str(caught.value)


def test_thresholds_are_the_keyword_only_parameters() -> None:
    def check(
        run: Any,
        *,
        share: Annotated[float, Bounds(ge=0, le=1)] = 0.3,
        count: Annotated[int, Bounds(gt=0)] = 5,
        word: str = "loss",
        switch: bool = True,
        bare=2,  # type: ignore[no-untyped-def]  # the point of the test
    ) -> None: ...

    assert read_thresholds(check) == (SHARE, COUNT, WORD, SWITCH, Threshold("bare", int, 2))


def test_bounds_may_be_anything_with_those_attributes() -> None:
    class Interval:
        ge = 0
        lt = 2
        le = None

    def check(*, x: Any = 1.0) -> None: ...

    check.__annotations__["x"] = Annotated[float, "note", Interval()]
    assert read_thresholds(check) == (Threshold("x", float, 1.0, Bounds(ge=0, lt=2)),)


def test_an_int_default_of_a_float_becomes_one() -> None:
    def check(*, share: float = 1) -> None: ...

    (threshold,) = read_thresholds(check)
    assert type(threshold.default) is float


def test_what_is_no_threshold_is_refused() -> None:
    def bare(*, x: int) -> None: ...
    def of_list(*, x: list[int] = []) -> None: ...  # noqa: B006
    def lost(*, x: Missing = 3) -> None: ...  # type: ignore[name-defined]  # noqa: F821
    def none(*, x: float | None = None) -> None: ...
    def out(*, x: Annotated[float, Bounds(le=1)] = 2.0) -> None: ...
    def wrong(*, x: int = 2.5) -> None: ...  # type: ignore[assignment]  # the point of the test

    assert refused(bare) == "threshold 'x' needs a default"
    assert refused(of_list) == "threshold 'x' must be bool, int, float or str"
    assert "cannot be resolved" in refused(lost)
    assert refused(none) == "threshold 'x' must be bool, int, float or str"
    assert refused(out) == "the default of threshold 'x' must be <= 1, not 2.0"
    assert refused(wrong) == "the default of threshold 'x' must be of type int, not 2.5"


@pytest.mark.parametrize(
    ("threshold", "value", "converted"),
    [
        (SHARE, 1, 1.0),
        (SHARE, 0.5, 0.5),
        (SHARE, "0.5", 0.5),
        (SHARE, "1", 1.0),
        (COUNT, "7", 7),
        (COUNT, 7, 7),
        (WORD, "7", "7"),
        (SWITCH, "off", False),
        (SWITCH, "True", True),
        (SWITCH, False, False),
    ],
)
def test_values_that_fit(threshold: Threshold, value: Any, converted: Any) -> None:
    result = threshold.convert(value)
    assert result == converted
    assert type(result) is type(converted)


@pytest.mark.parametrize(
    ("threshold", "value"),
    [
        (SHARE, True),
        (SHARE, "half"),
        (SHARE, None),
        (SHARE, 1.5),
        (SHARE, "1.5"),
        (SHARE, math.nan),
        (SHARE, "nan"),
        (COUNT, 7.0),
        (COUNT, "7.0"),
        (COUNT, True),
        (COUNT, 0),
        (WORD, 7),
        (SWITCH, 1),
        (SWITCH, "maybe"),
        (Threshold("free", float, 1.0), math.nan),
    ],
)
def test_values_that_do_not(threshold: Threshold, value: Any) -> None:
    with pytest.raises(ValueError, match="must be"):
        threshold.convert(value)


def test_bounds() -> None:
    assert str(Bounds(ge=0, lt=1)) == ">= 0 and < 1"
    assert not Bounds()
    assert Bounds(gt=0).admit(0.1)
    assert not Bounds(gt=0).admit(0)
    assert Bounds(ge=0).admit(0)
    assert not Bounds(lt=1).admit(1)


def test_a_threshold_reads_well() -> None:
    assert str(SHARE) == "share: float, >= 0 and <= 1 (default 0.3)"
    assert str(WORD) == "word: str (default 'loss')"


def test_effective_values_are_defaults_and_what_is_set() -> None:
    assert effective((SHARE, COUNT), {"share": "0.5"}) == {"share": 0.5, "count": 5}
    with pytest.raises(ValueError, match=r"^share must be >= 0 and <= 1, not 3"):
        effective((SHARE,), {"share": 3})


def test_numbers_beyond_64_bits_are_refused() -> None:
    def check(*, x: int = 2**63) -> None: ...

    assert "the default of threshold 'x' must be a number" in refused(check)
    with pytest.raises(ValueError, match="must be"):
        COUNT.convert(2**63)

    def beyond(*, x: Annotated[int, Bounds(le=10**400)] = 1) -> None: ...

    with pytest.raises(OverflowError):
        read_thresholds(beyond)


class Odd(float):
    __slots__ = ()

    def __format__(self, spec: str) -> str:
        raise RuntimeError("format")


def test_limits_become_plain_numbers() -> None:
    def check(*, x: Annotated[float, Bounds(ge=Odd(0.5))] = 1.0) -> None: ...

    (threshold,) = read_thresholds(check)
    assert str(threshold) == "x: float, >= 0.5 (default 1.0)"


class Uncomparable:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __hash__(self) -> int:
        raise RuntimeError("hash")


def test_a_default_that_cannot_be_compared_is_refused() -> None:
    def check(*, x=Uncomparable()) -> None: ...  # type: ignore[no-untyped-def]  # noqa: B008

    assert refused(check) == "threshold 'x' must be bool, int, float or str"

    def annotated(*, x: float = Uncomparable()) -> None: ...  # type: ignore[assignment]

    assert "must be of type float" in refused(annotated)

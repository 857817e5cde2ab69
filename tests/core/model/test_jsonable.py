from __future__ import annotations

import enum
import json
import math
from datetime import UTC, datetime
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytscope.analyses.column import Column
from pytscope.model.jsonable import jsonable
from pytscope.model.records import Flag


class Color(enum.Enum):
    RED = "red"


@attrs.frozen(eq=False)
class Value:
    seen: Any
    column: Column | None = None
    _private: int = 1
    unset: int = attrs.field(init=False)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (0, 0),
        (2**60 + 1, 2**60 + 1),
        (0.1, 0.1),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (np.float32(0.5), 0.5),
        (np.float64(math.nan), "NaN"),
        (np.longdouble(0.25), 0.25),
        (np.int64(2**62), 2**62),
        (np.bool_(True), True),  # the value under test
        (np.str_("text"), "text"),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.array(5), [5]),
        (np.array([1.0, math.inf]), [1.0, "Infinity"]),
        (Color.RED, "red"),
        (Flag.WARMUP | Flag.SKIPPED, 3),
        ((1, (2,)), [1, [2]]),
        ({"b", "a", "c"}, ["a", "b", "c"]),
        (frozenset({3, 1}), [1, 3]),
        ({Color.RED: 1, 2: "x", None: 0}, {"red": 1, "2": "x", "None": 0}),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (PurePosixPath("a/b"), "a/b"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        ("lone \udc80", "lone \\udc80"),
        (int, "builtins.int"),
        (len, "builtins.builtin_function_or_method"),
    ],
)
def test_values(value, expected):
    result = jsonable(value)
    assert result == expected
    assert type(result) is type(expected)


def test_fields_are_public_and_not_columns():
    column = Column(np.arange(3))
    assert jsonable(Value({"a": column, "b": 2}, column)) == {"seen": {"b": 2}, "unset": None}


def test_zero_is_not_null():
    assert json.dumps(jsonable(Value([0, 0.0, None]))["seen"]) == "[0, 0.0, null]"


def test_a_cycle_ends():
    cycle: list[Any] = []
    cycle.append(cycle)
    assert "..." in json.dumps(jsonable(cycle))


def test_methods_of_odd_values_are_not_called():
    class Hostile:
        def __str__(self) -> str:
            raise AssertionError

        __repr__ = __iter__ = __float__ = __getattr__ = __str__

    assert jsonable([Hostile()])[0].endswith("Hostile")


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(scalars, inner),
    max_leaves=10,
)


@given(values)
def test_everything_is_strict_json(value):
    text = json.dumps(jsonable(value), allow_nan=False)
    assert json.loads(text) == jsonable(value)
    text.encode("ascii")


def test_whole_numbers_that_no_double_holds_are_infinite():
    assert jsonable([2**1022, 10**5000, -(10**5000)]) == [2**1022, "Infinity", "-Infinity"]
    assert json.dumps(jsonable({10**5000: 1})) == '{"Infinity": 1}'

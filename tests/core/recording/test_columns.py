"""Packing: narrow only when nothing is lost."""

from __future__ import annotations

import math
import struct

from hypothesis import given
from hypothesis import strategies as st

from pytscope.recording.columns import pack_floats, pack_ints
from pytscope.recording.plain import plain

CODES = {"<i4": "i", "<i8": "q", "<f4": "f", "<f8": "d"}


@given(st.lists(st.floats(), min_size=1))
def test_floats_come_back_bit_for_bit(values: list[float]) -> None:
    dtype, data = pack_floats(values)
    back = struct.unpack(f"<{len(values)}{CODES[dtype]}", data)
    for a, b in zip(values, back, strict=True):
        assert math.isnan(a) == math.isnan(b)
        assert math.isnan(a) or (a == b and math.copysign(1, a) == math.copysign(1, b))


@given(st.lists(st.floats(width=32), min_size=1))
def test_floats_of_single_precision_take_four_bytes(values: list[float]) -> None:
    dtype, _ = pack_floats([v for v in values if v == v] or [0.0])  # noqa: PLR0124  # no NaN
    assert dtype == "<f4"


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_integers_come_back(values: list[int]) -> None:
    dtype, data = pack_ints(values)
    assert list(struct.unpack(f"<{len(values)}{CODES[dtype]}", data)) == values
    assert (dtype == "<i4") == all(-(2**31) <= v < 2**31 for v in values)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


@given(JSON)
def test_anything_becomes_strict_json(value: object) -> None:
    import json

    assert json.loads(json.dumps(plain(value), allow_nan=False)) == plain(value)


def test_a_cycle_and_a_hostile_repr_end() -> None:
    loop: list[object] = []
    loop.append(loop)
    assert plain(loop)

    class Hostile:
        def __repr__(self) -> str:
            raise ValueError

    assert plain({"x": Hostile()}) == {"x": "<Hostile: repr raised ValueError>"}
    assert len(plain("x" * 10_000)) == 1001

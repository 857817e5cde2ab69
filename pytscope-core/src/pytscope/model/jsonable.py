"""Frozen values as plain JSON values, without asking the values how.

Only fields are read, never methods or properties, so that an odd value from a
plugin cannot break a document; what has no JSON form becomes its type's name.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np

from pytscope.model.escaping import encodable

OMIT = "omit_from_json"
"""Attribute of types, such as `Column`, whose values stay out of JSON where they are a
field or the value of a key."""

SHORTENED = "json"
"""Key of an attrs field's metadata: a function of its value that gives what JSON shows of it."""

_DEEPEST = 40
_MOST_BITS = 1023
"""Larger whole numbers are infinite to whoever reads numbers as doubles, and cannot be printed."""
_NON_FINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}


def jsonable(value: Any) -> Any:
    """A value as None, bool, int, float, str, list or dict.

    attrs values become dicts of their public fields, without columns; enums
    their value; numpy scalars and arrays Python's; sets sorted lists;
    non-finite numbers `"NaN"`, `"Infinity"` and `"-Infinity"`; nesting beyond
    40 levels the text `"..."`.
    """
    return _convert(value, _DEEPEST)


def _convert(value: Any, depth: int) -> Any:
    if depth == 0:
        return "..."
    if isinstance(value, np.generic):
        value = float(value) if isinstance(value, np.floating) else value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return _convert(value.value, depth - 1)
    if isinstance(value, int | float | str):
        return _scalar(value)
    if isinstance(value, dict | MappingProxyType):
        return {_key(k): _convert(v, depth - 1) for k, v in value.items() if not _omitted(v)}
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return _items(value, depth - 1)
    if attrs.has(type(value)):
        return _fields(value, depth - 1)
    return _other(value)


def _scalar(value: float | str) -> Any:
    if isinstance(value, str):
        return encodable(str.__str__(value))
    if isinstance(value, int):
        whole = int(value)
        if whole.bit_length() <= _MOST_BITS:
            return whole
        return _NON_FINITE[math.inf if whole > 0 else -math.inf]
    if math.isfinite(value):
        return float(value)
    return _NON_FINITE.get(value, "NaN")


def _key(key: Any) -> str:
    plain = _convert(key, 3)
    return plain if isinstance(plain, str) else str(plain)


def _items(value: Any, depth: int) -> list[Any]:
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.ndim else [value.item()]
    items = [_convert(v, depth) for v in value]
    return _in_order(items) if isinstance(value, set | frozenset) else items


def _in_order(items: Iterable[Any]) -> list[Any]:
    return sorted(items, key=lambda item: (type(item).__name__, str(item)))


def _fields(value: Any, depth: int) -> dict[str, Any]:
    fields: tuple[attrs.Attribute[Any], ...] = attrs.fields(type(value))
    public = {
        f.name: f.metadata.get(SHORTENED, _whole)(_stored(value, f.name))
        for f in fields
        if not f.name.startswith("_")
    }
    return {name: _convert(v, depth) for name, v in public.items() if not _omitted(v)}


def _whole(value: Any) -> Any:
    return value


def _omitted(value: Any) -> bool:
    return getattr(type(value), OMIT, False) is True


def _stored(value: Any, name: str) -> Any:
    try:
        return object.__getattribute__(value, name)
    except AttributeError:  # a field that nothing has set
        return None


def _other(value: Any) -> str:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, PurePath | Decimal | Fraction | complex):
        return encodable(str(value))
    kind = value if isinstance(value, type) else type(value)
    return encodable(f"{kind.__module__}.{kind.__qualname__}")

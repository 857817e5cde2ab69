"""Rebuild what plugins return from plain values of the types that the model declares.

attrs does not check the types of fields. Reporters and sorting rely on them,
so findings and panels are rebuilt, inside the guard, before anyone uses them.
"""

from __future__ import annotations

import enum
import functools
import numbers
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar, Union

import attrs

from pytscope.plugins.isolation import Refusal

T = TypeVar("T")

MOST_CHARACTERS = 100_000
"""Length of the longest text in a report."""
MOST_ITEMS = 1_000_000
"""Most items of one field."""
_LARGEST = 2**63
"""Whole numbers stay below this, as they do wherever reports are read."""


def plain(value: object, wanted: type[T], path: str) -> T:
    """The value rebuilt as exactly the wanted class of frozen attrs.

    Numbers of other libraries become Python's, subclasses become the class.

    Args:
        value: What a plugin returned.
        wanted: An attrs class of the model.
        path: How to name the value in a refusal.

    Raises:
        Refusal: The value, or something in it, has another type or no bounds.
    """
    rebuilt: T = _plain(value, wanted, path)
    return rebuilt


def _plain(value: Any, wanted: Any, path: str) -> Any:
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (Union, types.UnionType):
        return _member(value, arguments, path)
    if origin is tuple:
        return _items(value, arguments, path)
    if origin is Mapping:
        return _mapping(value, arguments, path)
    if not _fits(value, wanted):
        msg = f"{path} must be {_named(wanted)}, not {type(value).__name__}"
        raise Refusal(msg)
    if wanted is str:
        return _text(value, path)
    if wanted in (int, float):
        return _number(value, wanted, path)
    return _record(value, wanted, path) if attrs.has(wanted) else value


def _fits(value: Any, wanted: Any) -> bool:
    if wanted is float:
        return isinstance(value, numbers.Real)
    if wanted is int:
        return isinstance(value, numbers.Integral)
    if typing.get_origin(wanted) is tuple:
        return isinstance(value, tuple | list)
    return isinstance(value, wanted)


def _text(value: str, path: str) -> str:
    if str.__len__(value) > MOST_CHARACTERS:
        msg = f"{path} must not be longer than {MOST_CHARACTERS:,} characters"
        raise Refusal(msg)
    return str.__str__(value)


def _number(value: Any, wanted: type[int | float], path: str) -> float:
    number = wanted(value)
    if isinstance(number, int) and not -_LARGEST <= number < _LARGEST:
        msg = f"{path} must be a whole number of 64 bits"
        raise Refusal(msg)
    return number


def _member(value: Any, candidates: tuple[Any, ...], path: str) -> Any:
    """The value as the first of a union's types that it fits; whole numbers stay whole."""
    for candidate in sorted(candidates, key=lambda c: c is not int):
        if _fits(value, candidate):
            return _plain(value, candidate, path)
    names = " or ".join(_named(c) for c in candidates)
    msg = f"{path} must be {names}, not {type(value).__name__}"
    raise Refusal(msg)


def _items(value: Any, wanted: tuple[Any, ...], path: str) -> tuple[Any, ...]:
    if not isinstance(value, tuple | list):
        msg = f"{path} must be a tuple, not {type(value).__name__}"
        raise Refusal(msg)
    if len(value) > MOST_ITEMS:
        msg = f"{path} must not have more than {MOST_ITEMS:,} items"
        raise Refusal(msg)
    items = tuple(value)
    kinds = wanted[:1] * len(items) if wanted[-1] is Ellipsis else wanted
    if len(kinds) != len(items):
        msg = f"{path} must have {len(kinds)} items, not {len(items)}"
        raise Refusal(msg)
    return tuple(
        _plain(v, k, f"{path}[{i}]") for i, (v, k) in enumerate(zip(items, kinds, strict=True))
    )


def _mapping(value: Any, wanted: tuple[Any, ...], path: str) -> dict[Any, Any]:
    if not isinstance(value, Mapping):
        msg = f"{path} must be a mapping, not {type(value).__name__}"
        raise Refusal(msg)
    keys, values = wanted
    known = {_plain(k, keys, f"a key of {path}"): value[k] for k in value}
    return {k: _plain(v, values, f"{path}[{k!r}]") for k, v in known.items()}


def _record(value: Any, wanted: type, path: str) -> Any:
    hints = _hints(wanted)
    fields = {name: _plain(getattr(value, name), hints[name], f"{path}.{name}") for name in hints}
    return wanted(**fields)


@functools.cache
def _hints(record: type) -> dict[str, Any]:
    hints = typing.get_type_hints(record)
    return {f.name: hints[f.name] for f in attrs.fields(record)}


def _named(wanted: Any) -> str:
    if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
        return f"a {wanted.__name__}"
    return "None" if wanted is type(None) else str(getattr(wanted, "__name__", wanted))

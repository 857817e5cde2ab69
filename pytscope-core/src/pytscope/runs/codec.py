"""The one cattrs converter: header lines to typed values, step records to plain JSON.

Structuring is strict, because what a rank file says is not to be guessed at: a
number given as text or a truth value is an error that names its place. Keys
that this version does not know are passed over.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any, TypeVar

import cattrs
from cattrs.v import format_exception, transform_error

from pytscope.model.records import Flag, StepRecord

T = TypeVar("T")

NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""How JSON spells the floats that it has no literal for."""

_INT64 = range(-(2**63), 2**63)


class HeaderError(ValueError):
    """A header line whose checksum holds, but whose values are of the wrong type.

    The message lists what was expected, and where: `expected an integer @ $.rank`.
    """


class _Mismatch(ValueError):
    """One value of the wrong type."""


def structure(header: Mapping[str, Any], cls: type[T]) -> T:
    """Make a typed value of a header line.

    Args:
        header: The line as parsed from JSON.
        cls: One of the classes of `pytscope.runs.headers`.

    Raises:
        HeaderError: A value is missing or of another type.
    """
    converter = _converter()
    try:
        return converter.structure(header, cls)
    except cattrs.BaseValidationError as error:
        raise HeaderError("; ".join(transform_error(error, format_exception=_sentence))) from error


def step_document(record: StepRecord) -> dict[str, Any]:
    """A step record as plain JSON values; floats without a literal become strings."""
    return dict(_converter().unstructure(record))


def _sentence(error: BaseException, expected: type | None) -> str:
    if isinstance(error, _Mismatch):
        return str(error)
    return format_exception(error, expected)


def _int(value: Any, _: Any = None) -> int:
    if type(value) is not int or value not in _INT64:
        msg = f"expected an integer of 64 bits, got {_shown(value)}"
        raise _Mismatch(msg)
    return value


def _float(value: Any, _: Any = None) -> float:
    return float(_number(value))


def _number(value: Any, _: Any = None) -> int | float:
    if isinstance(value, str) and value in NON_FINITE:
        return NON_FINITE[value]
    if isinstance(value, float):
        return value
    if type(value) is int and value in _INT64:
        return value
    msg = f"expected a number, got {_shown(value)}"
    raise _Mismatch(msg)


def _str(value: Any, _: Any = None) -> str:
    if not isinstance(value, str):
        msg = f"expected text, got {_shown(value)}"
        raise _Mismatch(msg)
    return value


def _mapping(value: Any, _: Any = None) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        msg = f"expected an object, got {_shown(value)}"
        raise _Mismatch(msg)
    return value


def _text_or_int(value: Any, _: Any = None) -> str | int | None:
    return value if value is None or isinstance(value, str) else _int(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"  # noqa: PLR2004  # one line of a note


def _plain_number(value: Any) -> Any:
    return _plain_float(value) if isinstance(value, float) else value


def _plain_float(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _flag_names(flags: Flag) -> list[str]:
    return [flag.name.lower() for flag in Flag if flag in flags and flag.name]


@functools.cache
def _converter() -> cattrs.Converter:
    converter = cattrs.Converter()
    converter.register_structure_hook(int, _int)
    converter.register_structure_hook(float, _float)
    converter.register_structure_hook(str, _str)
    converter.register_structure_hook(int | float, _number)
    converter.register_structure_hook(str | int | None, _text_or_int)
    converter.register_structure_hook_func(lambda cls: cls == Mapping[str, Any], _mapping)
    converter.register_unstructure_hook(Flag, _flag_names)
    converter.register_unstructure_hook(float, _plain_float)
    converter.register_unstructure_hook(int | float, _plain_number)
    return converter

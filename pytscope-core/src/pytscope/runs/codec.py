"""The one cattrs converter: header lines to typed values, step records to JSON and back.

Structuring is strict, because what a rank file says is not to be guessed at: a
number given as text or a truth value is an error that names its place. Keys
that this version does not know are passed over.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import cattrs
from cattrs.v import format_exception, transform_error

from pytscope.model.records import Flag, Segment, StepRecord

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
    try:
        # Half the time, but without the place of what is wrong.
        quick = _converter(detailed=False).structure(header, cls)
    except (ValueError, TypeError, KeyError, AttributeError):
        pass  # said below, with its place
    else:
        return quick
    try:
        return _converter().structure(header, cls)
    except cattrs.BaseValidationError as error:
        raise HeaderError("; ".join(transform_error(error, format_exception=_sentence))) from error


def step_document(record: StepRecord) -> dict[str, Any]:
    """A step record as what `json.dumps` takes; floats without a literal become strings.

    The document is `pytscope/schemas/step-1.json`'s; its segments are the record's own
    tuples, which JSON writes as arrays.
    """
    document: dict[str, Any] = _unstructured()(record)
    return document


def step_record(document: Mapping[str, Any]) -> StepRecord:
    """The step record of a document, as parsed from JSON.

    Raises:
        HeaderError: A value is missing or of another type.
    """
    return structure(document, StepRecord)


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


def _plain_numbers(values: Mapping[str, float | int]) -> Mapping[str, float | int | str]:
    if all(map(math.isfinite, values.values())):
        return values
    return {name: plain_number(value) for name, value in values.items()}


def plain_number(value: float) -> float | int | str:
    """A number, or the text for one that JSON has no literal for."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


@functools.cache
def _flag_names(flags: Flag) -> tuple[str, ...]:
    return tuple(flag.name.lower() for flag in Flag if flag in flags and flag.name)


def _flags(names: Any, _: Any = None) -> Flag:
    known = {flag.name.lower(): flag for flag in Flag if flag.name}
    if not isinstance(names, list) or not all(name in known for name in names):
        msg = f"expected a list of {', '.join(known)}, got {_shown(names)}"
        raise _Mismatch(msg)
    return functools.reduce(operator.or_, map(known.__getitem__, names), Flag.NONE)


def _as_it_is(value: T) -> T:
    return value


@functools.cache
def _unstructured() -> Callable[[StepRecord], dict[str, Any]]:
    return _converter().get_unstructure_hook(StepRecord)


@functools.cache
def _converter(*, detailed: bool = True) -> cattrs.Converter:
    converter = cattrs.Converter(detailed_validation=detailed)
    converter.register_structure_hook(int, _int)
    converter.register_structure_hook(float, _float)
    converter.register_structure_hook(str, _str)
    converter.register_structure_hook(int | float, _number)
    converter.register_structure_hook(str | int | None, _text_or_int)
    converter.register_structure_hook_func(lambda cls: cls == Mapping[str, Any], _mapping)
    converter.register_structure_hook(Flag, _flags)
    converter.register_unstructure_hook(Flag, _flag_names)
    hooks: dict[Any, Callable[[Any], Any]] = {
        Mapping[str, float | int]: _plain_numbers,
        Mapping[str, int]: _as_it_is,
        tuple[Segment, ...]: _as_it_is,
        tuple[Segment, ...] | None: _as_it_is,
    }
    for kind, hook in hooks.items():
        converter.register_unstructure_hook_func(functools.partial(operator.eq, kind), hook)
    return converter

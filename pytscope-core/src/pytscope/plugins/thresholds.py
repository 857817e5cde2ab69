"""Thresholds: the keyword-only parameters of a rule, and the values set for them."""

from __future__ import annotations

import inspect
import math
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import attrs

from pytscope.plugins.isolation import Refusal
from pytscope.plugins.signatures import parameters, resolved

_LARGEST = 2**63
TYPES = (bool, int, float, str)
_WORDS = {"true": True, "yes": True, "on": True, "1": True} | {
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


@attrs.frozen(kw_only=True)
class Bounds:
    """Limits of a threshold, as in `Annotated[float, Bounds(ge=0, le=1)]`.

    Attributes:
        ge: At least this, or None.
        gt: More than this, or None.
        le: At most this, or None.
        lt: Less than this, or None.
    """

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None

    def admit(self, value: Any) -> bool:
        """Whether a number lies within the limits."""
        return (
            (self.ge is None or value >= self.ge)
            and (self.gt is None or value > self.gt)
            and (self.le is None or value <= self.le)
            and (self.lt is None or value < self.lt)
        )

    def __str__(self) -> str:
        signs = ((">=", self.ge), (">", self.gt), ("<=", self.le), ("<", self.lt))
        return " and ".join(f"{sign} {limit:g}" for sign, limit in signs if limit is not None)

    def __bool__(self) -> bool:
        return bool(str(self))


@attrs.frozen
class Threshold:
    """One keyword-only parameter of a rule.

    Attributes:
        name: Its name.
        type: `bool`, `int`, `float` or `str`.
        default: Value when nothing is set.
        bounds: Limits of the values it takes.
    """

    name: str
    type: type
    default: bool | int | float | str
    bounds: Bounds = Bounds()

    def __str__(self) -> str:
        limits = f", {self.bounds}" if self.bounds else ""
        return f"{self.name}: {self.type.__name__}{limits} (default {self.default!r})"

    def convert(self, value: Any) -> bool | int | float | str:
        """The value as the threshold's type.

        Text is read as the type (that is how a command line says it); an
        `int` is taken for a `float`; nothing else changes type.

        Raises:
            ValueError: It is of another type, or out of bounds.
        """
        converted: bool | int | float | str | None = self._typed(
            _parsed(self.type, value) if isinstance(value, str) else value
        )
        if converted is None:
            msg = f"must be of type {self.type.__name__}, not {value!r}"
            raise ValueError(msg)
        if not self._within(converted):
            msg = f"must be {self.bounds or 'a number'}, not {value!r}"
            raise ValueError(msg)
        return converted

    def _typed(self, value: Any) -> Any:
        if self.type is float and type(value) is int:
            return float(value)
        return value if type(value) is self.type else None

    def _within(self, value: float | str) -> bool:
        if isinstance(value, str | bool):
            return True
        if isinstance(value, int) and abs(value) >= _LARGEST:
            return False
        return not math.isnan(value) and self.bounds.admit(value)


def _parsed(kind: type, text: str) -> Any:
    """Text as a bool, int or float; None when it is not one."""
    if kind is str:
        return text
    if kind is bool:
        return _WORDS.get(text.strip().lower())
    try:
        return kind(text)
    except ValueError:
        return None


def read_thresholds(function: Callable[..., Any]) -> tuple[Threshold, ...]:
    """The thresholds of a rule's function, in the order of its parameters.

    Raises:
        Refusal: A keyword-only parameter is no threshold.
    """
    return tuple(_threshold(function, p) for p in parameters(function)[1])


def _threshold(function: Callable[..., Any], parameter: inspect.Parameter) -> Threshold:
    name, default = parameter.name, parameter.default
    if default is inspect.Parameter.empty:
        msg = f"threshold {name!r} needs a default"
        raise Refusal(msg)
    annotation: Any = type(default)
    if parameter.annotation is not inspect.Parameter.empty:
        remedy = "use bool, int, float or str, or Annotated with one of them"
        annotation = resolved(function, name, parameter.annotation, remedy)
    extras: tuple[Any, ...] = ()
    if typing.get_origin(annotation) is Annotated:
        annotation, *rest = typing.get_args(annotation)
        extras = tuple(rest)
    if annotation not in TYPES:
        msg = f"threshold {name!r} must be bool, int, float or str"
        raise Refusal(msg)
    threshold = Threshold(name, annotation, default, _bounds(extras))
    try:
        return attrs.evolve(threshold, default=threshold.convert(default))
    except ValueError as error:
        msg = f"the default of threshold {name!r} {error}"
        raise Refusal(msg) from error


def _bounds(extras: Iterable[Any]) -> Bounds:
    """Limits from `Bounds`, or from anything with attributes of those names."""
    limits: dict[str, float] = {}
    for extra in extras:
        for side in ("ge", "gt", "le", "lt"):
            limit = getattr(extra, side, None)
            if isinstance(limit, int | float):
                limits[side] = float(limit)
    return Bounds(**limits)


def effective(
    thresholds: Iterable[Threshold], values: Mapping[str, Any]
) -> dict[str, bool | int | float | str]:
    """The value of each threshold: the one set, converted, else the default.

    Raises:
        ValueError: A value does not fit; the message names the threshold.
    """
    chosen: dict[str, bool | int | float | str] = {}
    for threshold in thresholds:
        try:
            given = values.get(threshold.name, threshold.default)
            chosen[threshold.name] = threshold.convert(given)
        except ValueError as error:
            msg = f"{threshold.name} {error}"
            raise ValueError(msg) from error
    return chosen

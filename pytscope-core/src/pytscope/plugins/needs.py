"""What a rule or analyzer needs and provides, read from its signature."""

from __future__ import annotations

import enum
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Union

import attrs

from pytscope.model.wording import did_you_mean
from pytscope.plugins.declare import Analyzer
from pytscope.plugins.isolation import Refusal
from pytscope.plugins.signatures import parameters, resolved


class Kind(enum.Enum):
    """How a need is met."""

    ONE = "one"
    OPTIONAL = "optional"
    EVERY = "every"


@attrs.frozen
class Need:
    """One positional parameter of a rule or analyzer.

    Attributes:
        parameter: Its name.
        type: What has to be there: `Run`, an attachment or an analysis.
        kind: The value itself, the value or None, or all analyses that are one.
    """

    parameter: str
    type: type
    kind: Kind = Kind.ONE

    def __str__(self) -> str:
        name = self.type.__name__
        return {Kind.EVERY: f"tuple[{name}, ...]", Kind.OPTIONAL: f"{name} | None"}.get(
            self.kind, name
        )


def read_needs(function: Callable[..., Any], overrides: Mapping[str, Any]) -> tuple[Need, ...]:
    """The needs of a rule's or analyzer's function, in the order of its parameters.

    Args:
        function: The function.
        overrides: Types by parameter name, which replace annotations.

    Raises:
        Refusal: A parameter's need cannot be told, or an override has no parameter.
    """
    positional, _ = parameters(function)
    names = [p.name for p in positional]
    for name in overrides:
        if name not in names:
            msg = f"needs= names {name!r}, which is no positional parameter"
            raise Refusal(msg + did_you_mean(str(name), names))
    return tuple(_need(function, p, overrides) for p in positional)


def _need(
    function: Callable[..., Any], parameter: inspect.Parameter, overrides: Mapping[str, Any]
) -> Need:
    name = parameter.name
    remedy = f"import the type at run time or declare needs={{{name!r}: TheType}}"
    annotation = overrides.get(name, parameter.annotation)
    if annotation is inspect.Parameter.empty:
        msg = (
            f"parameter {name!r} has no annotation; add one or declare needs={{{name!r}: TheType}}"
        )
        raise Refusal(msg)
    kind, wanted = _read(resolved(function, name, annotation, remedy))
    if wanted is None:
        msg = f"parameter {name!r} must be annotated T, T | None or tuple[T, ...], T a class"
        raise Refusal(msg)
    return Need(name, wanted, kind)


def read_provided(analyzer: Analyzer) -> tuple[type, bool]:
    """The type an analyzer provides, and whether it may have nothing to say.

    Raises:
        Refusal: It cannot be told.
    """
    remedy = "import the type at run time or declare provides=TheType"
    annotation: Any = analyzer.provides
    if annotation is None:
        annotation = inspect.signature(analyzer.compute).return_annotation
    if annotation is inspect.Signature.empty:
        msg = "its function has no return annotation; annotate it or declare provides=TheType"
        raise Refusal(msg)
    kind, provided = _read(resolved(analyzer.compute, "return", annotation, remedy))
    if provided is None or kind is Kind.EVERY:
        msg = "it must be annotated to return one class, or that class or None"
        raise Refusal(msg)
    return provided, kind is Kind.OPTIONAL


def _read(annotation: Any) -> tuple[Kind, type | None]:
    if typing.get_origin(annotation) is Annotated:
        return _read(typing.get_args(annotation)[0])
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (Union, types.UnionType):
        wanted = [a for a in arguments if a is not type(None)]
        one = wanted[0] if len(wanted) == 1 and len(arguments) == 2 else None  # noqa: PLR2004  # T and None
        return Kind.OPTIONAL, _plain_class(one)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:  # noqa: PLR2004  # T and ...
        return Kind.EVERY, _plain_class(arguments[0])
    return Kind.ONE, _plain_class(annotation)


_IDENTITY = ("__eq__", "__hash__", "__getattribute__")
"""What a metaclass must leave alone, since types are looked up outside the guard."""


def _plain_class(annotation: Any) -> type | None:
    """The annotation if it is a class that is compared as classes are, else None."""
    if not isinstance(annotation, type) or typing.get_origin(annotation) is not None:
        return None
    if annotation is Any or annotation is type(None):  # classes, too, since Python 3.11
        return None
    kind = type(annotation)
    if any(getattr(kind, name) is not getattr(type, name) for name in _IDENTITY):
        msg = f"{annotation.__name__} has a metaclass with an identity of its own"
        raise Refusal(msg)
    return annotation

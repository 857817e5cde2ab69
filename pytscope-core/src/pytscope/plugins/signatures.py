"""Read the parameters and annotations of declared functions, one by one."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any

from pytscope.plugins.isolation import Refusal

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def parameters(
    function: Callable[..., Any],
) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
    """The positional and the keyword-only parameters of a function.

    Raises:
        Refusal: It takes `*args` or `**kwargs`, or shows no signature.
    """
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        msg = f"its function shows no signature ({error})"
        raise Refusal(msg) from error
    for parameter in found:
        if parameter.kind is Parameter.VAR_POSITIONAL:
            msg = f"*{parameter.name} says nothing about needs; name and annotate each parameter"
            raise Refusal(msg)
        if parameter.kind is Parameter.VAR_KEYWORD:
            msg = f"**{parameter.name} says nothing about thresholds; name each one"
            raise Refusal(msg)
    positional = tuple(p for p in found if p.kind in _POSITIONAL)
    return positional, tuple(p for p in found if p.kind is Parameter.KEYWORD_ONLY)


def resolved(function: Callable[..., Any], name: str, annotation: Any, remedy: str) -> Any:
    """The value of one annotation, which may be a string.

    Args:
        function: Whose annotation it is; gives the names that it may use.
        name: Parameter, or `return`.
        annotation: As found in the signature.
        remedy: What its author can do when it cannot be resolved.

    Raises:
        Refusal: It cannot be resolved.
    """
    carrier = types.SimpleNamespace(__annotations__={name: annotation})
    inner = _innermost(function)
    try:
        hints = typing.get_type_hints(
            carrier, getattr(inner, "__globals__", {}), _enclosed(inner), include_extras=True
        )
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        msg = f"the annotation of {name!r} cannot be resolved ({error}); {remedy}"
        raise Refusal(msg) from error
    return hints[name]


def _innermost(function: Any) -> Any:
    """The function in which the annotations were written."""
    function = inspect.unwrap(function)
    if isinstance(function, functools.partial):
        return _innermost(function.func)
    if not inspect.isroutine(function):
        function = type(function).__call__
    return getattr(function, "__func__", function)


def _enclosed(function: Any) -> Mapping[str, Any]:
    """Names that the function closes over."""
    return inspect.getclosurevars(function).nonlocals if inspect.isfunction(function) else {}

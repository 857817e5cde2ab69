"""What a caller may ask of an analysis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from pytscope.model.errors import UsageError


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _positive(_: object, attribute: attrs.Attribute[float | None], value: float | None) -> None:
    if value is not None and not (math.isfinite(value) and value > 0):
        msg = f"{attribute.name} must be a positive number, not {value!r}"
        raise UsageError(msg)


@attrs.frozen(kw_only=True)
class AnalyzeOptions:
    """Options of `analyze`.

    Attributes:
        warmup: Warm-up steps a rank and attempt; None for the recorded number
            or, without one, an automatic choice.
        steps: First and last step to analyse, both included, None for open;
            None for all steps.
        select: Rules to check: ids, areas or globs; empty for all.
        ignore: Rules to leave out, in the same forms.
        thresholds: Values by rule and threshold name.
        flops_per_step: FLOPs of one optimizer step on one rank; overrides the
            run's.
        peak_flops: Peak FLOP/s of one rank's device; overrides the run's.
        show_plugins: Whether the report is to show the table of plugins.
        raise_errors: Raise a `PluginError` when a plugin fails.
    """

    warmup: int | None = None
    steps: tuple[int | None, int | None] | None = None
    select: tuple[str, ...] = attrs.field(default=(), converter=_names)
    ignore: tuple[str, ...] = attrs.field(default=(), converter=_names)
    thresholds: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    flops_per_step: float | None = attrs.field(default=None, validator=_positive)
    peak_flops: float | None = attrs.field(default=None, validator=_positive)
    show_plugins: bool = False
    raise_errors: bool = False

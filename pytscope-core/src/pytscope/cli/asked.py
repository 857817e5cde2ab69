"""The command line of `analyze` as values, and with the settings file as options."""

from __future__ import annotations

import os
from collections.abc import Iterable

import attrs

from pytscope.analysis.options import AnalyzeOptions
from pytscope.cli import settings
from pytscope.cli.config import Config
from pytscope.cli.formats import Look
from pytscope.cli.parameters import Auto, Never, Setting, Target
from pytscope.cli.presentation import Presentation
from pytscope.cli.settings import first
from pytscope.model.errors import UsageError
from pytscope.model.findings import Severity
from pytscope.plugins.declare import RenderOptions
from pytscope.plugins.registry import Registry
from pytscope.plugins.selection import raises_plugin_errors

_TERA = 1e12
_WIDTH = 88


@attrs.frozen(kw_only=True)
class Asked:
    """What was written after `pytscope analyze`, option by option."""

    run: str | None = None
    formats: tuple[Target, ...] = ()
    warmup: int | Auto | None = None
    steps: tuple[int | None, int | None] | None = None
    attempt: int | None = None
    select: tuple[tuple[str, ...], ...] = ()
    ignore: tuple[tuple[str, ...], ...] = ()
    severity: Severity | None = None
    fail_on: Severity | Never | None = None
    strict: bool = False
    show_passed: bool = False
    verbose: bool = False
    settings: tuple[Setting, ...] = ()
    source: str | None = None
    flops_per_step: float | None = None
    peak_tflops: float | None = None
    plugins_table: bool = False
    only_plugins: tuple[tuple[str, ...], ...] = ()
    blocked: tuple[str, ...] = ()
    reproducible: bool = False

    @property
    def only(self) -> tuple[str, ...] | None:
        """The plugins to load, or None for all."""
        return _flat(self.only_plugins) or None


def _flat(groups: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(name for group in groups for name in group)


def analyze_options(asked: Asked, config: Config, registry: Registry) -> AnalyzeOptions:
    """Options of the analysis; the command line counts before the file.

    Raises:
        UsageError: The file, or a number, asks for something that cannot be.
    """
    warmup: int | Auto | None = first(asked.warmup, config.warmup)
    tflops = first(asked.peak_tflops, config.peak_tflops)
    if tflops is not None and tflops * _TERA == float("inf"):
        msg = f"a peak of {tflops} TFLOP/s is too large for a number"
        raise UsageError(msg)
    return AnalyzeOptions(
        warmup=None if warmup == "auto" else warmup,
        steps=asked.steps,
        select=_flat(asked.select) or settings.patterns(config, "select", registry),
        ignore=_flat(asked.ignore) or settings.patterns(config, "ignore", registry),
        thresholds=settings.thresholds(config, asked.settings, registry),
        flops_per_step=first(asked.flops_per_step, config.flops_per_step),
        peak_flops=None if tflops is None else tflops * _TERA,
        show_plugins=asked.plugins_table,
        raise_errors=raises_plugin_errors(os.environ),
    )


def look(asked: Asked, config: Config, presentation: Presentation) -> Look:
    """How the report is to look, wherever it goes."""
    options = RenderOptions(
        width=first(presentation.width, config.width) or _WIDTH,
        ascii=bool(first(presentation.ascii, config.ascii)),
        show_passed=asked.show_passed or bool(config.show_passed),
        verbose=asked.verbose,
        reproducible=asked.reproducible,
    )
    return Look(color=first(presentation.color, config.color) or "auto", options=options)

"""Causes that provenance alone suggests: code, packages, devices, flags, other settings."""

from __future__ import annotations

from collections.abc import Container, Iterator

from pytscope.diffing.causes_update import is_optimizers
from pytscope.diffing.evidence import PairEvidence
from pytscope.diffing.numbers import are
from pytscope.model.comparison import Cause, CauseKind, Difference, Kind
from pytscope.model.findings import Confidence

COMMAND_LINE = "the command line"
_TITLES = (
    (Kind.PARALLELISM, "how the work is divided", "Divide the work among ranks and threads alike."),
    (Kind.CODE, "the code", "Run one commit, without changes that are not committed."),
    (Kind.DETERMINISM, "switches that choose kernels", "Set the same switches in both runs."),
    (Kind.PACKAGES, "versions of packages", "Install the same versions."),
    (Kind.DEVICE, "the device", "Devices of one kind give the same numbers, others need not."),
    (Kind.DRIVER, "the driver", "Use one version of the driver."),
    (Kind.ENVIRONMENT, "environment variables", "Set the same variables."),
    (Kind.COMMAND, COMMAND_LINE, "Start both with the same arguments."),
)
_ROUNDING = (Kind.DETERMINISM, Kind.PACKAGES, Kind.DEVICE, Kind.DRIVER)
OF_ROUNDING = frozenset(title for kind, title, _ in _TITLES if kind in _ROUNDING)
"""Causes that change numbers by rounding at first."""


def recorded_causes(evidence: PairEvidence, told: Container[str] = ()) -> Iterator[Cause]:
    """One cause for each kind of fact that differs and may change numbers.

    Args:
        evidence: What the runs show.
        told: Names that another cause has told of.
    """
    if evidence.number is None:
        return
    rates = {one.key for one in evidence.rates()}
    settings = [
        one
        for one in evidence.topic(Kind.CONFIG)
        if one.key not in rates and not is_optimizers(one.key) and one.key not in told
    ]
    if settings:
        yield _cause(evidence, "other settings", settings, "Use the same settings.")
    for kind, title, fix in _TITLES:
        found = [one for one in evidence.topic(kind) if one.key not in told]
        if found:
            yield _cause(evidence, title, found, fix)


def _cause(evidence: PairEvidence, title: str, found: list[Difference], fix: str) -> Cause:
    shown = are(found)
    reasons = tuple(dict.fromkeys(one.why for one in found if one.why))
    return Cause(
        kind=CauseKind.INITIAL if evidence.first_value else CauseKind.BACKWARD,
        title=title,
        detail=" ".join((f"{shown}.", *reasons[:2])),
        keys=tuple(one.key for one in found),
        fix=fix,
        confidence=Confidence.SUGGESTIVE,
    )

"""Causes that provenance alone suggests: code, packages, devices, flags, other settings."""

from __future__ import annotations

from collections.abc import Container, Iterator

from pytscope.diffing.causes_update import is_optimizers
from pytscope.diffing.evidence import PairEvidence
from pytscope.diffing.numbers import are
from pytscope.model.comparison import Cause, CauseKind, Difference, Kind
from pytscope.model.comparison_causes import CauseId
from pytscope.model.findings import Confidence

_KINDS = (
    (
        Kind.PARALLELISM,
        CauseId.PARALLELISM,
        "how the work is divided",
        "Divide the work among ranks and threads alike.",
    ),
    (
        Kind.CODE,
        CauseId.CODE,
        "the code",
        "Run one commit, without changes that are not committed.",
    ),
    (
        Kind.DETERMINISM,
        CauseId.KERNELS,
        "switches that choose kernels",
        "Set the same switches in both runs.",
    ),
    (Kind.PACKAGES, CauseId.PACKAGES, "versions of packages", "Install the same versions."),
    (
        Kind.DEVICE,
        CauseId.DEVICE,
        "the device",
        "Devices of one kind give the same numbers, others need not.",
    ),
    (Kind.DRIVER, CauseId.DRIVER, "the driver", "Use one version of the driver."),
    (Kind.ENVIRONMENT, CauseId.ENVIRONMENT, "environment variables", "Set the same variables."),
    (
        Kind.COMMAND,
        CauseId.COMMAND_LINE,
        "the command line",
        "Start both with the same arguments.",
    ),
)
OF_ROUNDING = (CauseId.KERNELS, CauseId.PACKAGES, CauseId.DEVICE, CauseId.DRIVER)
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
        said = ("other settings", "Use the same settings.")
        yield _cause(evidence, CauseId.SETTINGS, settings, *said)
    for kind, which, title, fix in _KINDS:
        found = [one for one in evidence.topic(kind) if one.key not in told]
        if found:
            yield _cause(evidence, which, found, title, fix)


def _cause(
    evidence: PairEvidence, which: CauseId, found: list[Difference], title: str, fix: str
) -> Cause:
    shown = are(found)
    reasons = tuple(dict.fromkeys(one.why for one in found if one.why))
    return Cause(
        id=which,
        kind=CauseKind.INITIAL if evidence.first_value else CauseKind.BACKWARD,
        title=title,
        detail=" ".join((f"{shown}.", *reasons[:2])),
        keys=tuple(one.key for one in found),
        fix=fix,
        confidence=Confidence.SUGGESTIVE,
    )

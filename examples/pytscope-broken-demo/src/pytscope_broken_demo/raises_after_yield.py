"""Yields a finding, then raises: neither that finding nor another may be shown."""

from collections.abc import Iterator

from pytscope import Finding, Rule, Severity, hookimpl, rule
from pytscope.analyses import Timing


@rule("BROKEN.RAISES_LATE", since="1.0.0")
def raises_late(timing: Timing) -> Iterator[Finding]:
    """Detects whatever it likes, then divides by zero."""
    yield Finding(severity=Severity.HIGH, title="Half of a diagnosis", cost_s=1e9)
    yield Finding(severity=Severity.HIGH, title=f"{timing.steps / 0:.0f} steps")


@hookimpl
def pytscope_rules() -> list[Rule]:
    return [raises_late]

"""A rule pack for pytscope in one module."""

from collections.abc import Iterator

from pytscope import Finding, NotMeasured, Rule, Severity, hookimpl, rule
from pytscope.analyses import Timing


@rule("DEMO.LOGGING_HEAVY", since="1.0.0")
def logging_heavy(timing: Timing, *, min_share: float = 0.05) -> Iterator[Finding]:
    """Logging takes a notable part of training.

    Detects: time in `log` that the training thread could spend on steps.
    Why it matters: it mostly waits for a disk, a socket or a tracker.
    How it decides: log / wall of the rated steps >= min_share; cost_s = all of `log`.
    Fix: log every tenth step, or hand the values to a thread.
    Limits: only time recorded as `log` counts.
    References: the pytscope documentation, "Writing a rule".
    """
    log = timing.phase("log")
    if not log.steps:
        msg = "a `log` phase: with profiler.phase('log'): ..."
        raise NotMeasured(msg)
    if log.share >= min_share:
        yield Finding(
            severity=Severity.of_share(log.share),
            title=f"Logging takes {log.share:.1%} of step time",
            cost_s=log.total_ns / 1e9,
            fix="log every tenth step, or hand the values to a thread",
            verify="record the run again: the share of `log` in TIMING falls",
            ranks=[timing.rank],
        )


@hookimpl
def pytscope_rules() -> list[Rule]:
    return [logging_heavy]

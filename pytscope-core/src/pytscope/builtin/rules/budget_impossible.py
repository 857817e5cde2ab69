"""BUDGET.IMPOSSIBLE."""

from __future__ import annotations

from collections.abc import Iterator

from pytscope.analyses import Budget
from pytscope.builtin.rules.coverage_clock import DURATIONS
from pytscope.model.findings import Finding, Severity
from pytscope.plugins.declare import rule

TITLES = {
    "mfu": "MFU above 100% is impossible",
    "compute": "More useful compute than compute was measured",
    "figures": "FLOPs or peak are no possible figures",
    "part": "A budget part is larger than the line it takes from",
}


@rule("BUDGET.IMPOSSIBLE", since="0.3.0")
def impossible(budget: Budget) -> Iterator[Finding]:
    """The budget holds values that no run can have.

    Detects:
        An MFU above 1; useful compute above the compute that was measured; FLOPs
        or a peak that are zero, negative or not finite; a part of an analyzer's
        that takes more from a line than it holds. Durations that contradict each
        other are COVERAGE.CLOCK's.

    Why it matters:
        One of the inputs is wrong, and with it every share that rests on it. A
        budget that cuts such values off at 100 % would hide exactly that.

    How it decides:
        By comparison of exact integers, without tolerance and without noise; the
        false-positive rate is zero by construction. Lines keep their computed
        values, negative ones included, and still sum to the wall. Always high:
        the report cannot be relied on before it is resolved. No seconds are lost,
        so cost_s is null; there is no counterfactual and no least number of steps.

    Fix:
        Check the suspect that the finding names: FLOPs per step are per rank, of
        one optimizer step, forward and backward; the peak is the dense one of the
        dtype in use, in FLOP/s.

    Limits:
        The suspect is a guess among the inputs. Values can be wrong and possible,
        and then nothing is said.

    References:
        Chowdhery et al., "PaLM" (2022), appendix B, for what MFU counts.
    """
    for seen in budget.impossible:
        if seen.kind in DURATIONS:
            continue
        yield Finding(
            severity=Severity.HIGH,
            title=TITLES.get(seen.kind, "The budget contradicts itself"),
            detail=seen.message,
            fix=f"Check {seen.suspect}.",
            verify="analyze again with the right figure: the budget has no negative line",
            ranks=seen.ranks,
        )

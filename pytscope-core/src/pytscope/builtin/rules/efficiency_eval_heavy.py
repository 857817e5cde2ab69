"""EFFICIENCY.EVAL_HEAVY."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pytscope.analyses import Budget, Timing
from pytscope.analyses.coverage import FEW_STEPS
from pytscope.analyses.units import duration, percent
from pytscope.builtin.rules.how_often import how_often
from pytscope.model.errors import NotApplicable, NotMeasured
from pytscope.model.findings import Confidence, Evidence, Finding, Severity
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds

_NAME = "eval"
_OFTEN = 2
"""Steps with an evaluation from which the record tells how often one comes."""


@rule("EFFICIENCY.EVAL_HEAVY", since="0.3.0")
def eval_heavy(
    budget: Budget,
    timing: Timing | None,
    *,
    allowance: Annotated[float, Bounds(ge=0, lt=1)] = 0.20,
) -> Iterator[Finding]:
    """Evaluation takes much of the time that was meant for training.

    Detects:
        Runs that spend a large part of their wall in `eval`: validation between steps,
        before the first and after the last, with its data, its passes and its metrics.

    Why it matters:
        Evaluation trains nothing, and its cost is set by three settings that are seldom
        looked at again: how often, on how much, and how fast. A validation that was cheap
        beside a long epoch is not when it comes every hundred steps.

    How it decides:
        share = the budget's `eval` line / measured wall of the shown rank. Finding when it
        is more than allowance; the default of a fifth leaves room for a validation that
        is as large as a tenth of what is trained on, at twice the time a sample. Severity
        by the excess, share - allowance: high from 0.20, medium from 0.08, low from 0.02,
        else info. cost_s = eval - (a / (1 - a)) x (wall - eval) with a = allowance: the
        counterfactual is the same run whose evaluation takes that share. Suggestive below
        20 rated steps, and with fewer than two of them that have an evaluation before them:
        how often it comes is then not known, and a longer run may well spend less. Where no
        `eval` was recorded, or no step counts, it is not applicable. Evaluations outside of
        training, such as a test when it is over, are beside the wall and not in it. A
        measured sum, no noise to be wrong about: the false-positive rate is zero.

    Fix:
        Evaluate less often; on a fixed part of the validation set, and on all of it at the
        end; with larger batches, no gradients and the workers that training has; compute
        metrics once over all batches, on the device, not once a batch on the host.

    Limits:
        How much evaluation a run needs is not known: ignore this rule, or set its
        allowance, where evaluating is the point. Loops recorded by hand are seen as
        far as they name it: `with prof.phase("eval")`.

    References:
        Google's ml-goodput and badput categories, for time that is spent on something
        other than training.
    """
    if not budget.wall_ns:
        msg = "measured wall time: this run has none"
        raise NotMeasured(msg)
    spent = budget.ns(_NAME)
    if spent <= 0:
        msg = "no evaluation was recorded"
        raise NotApplicable(msg)
    if not budget.steps:
        msg = "no step counts in rates: there is no training that it could be too much beside"
        raise NotApplicable(msg)
    share = spent / budget.wall_ns
    if share <= allowance:
        return
    excess = spent - allowance / (1.0 - allowance) * (budget.wall_ns - spent)
    each = timing.phase(_NAME) if timing is not None else None
    evaluations = each.steps if each is not None else 0
    enough = budget.steps >= FEW_STEPS and evaluations >= _OFTEN
    told = how_often(_NAME, "evaluation", evaluations, spent, budget)
    rank = budget.shown_rank
    yield Finding(
        severity=Severity.of_share(share - allowance),
        confidence=Confidence.CONFIRMED if enough else Confidence.SUGGESTIVE,
        title=f"Evaluation takes {percent(share)} of {budget.measured}",
        detail=(
            f"It takes {duration(spent)} of {duration(budget.wall_ns)}: {told}. The cost is what "
            f"lies above the {percent(allowance)} of {budget.measured} that the rule allows."
        ),
        cost_s=excess / 1e9,
        evidence=[
            Evidence("eval", spent / 1e9, "s", rank=rank),
            Evidence("share of wall", round(share * 100, 2), "%", rank=rank),
            Evidence("rated steps with an evaluation", evaluations, "steps", rank=rank),
        ],
        fix=(
            "Evaluate less often or on fewer samples, with larger batches and with the workers "
            "that training has; compute metrics once, not once a batch."
        ),
        verify="record the run again: eval shrinks in the budget",
        steps=budget.step_ranges,
        ranks=(rank,),
    )

"""EFFICIENCY.CHECKPOINT_HEAVY."""

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

_NAME = "checkpoint"
_OFTEN = 2
"""Steps with a checkpoint from which the record tells how often one comes."""


@rule("EFFICIENCY.CHECKPOINT_HEAVY", since="0.3.0")
def checkpoint_heavy(
    budget: Budget,
    timing: Timing | None,
    *,
    allowance: Annotated[float, Bounds(ge=0, lt=1)] = 0.10,
) -> Iterator[Finding]:
    """Saving checkpoints takes much of the time that was meant for training.

    Detects:
        Runs that spend a large part of their wall in `checkpoint`: the loop stands still
        while model and optimizer are copied to the host, put into a file and written.

    Why it matters:
        A checkpoint insures against a stop, and each one costs the same whether or not the
        run ever stops. An interval that was right for a small model on a local disk is not
        for a large one on a shared one.

    How it decides:
        share = the budget's `checkpoint` line / measured wall of the shown rank. Finding
        when it is more than allowance; the default of a tenth is several times what runs
        in good order spend. Severity by the share: high from 0.20, medium from 0.08, low
        from 0.02, else info. cost_s is all of `checkpoint`: the
        counterfactual is the same run whose saving blocks no step, which saving beside the
        training comes close to. Suggestive below 20 rated steps, and with fewer than two of
        them that have a checkpoint before them: how often one comes is then not known. It
        accounts for EFFICIENCY.RECOVERABLE where `checkpoint` is the largest line of that.
        Where no `checkpoint` was recorded it is not applicable. A measured sum, no noise to
        be wrong about: the false-positive rate is zero.

    Fix:
        Save less often: every so many minutes, not at every small number of steps. Save
        beside the training with torch.distributed.checkpoint.async_save, which blocks only
        for the copy to the host. Save less: one copy of the state, each rank its shard, no
        optimizer state in files that are kept for evaluation only.

    Limits:
        What a stop would cost is not known: where stops are frequent, an interval this
        short may be right, and saving beside the training is what is left. Saving that is
        hidden in another phase is not seen: `with prof.phase("checkpoint")` names it.

    References:
        Mohan et al., "CheckFreq: Frequent, Fine-Grained DNN Checkpointing" (2021), for
        checkpoints that are pipelined with training and for how often one should come.
    """
    if not budget.wall_ns:
        msg = "measured wall time: this run has none"
        raise NotMeasured(msg)
    spent = budget.ns(_NAME)
    if spent <= 0:
        msg = "no checkpoint was recorded"
        raise NotApplicable(msg)
    share = spent / budget.wall_ns
    if share <= allowance:
        return
    each = timing.phase(_NAME) if timing is not None else None
    saved = each.steps if each is not None else 0
    enough = budget.steps >= FEW_STEPS and saved >= _OFTEN
    told = how_often(_NAME, "checkpoint", saved, spent, budget)
    rank = budget.shown_rank
    yield Finding(
        severity=Severity.of_share(share),
        confidence=Confidence.CONFIRMED if enough else Confidence.SUGGESTIVE,
        title=f"Saving checkpoints takes {percent(share)} of {budget.measured}",
        detail=(
            f"It takes {duration(spent)} of {duration(budget.wall_ns)}, in which nothing trains: "
            f"{told}."
        ),
        cost_s=spent / 1e9,
        evidence=[
            Evidence("checkpoint", spent / 1e9, "s", rank=rank),
            Evidence("share of wall", round(share * 100, 2), "%", rank=rank),
            Evidence("rated steps with a checkpoint", saved, "steps", rank=rank),
        ],
        fix=(
            "Save less often, or beside the training (torch.distributed.checkpoint.async_save), "
            "or less: each rank its shard, no state that is not needed to resume."
        ),
        verify="record the run again: checkpoint shrinks in the budget",
        steps=budget.step_ranges,
        ranks=(rank,),
        explains=("EFFICIENCY.RECOVERABLE",) if budget.led_by(_NAME) else (),
    )

"""The analyzer of evaluations outside of training."""

from __future__ import annotations

from pytscope.analyses.evaluations import Evaluated, Evaluations
from pytscope.model.errors import NotApplicable
from pytscope.plugins.declare import analyzer
from pytscope.runs.attempt import Evaluation
from pytscope.runs.run import Run


@analyzer("evaluations")
def evaluations(run: Run) -> Evaluations:
    """Say what was evaluated outside of training, of the shown rank if it did."""
    if not run.evaluations:
        msg = "no evaluation outside of training was recorded"
        raise NotApplicable(msg)
    ranks = {one.rank for one in run.evaluations}
    rank = run.shown.rank if run.shown.rank in ranks else min(ranks)
    own = tuple(_evaluated(one) for one in run.evaluations if one.rank == rank)
    return Evaluations(
        rank=rank,
        wall_ns=sum(one.wall_ns for one in own),
        evaluations=own,
        alone=any(n.kind == "evaluations_alone" and n.rank is None for n in run.notes),
    )


def _evaluated(one: Evaluation) -> Evaluated:
    raised = [e for e in one.events if e.get("kind") in ("exception", "exit") and e.get("type")]
    parts = (str(raised[-1].get(key, "")) for key in ("type", "message")) if raised else ()
    return Evaluated(
        kind=one.kind,
        step=one.step,
        wall_ns=one.wall_ns,
        values=dict(one.values),
        ended_by=": ".join(part for part in parts if part) or None,
        finished=one.finished,
        live=one.live,
    )

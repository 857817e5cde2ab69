"""TIMING.RECOMPILATION."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import attrs
import numpy as np

from pytscope.analyses import Budget, Interruptions, NewSizes, Timing
from pytscope.analyses.coverage import FEW_STEPS
from pytscope.analyses.interruptions import UNWATCHED
from pytscope.analyses.units import duration, percent
from pytscope.builtin.rules.severities import severity_of, whole_ns
from pytscope.builtin.rules.slow_steps import slow_steps
from pytscope.model.errors import Inconclusive, NotApplicable, NotMeasured
from pytscope.model.findings import Evidence, Finding
from pytscope.model.wording import listed
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds
from pytscope.runs.run import Bools, Ints
from pytscope.stats import period, quantile_interval, ranges

MOST_NAMED = 8
"""Steps that the text names."""
A_SIDE = 20
"""Steps before the first and after the last recompilation from which their times are compared."""
SLOWER = 1.2
"""How many times as long steps must take afterwards to be called slower."""
_MOST_OF = 0.8
_NEW_TO_THEM = 0.2
_HALF = 0.5
FIX = (
    "TORCH_LOGS=recompiles prints what changed each time. A size: torch._dynamo.mark_dynamic(x, "
    "dim), or dynamic=True; else pad batches to a few sizes (buckets), and drop_last=True. A "
    "Python number, such as a learning rate or a step count: make it a tensor."
)
LIMIT_FIX = (
    " Raise torch._dynamo.config.recompile_limit only when the number of shapes is small and known."
)


@attrs.frozen(eq=False)
class Again:
    """The steps that compile again, after the run has settled.

    Attributes:
        rows: Which of the rated steps they are.
        step: Their numbers.
        each: Nanoseconds of compilation in them.
        every: Their period, if they keep one.
        slower: How many times as long the steps after the last of them take as
            those before the first; None when they do not, or too few tell.
    """

    rows: Bools
    step: Ints
    each: Ints
    every: int | None
    slower: float | None


@rule("TIMING.RECOMPILATION", since="0.3.0")
def recompilation(
    timing: Timing,
    interruptions: Interruptions,
    budget: Budget | None,
    *,
    min_share: Annotated[float, Bounds(gt=0, lt=1)] = 0.02,
    min_steps: Annotated[int, Bounds(ge=2)] = 3,
    settling_steps: Annotated[int, Bounds(ge=0)] = 10,
) -> Iterator[Finding]:
    """The compiler goes on compiling after warm-up.

    Detects:
        `compile` segments in step after step, long after the first ones: how many
        steps, which, how far apart, and whether steps are slower after the last.

    Why it matters:
        A compilation takes as long as tens to thousands of steps. Code is compiled
        again when what it was specialised on changes, most often the shape of a batch,
        and after a number of times (torch._dynamo.config.recompile_limit, 8) it runs
        uncompiled from then on, with a warning that is easily lost.

    How it decides:
        On the rated steps of the shown rank that hold `compile`, without the first
        settling_steps of each attempt and without its first evaluation, which runs in
        another mode. Finding when at least min_steps are left and their compile time,
        without the longest one, is at least min_share of the rated wall without that
        step. Three, because one partial batch at the end of the first epoch and one
        other surprise are ordinary; the compiler's automatic dynamic shapes then end it.
        cost_s = sum of compile in those steps: the counterfactual is what was compiled
        first serving the whole run. Severity by cost over the rated wall: high from
        0.20, medium from 0.08, low from 0.02, and low at most where it is under 10 ms
        or a thousandth of the measured wall. At least 20 rated steps. A measured sum
        over events that the compiler itself reports, no noise to be wrong about: up to
        two compilations anywhere never make one, so the false-positive rate on runs
        that settle is zero.
        A period is named when chance explains it with p <= 0.01. "At every new shape"
        is said only where the run logs `tokens` or `samples` and at least 80 % of these
        steps, but at most 20 % of the others, have a count that no earlier step had.
        Steps after the last compilation are called slower when the lower end of the 95 %
        interval of their median is at least 1.2 times the upper end of that before the
        first, each of at least 20 steps.
        Not applicable where compilations were looked for and nothing was compiled; not
        measured where nobody looked. It accounts for EFFICIENCY.RECOVERABLE where
        compile is the largest stall, for EFFICIENCY.LOW_MFU where it is the largest
        recoverable line, and for TIMING.JITTER where the slow steps are those that
        compile.

    Fix:
        Find what changes (TORCH_LOGS=recompiles), then mark it dynamic, pad or bucket
        batches, drop the partial batch, or turn the changing Python number into a
        tensor. Compile the part that does not change instead of the whole step.

    Limits:
        The cause is in the compiler's log, not in the run. Code beyond the limit is not
        compiled any more, so its cost is in slower steps and not in cost_s. Compilations
        in other threads and of other frameworks are seen only as a phase of their own;
        a rank that compiles while the others wait shows in their `comm`.

    References:
        PyTorch documentation, "Dynamic shapes" and "torch.compile Troubleshooting", on
        guards, recompilations and the limit.
    """
    compiled = interruptions.compile
    if not (compiled.steps or compiled.before_ns):
        if interruptions.watches("compile"):
            msg = "nothing was compiled"
            raise NotApplicable(msg)
        raise NotMeasured(UNWATCHED)
    if timing.steps < FEW_STEPS:
        msg = f"{FEW_STEPS} rated steps are needed, there are {timing.steps}"
        raise Inconclusive(msg)
    again = _again(timing, interruptions, settling_steps)
    if len(again.step) < min_steps:
        return
    longest = int(np.argmax(np.where(again.rows, timing.phase("compile").each.values, -1)))
    wall = timing.wall_ns - int(timing.wall.values[longest])
    cost = int(again.each.sum())
    if cost - int(again.each.max()) < min_share * wall:
        return
    yield Finding(
        severity=severity_of(cost, timing.wall_ns, whole_ns(budget)),
        title=_title(timing, again),
        detail=_detail(timing, again, interruptions.new_sizes),
        cost_s=cost / 1e9,
        evidence=_evidence(timing, again, interruptions),
        fix=FIX + (LIMIT_FIX if again.slower else ""),
        verify="record the run again: `compile` in TIMING is gone, or ends with the first steps",
        steps=ranges(again.step),
        ranks=(timing.rank,),
        explains=_explained(timing, budget),
    )


def _again(timing: Timing, interruptions: Interruptions, settling: int) -> Again:
    compiled = interruptions.compile
    kept = compiled.place.values >= settling
    kept &= compiled.evaluation.values != 1
    rows = np.isin(timing.step.values, compiled.step.values[kept])
    step = timing.step.values[rows]
    each = timing.phase("compile").each.values[rows]
    return Again(rows, step, each, period(step), _slower(timing, step) if len(step) else None)


def _slower(timing: Timing, step: Ints) -> float | None:
    plain = timing.phase("compile").each.values == 0
    before = timing.training.values[plain & (timing.step.values < step[0])]
    after = timing.training.values[plain & (timing.step.values > step[-1])]
    if min(len(before), len(after)) < A_SIDE:
        return None
    first, _, high = quantile_interval(before, 0.5)
    later, low, _ = quantile_interval(after, 0.5)
    return later / first if first > 0 and low >= SLOWER * high else None


def _title(timing: Timing, again: Again) -> str:
    if len(again.step) >= _HALF * timing.steps:
        return f"{percent(len(again.step) / timing.steps)} of the steps compile"
    every = f", one in every {again.every}" if again.every else ""
    return f"{len(again.step):,} steps after warm-up compile again{every}"


def _detail(timing: Timing, again: Again, sizes: NewSizes | None) -> str:
    named = listed(map(str, again.step.tolist()), MOST_NAMED)
    share = percent(float(again.each.sum()) / timing.wall_ns)
    each = duration(float(again.each.mean()))
    sentences = [f"{each} each, {share} of step time: steps {named}; {_apart(again)}."]
    if sizes and sizes.compiling >= _MOST_OF and sizes.others <= _NEW_TO_THEM:
        sentences.append(
            f"It compiles again at every new shape: {percent(sizes.compiling)} of these steps have "
            f"a number of {sizes.name} that had not come before, of the others "
            f"{percent(sizes.others)}."
        )
    if again.slower:
        sentences.append(
            f"Steps after the last of them take {again.slower:.1f} times as long as before the "
            "first, as code does that runs uncompiled once recompile_limit is reached."
        )
    return " ".join(sentences)


def _apart(again: Again) -> str:
    if again.every:
        return f"they keep a period of {again.every} steps"
    return f"{float(np.median(np.diff(again.step))):.0f} steps apart in the median"


def _evidence(timing: Timing, again: Again, interruptions: Interruptions) -> Iterator[Evidence]:
    rank, first = timing.rank, interruptions.compile
    within = (int(again.step[0]), int(again.step[-1]))
    yield Evidence("steps that compile again", len(again.step), "steps", steps=within, rank=rank)
    yield Evidence("compile in them, median", float(np.median(again.each)) / 1e6, "ms", rank=rank)
    yield Evidence("compile in them, longest", float(again.each.max()) / 1e6, "ms", rank=rank)
    earlier = first.before_ns + first.total_ns - int(again.each.sum())
    yield Evidence("compile at the start and first evaluations", earlier / 1e9, "s", rank=rank)
    if again.every:
        yield Evidence("period", again.every, "steps", rank=rank)
    if again.slower:
        yield Evidence("steps after the last over before the first", again.slower, "times")
    if interruptions.new_sizes:
        sizes = interruptions.new_sizes
        part = f"of those that compile, new {sizes.name}"
        yield Evidence(part, round(sizes.compiling * 100, 1), "%", rank=rank)


def _explained(timing: Timing, budget: Budget | None) -> Iterator[str]:
    if budget is not None and budget.stalls and budget.stalls[0].name == "compile":
        yield "EFFICIENCY.RECOVERABLE"
    if budget is not None and budget.recoverable and budget.recoverable[0].name == "compile":
        yield "EFFICIENCY.LOW_MFU"
    if slow_steps(timing).beside == "compile":
        yield "TIMING.JITTER"

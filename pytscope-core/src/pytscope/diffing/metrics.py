"""Which logged series are outcomes of a run, which way is better, and their one number."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import attrs
import numpy as np

from pytscope.diffing.logged import Series, names, series
from pytscope.runs.run import Run
from pytscope.stats import last_tenth

STEP_TIME = "step time"
NS_PER_MS = 1e6

_LOWER = frozenset(
    """
    loss nll ppl perplexity error err wer cer ter mse rmse mae mape bpb bpc bpd fid brier ece
    regret eer edit logloss crossentropy xent ce
    """.split()  # noqa: SIM905  # two dozen words read better without quotes
)
_HIGHER = frozenset(
    """
    accuracy acc acc1 acc5 top1 top5 f1 auc auroc roc auprc precision recall map ap bleu sacrebleu
    rouge rouge1 rouge2 rougel rougelsum meteor chrf iou miou dice psnr ssim r2 reward rewards
    return returns mcc matthews ndcg mrr hits em pass win winrate elbo success pearson spearman
    """.split()  # noqa: SIM905  # as above
)
_NO_OUTCOME = re.compile(
    r"(^|_)(lr\d*|learning_rate\w*|epochs?|steps?|iter\w*|tokens|samples|examples|fingerprint|"
    r"grad|gradient|gnorm|scale|momentum|decay|beta\d?|warmup|runtime|flos|flops|time|seconds|"
    r"sec|ms|ns|duration|mem|memory|bytes|gb|mb|util|utilization|temperature|power|num|count|seed|"
    r"per_s|mfu|clip\w*|length|lengths)(_|$)|^lr-"
)
_KNOWN = _LOWER | _HIGHER
_SUFFIXES = ("step", "epoch")
"""What Lightning appends to the name of a metric: `train_loss_epoch`."""
_OF_EVALUATION = frozenset(("eval", "val", "valid", "validation", "test", "dev", "heldout"))
_HALF = 0.5


@attrs.frozen
class Metric:
    """An outcome.

    Attributes:
        name: Name of the logged series.
        lower_is_better: Which way is worse, or None when the name does not tell.
        evaluated: Whether it comes from an evaluation: its last value counts, not
            the mean of the last steps.
    """

    name: str
    lower_is_better: bool | None
    evaluated: bool

    @property
    def told(self) -> str:
        """The name with what of it counts."""
        return f"final {self.name}" if self.evaluated else f"{self.name} (last 10%)"


@attrs.frozen(eq=False)
class Outcome:
    """A metric of all runs, compared up to where the shortest run logged it.

    Attributes:
        metric: What it is.
        values: One number a run; NaN where it is not finite.
        series: The whole series of every run, up to the last step.
        last: The last step that counts.
        longest: The last step that any run logged.
    """

    metric: Metric
    values: tuple[float, ...]
    series: tuple[Series, ...]
    last: int
    longest: int


def metric(name: str) -> Metric | None:
    """What a logged name says of itself, or None where it is no outcome.

    Args:
        name: Such as `loss`, `val/acc@1` or `eval_f1`.
    """
    words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]
    if len(words) > 1 and words[-1] in _SUFFIXES and not _KNOWN.isdisjoint(words):
        del words[-1]
    if not words or _NO_OUTCOME.search("_".join(words)):
        return None
    evaluated = not _OF_EVALUATION.isdisjoint(words)
    if words[-1] in _LOWER or (_HIGHER.isdisjoint(words) and not _LOWER.isdisjoint(words)):
        return Metric(name, lower_is_better=True, evaluated=evaluated)
    higher = True if not _HIGHER.isdisjoint(words) else None
    return Metric(name, lower_is_better=None if higher is None else False, evaluated=evaluated)


def outcomes_of(runs: Sequence[Run]) -> tuple[Outcome, ...]:
    """The outcomes that every run logged: evaluated ones first, then by direction and name."""
    shared = [name for name in names(runs[0]) if all(name in names(run) for run in runs[1:])]
    found = [outcome for name in shared if (outcome := _outcome(runs, name)) is not None]
    return tuple(sorted(found, key=_rank))


def _rank(outcome: Outcome) -> tuple[bool, bool, str]:
    known = outcome.metric
    return known.lower_is_better is None, not known.evaluated, known.name


def _outcome(runs: Sequence[Run], name: str) -> Outcome | None:
    known = metric(name)
    logged = [series(run, name) for run in runs]
    there = [one for one in logged if one is not None]
    if known is None or len(there) < len(runs):
        return None
    last = min(int(one.steps[-1]) for one in there)
    longest = max(int(one.steps[-1]) for one in there)
    cut = [one.until(last) for one in there]
    if not all(map(len, cut)):
        return None  # one begins where another has ended
    if known.evaluated or any(len(one) == 1 for one in cut):
        known = attrs.evolve(known, evaluated=True)
        values = [float(one.values[-1]) for one in cut]
    else:
        first = min(int(one.steps[0]) for one in cut)
        values = [tail_mean(one, first, last) for one in cut]
    return Outcome(known, tuple(values), tuple(cut), last, longest)


def tail_mean(one: Series, first: int, last: int) -> float:
    """Mean of the finite ones of the last values; NaN when it ends otherwise."""
    values = last_tenth(one.steps, one.values, (first, last))
    there = np.isfinite(values)
    if not there[-1] or there.mean() < _HALF:
        return math.nan
    return float(values[there].mean())


def own_values(run: Run) -> Mapping[str, float]:
    """The outcomes of one run by name: what a noise store keeps."""
    found = {o.metric.name: o.values[0] for o in outcomes_of((run,))}
    speed = _step_ms(run)
    if speed is not None:
        found[STEP_TIME] = speed
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _step_ms(run: Run) -> float | None:
    """Median training time of the rated steps of the shown rank."""
    if not run.timelines or not run.has_timeline:
        return None
    rated = run.shown.rated
    return float(np.median(run.shown.training_ns[rated])) / NS_PER_MS if rated.any() else None

"""Spikes: stretches of a logged series that stand far above what came before them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import attrs
import numpy as np
import numpy.typing as npt

from pytscope.stats import MAD_TO_SD, Floats, Ints, mad_scale

WINDOW = 50
"""Values before a point that say what is usual."""
FEWEST = 16
"""Fewest of them; points with fewer before them are not judged."""
RATIO = 1.2
"""Least multiple of the level."""
GRADIENT_RATIO = 1.5
"""The same of a gradient norm, which differs more than the loss from batch to batch."""
UNITS = 8.0
"""Least height of a spike, in noise units."""
LASTING = 4.0
"""Height, in noise units, above which it lasts."""
LONGEST = 100
"""Points after which a spike is a new level."""
NEIGHBOURS = 3
"""Points apart, or fewer, that belong to one spike."""
TALLER = 2.5
"""Multiple of the height so far at which a spike that has lasted is another one."""
FLOOR = 0.01
"""Smallest noise assumed of a logarithm."""

_ZEROS = 0.1
_SPREAD_SHARE = 0.7
_SQRT2 = math.sqrt(2.0)
_Q95_TO_SD = 1.959964 * _SQRT2
_TALL_RATIO, _TALL_UNITS = 3.0, 20.0
_TOO_FEW_AFTER = 5
_LONG, _SHARING = 256, 8
_FIRST_BLOCK, _LAST_BLOCK = 64, 1 << 14
_TINY = 1e-12
_HUGE = 1e300
"""Largest value that is told from a larger one, so that no difference overflows."""


@attrs.frozen
class Spike:
    """A stretch that stands out upwards.

    Attributes:
        start: Step of its first point.
        peak: Step of its highest point.
        end: Step of its last point.
        value: The highest value; may be infinite.
        level: What was usual before it.
        ratio: Value over level, or None where the series has no logarithm.
        z: Height above the level in noise units.
        points: Logged points that it covers.
        recovered: Whether the series came back; None where it ends too early to tell.
        severe: Whether it is more than one odd point: it lasts two points or
            more, or is at least three times the level and 20 noise units high.
        shift: Whether it stayed for so long that it became the level.
    """

    start: int
    peak: int
    end: int
    value: float
    level: float
    ratio: float | None
    z: float
    points: int
    recovered: bool | None
    severe: bool
    shift: bool = False


@attrs.frozen
class _Found:
    """A spike in terms of places among the judged values."""

    first: int
    top: int
    last: int
    level: float
    noise: float
    height: float
    recovered: bool | None
    shift: bool


@attrs.frozen
class _Rule:
    ratio: float
    least_noise: float
    logarithmic: bool

    def rise(self, level: Floats | float) -> Floats | float:
        """Least height above a level that has an effect."""
        return math.log(self.ratio) if self.logarithmic else (self.ratio - 1.0) * np.abs(level)


def find_spikes(
    steps: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    ratio: float = RATIO,
) -> tuple[Spike, ...]:
    """Find the spikes of a series.

    On the logarithm: the reference is the last 50 points outside of spikes (at least
    16, so that the first points are never judged). Its later half's median is the
    level, so that a falling series is compared with where it is. The noise is 1.4826
    times the median absolute deviation of the reference about the medians of its halves,
    or about the line through these, whichever is smaller; and at least 0.7 times that of
    all single differences over the root of 2, and 0.01. A spike begins where a value
    is more than 8 noise units and at least `ratio` times above the level, and lasts
    while values are more than 4 units above it. Its points stay out of the
    reference. After 100 points it is a new level. Spikes at most 3 points apart are
    one, and one that after more than 3 points is suddenly 2.5 times as high is two.

    NaN is left out, positive infinity is above everything. Zeros are left out, which
    stand for a loss that was not there. A series with a value below zero is judged without
    the logarithm, and without zeros where they are more than a tenth; then the effect is
    `ratio - 1` of the level, and the noise also at least what the widest twentieth of all
    differences makes it.

    Args:
        steps: Ascending step numbers.
        values: One value a step.
        ratio: Least multiple of the level.

    Returns:
        The spikes in order. Time grows as `n log n`, about a second for a million points.
    """
    at, x = np.asarray(steps, np.int64), np.asarray(values, np.float64)
    scale = _scaled(x)
    if scale is None:
        return ()
    keep, y, logarithmic = scale
    rule = _Rule(ratio, _least_noise(y[np.isfinite(y)], logarithmic=logarithmic), logarithmic)
    found = _joined(list(_walk(y, rule)))
    last = np.flatnonzero(np.isfinite(x))[-1]
    spoilt = bool(last < len(x) - 1)  # nothing finite comes after
    steps_kept, kept = at[keep], x[keep]
    return tuple(_spike(one, steps_kept, kept, y, spoilt=spoilt, rule=rule) for one in found)


def judged_places(values: npt.ArrayLike) -> Ints:
    """Places of the values, one a step, that `find_spikes` could call a spike."""
    x = np.asarray(values, np.float64)
    scale = _scaled(x)
    if scale is None:
        return np.zeros(0, np.int64)
    finite = np.isfinite(x[scale[0]])
    judged: Ints = scale[0][np.cumsum(finite) - finite >= FEWEST]
    return judged


def _scaled(x: Floats) -> tuple[Ints, Floats, bool] | None:
    """Places of the values to judge, and these on the scale to judge them on."""
    finite = np.isfinite(x)
    if int(finite.sum()) <= FEWEST:
        return None
    there = x[finite]
    keep = finite | np.isposinf(x)
    logarithmic = bool((there >= 0).all())
    if logarithmic or float((there == 0).mean()) > _ZEROS:
        keep &= x != 0
    if int(np.isfinite(x[keep]).sum()) <= FEWEST:
        return None
    if logarithmic:
        return np.flatnonzero(keep), np.log(x[keep]), True
    kept = x[keep]
    return np.flatnonzero(keep), np.where(np.isinf(kept), kept, np.clip(kept, -_HUGE, _HUGE)), False


def _least_noise(y: Floats, *, logarithmic: bool) -> float:
    jumps = np.diff(y)
    if not len(jumps):
        return FLOOR
    spread = mad_scale(jumps) / _SQRT2
    if logarithmic:
        return max(_SPREAD_SHARE * spread, FLOOR)
    # Many equal values have no deviation: the noise is then in the others.
    wide = float(np.quantile(np.abs(jumps), 0.95)) / _Q95_TO_SD
    return max(_SPREAD_SHARE * max(spread, wide), _TINY)


def _walk(y: Floats, rule: _Rule) -> Iterator[_Found]:
    """Spikes in order, over stretches of growing length in which there is none."""
    reference = np.zeros(0)
    at, block = 0, _FIRST_BLOCK
    while at < len(y):
        stretch = y[at : at + (1 if len(reference) < WINDOW else block)]
        begins, level, noise = _first_spike(reference, stretch, rule)
        before = stretch[:begins]
        reference = np.concatenate([reference, before[np.isfinite(before)]])[-WINDOW:]
        at += begins
        if begins == len(stretch):
            block = min(2 * block, _LAST_BLOCK)
            continue
        found = _lasting(y, at, level, noise)
        yield from _split(found, y)
        at, block = found.last + 1, _FIRST_BLOCK
        if found.shift:
            recent = y[max(0, at - WINDOW) : at]
            reference = recent[np.isfinite(recent)]


def _first_spike(reference: Floats, stretch: Floats, rule: _Rule) -> tuple[int, float, float]:
    """Place of the first spike's beginning, or the length; the level and noise there."""
    if len(reference) < FEWEST:
        return len(stretch), 0.0, 0.0
    known = np.where(np.isfinite(stretch), stretch, reference[-1])
    joined = np.concatenate([reference, known])[: len(reference) + len(stretch) - 1]
    windows = np.lib.stride_tricks.sliding_window_view(joined, len(reference))
    half = len(reference) // 2
    places = _candidates(stretch, joined[half:], len(reference) - half, rule)
    level = np.median(windows[places, half:], axis=1)
    high = stretch[places] - level >= rule.rise(level)
    places, level = places[high], level[high]
    for part in (slice(0, FEWEST), slice(FEWEST, None)):  # the first often is one: all is known
        noise = _noise(windows[places[part]], level[part], half, rule.least_noise)
        begins = np.flatnonzero(stretch[places[part]] - level[part] > UNITS * noise)
        if len(begins):
            found = int(begins[0])
            return int(places[part][found]), float(level[part][found]), float(noise[found])
    return len(stretch), 0.0, 0.0


def _candidates(stretch: Floats, recent: Floats, length: int, rule: _Rule) -> Ints:
    """Places that may be high enough; in long stretches all others are left out.

    The k-th smallest value of a window is at least the k-th smallest of a wider one, so
    that one wide window bounds the levels of eight places from below.

    Args:
        stretch: Values.
        recent: What came before and among them, from the first value of the first window.
        length: Values a window.
        rule: What is high.
    """
    if not rule.logarithmic or len(stretch) < _LONG:
        return np.arange(len(stretch))
    padded = np.concatenate([recent, np.full(_SHARING, np.inf)])
    wide = np.lib.stride_tricks.sliding_window_view(padded, length + _SHARING - 1)[::_SHARING]
    middle = (length - 1) // 2
    bound = np.repeat(np.partition(wide, middle, axis=1)[:, middle], _SHARING)[: len(stretch)]
    return np.flatnonzero(stretch - bound >= math.log(rule.ratio))


def _noise(windows: Floats, level: Floats, half: int, least: float) -> Floats:
    """Noise of every window: about the medians of its halves, or about a line through them.

    The smaller of the two counts: a falling series is no noisier than a level one, and a
    step in it is no slope.
    """
    if not len(windows):
        return np.zeros(0)
    length = windows.shape[1]
    earlier = np.median(windows[:, :half], axis=1)[:, np.newaxis]
    later = level[:, np.newaxis]
    place = (np.arange(length) - (half - 1) / 2) / (length / 2)
    line = windows - (earlier + (later - earlier) * place)
    halves = windows - np.where(np.arange(length) < half, earlier, later)
    spreads = [np.median(np.abs(away), axis=1) for away in (line, halves)]
    noise: Floats = np.maximum(MAD_TO_SD * np.minimum(*spreads), least)
    return noise


def _lasting(y: Floats, first: int, level: float, noise: float) -> _Found:
    rest = y[first : first + LONGEST + 1] - level
    back = np.flatnonzero(rest <= LASTING * noise)
    points = int(back[0]) if len(back) else min(len(rest), LONGEST)
    ended = len(back) == 0 and len(rest) <= LONGEST
    recovered = True if len(back) else (None if ended and points < _TOO_FEW_AFTER else False)
    top = int(np.argmax(rest[:points]))
    return _Found(
        first=first,
        top=first + top,
        last=first + points - 1,
        level=level,
        noise=noise,
        height=float(rest[top]),
        recovered=recovered,
        shift=not len(back) and not ended,
    )


def _split(found: _Found, y: Floats) -> Iterator[_Found]:
    """The spike, or what was small for a while and the tall one that then begins."""
    heights = y[found.first : found.last + 1] - found.level
    before = np.maximum.accumulate(heights)[NEIGHBOURS:-1]
    after = heights[NEIGHBOURS + 1 :]
    with np.errstate(invalid="ignore"):  # of infinities
        taller = (after >= TALLER * before) & (after - before >= UNITS * found.noise)
    taller &= np.isfinite(after)  # what is not finite is where the small one has led to
    jumps = np.flatnonzero(taller)
    if not len(jumps):
        yield found
        return
    cut = found.first + NEIGHBOURS + 1 + int(jumps[0])
    small = heights[: cut - found.first]
    top = int(np.argmax(small))
    yield attrs.evolve(
        found, top=found.first + top, last=cut - 1, height=float(small[top]), shift=False
    )
    yield from _split(attrs.evolve(found, first=cut), y)


def _joined(found: list[_Found]) -> list[_Found]:
    """The spikes, neighbours as one; the first of them says what the level was."""
    joined: list[_Found] = []
    for one in found:
        if not joined or one.first - joined[-1].last > NEIGHBOURS or _outgrows(one, joined[-1]):
            joined.append(one)
            continue
        before = joined[-1]
        higher = one.height + one.level > before.height + before.level
        joined[-1] = attrs.evolve(
            before,
            last=one.last,
            top=one.top if higher else before.top,
            height=one.height + one.level - before.level if higher else before.height,
            recovered=one.recovered,
            shift=one.shift,
        )
    return joined


def _outgrows(one: _Found, before: _Found) -> bool:
    """Whether a spike is of another size than the one that it follows."""
    return one.first - before.first > NEIGHBOURS and one.height >= TALLER * before.height


def _spike(
    one: _Found, steps: Ints, values: Floats, y: Floats, *, spoilt: bool, rule: _Rule
) -> Spike:
    at_end = one.last == len(y) - 1
    points = one.last - one.first + 1
    z = one.height / one.noise
    ratio = math.exp(min(one.height, 700.0)) if rule.logarithmic else None
    if ratio is not None and math.isinf(one.height):
        ratio = math.inf
    tall = z > _TALL_UNITS and (ratio is None or ratio >= _TALL_RATIO)
    return Spike(
        start=int(steps[one.first]),
        peak=int(steps[one.top]),
        end=int(steps[one.last]),
        value=float(values[one.top]),
        level=math.exp(one.level) if rule.logarithmic else one.level,
        ratio=ratio,
        z=z,
        points=points,
        recovered=False if at_end and spoilt else one.recovered,
        severe=points > 1 or tall,
        shift=one.shift,
    )

"""The exact meaning of begin, mark, phase and end: stamps tile the wall.

`Tiling` is the one implementation of the rules. `tile()` applies it to real
stamps; the block writer applies it once per shape of a step, to positions
instead of stamps, and reuses the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import sub
from typing import Any

from pytscope.recording.keys import (
    BEGIN,
    BROKEN,
    CLOSE,
    EXHAUSTED,
    FAIL,
    FETCH,
    MICRO,
    PROFILED,
    SKIPPED,
    START,
    Key,
    Open,
    is_end,
    is_value,
    only_marks,
)
from pytscope.recording.prefix import settled

MANY = 4096
"""Stamps from one step end to the next beyond which time is summed by phase."""
Segments = tuple[tuple[str, int], ...]
"""Phase and length, in time order."""


class _Stretch:
    """A stretch of wall time, named sooner or later."""

    __slots__ = ("length", "name")

    def __init__(self, length: int) -> None:
        self.length = length
        self.name = ""


class Tiling:
    """Names the stretches between stamps, from one step end to the next.

    Args:
        blocks: Names of the blocks open at the start, outermost first.
        at: The first stamp.
    """

    __slots__ = (
        "_at",
        "_begun",
        "_blocks",
        "_depth",
        "_failable",
        "_fetches",
        "_levels",
        "_stretches",
        "failed",
        "micro",
        "profiled",
        "skipped",
    )

    def __init__(self, blocks: tuple[str, ...] = (), at: int = 0) -> None:
        self._at = at
        self._stretches: list[_Stretch] = []
        self._levels: list[list[_Stretch]] = [[] for _ in range(len(blocks) + 1)]
        self._blocks = list(blocks)
        self._failable = 0
        self._begun = False
        self._depth = 0
        self._fetches: list[int] = []
        self.micro = 0
        self.failed = False
        self.profiled = False
        self.skipped = False

    @property
    def blocks(self) -> tuple[str, ...]:
        """Names of the open blocks, outermost first."""
        return tuple(self._blocks)

    def feed(self, key: object, at: int) -> None:
        """Take one stamp: cut the wall at it, then let its key name what it names.

        Args:
            key: A key of the event list with a stamp for its value.
            at: The stamp.
        """
        if at != self._at:
            stretch = _Stretch(at - self._at)
            self._stretches.append(stretch)
            self._levels[-1].append(stretch)
            self._at = at
        if isinstance(key, Open):
            self._blocks.append(key.name)
            self._levels.append([])
            if key is FETCH:
                self._fetches.append(len(self._blocks))
        elif key is CLOSE or key is EXHAUSTED:
            self._close()
        elif key is BEGIN:
            self._begin()
        elif key is MICRO or is_end(key):
            self._end(broken=key is BROKEN)
        elif key is FAIL:
            self._fail()
        elif key is PROFILED or key is SKIPPED:
            self.profiled |= key is PROFILED
            self.skipped |= key is SKIPPED
        elif not isinstance(key, Key):
            self._name_level(str(key))

    def feed_all(self, keys: Sequence[object], values: Sequence[Any]) -> None:
        """Take pairs, passing over logged values; of very many only sums by phase are kept."""
        for first in range(0, len(keys), MANY):
            part, at = keys[first : first + MANY], values[first : first + MANY]
            if len(part) == MANY and only_marks(part):
                self._feed_marks(part, at)
            else:
                for key, value in zip(part, at, strict=True):
                    if not is_value(key):
                        self.feed(key, value)
            if len(self._stretches) > MANY:
                self.compact()

    def _feed_marks(self, names: Sequence[Any], at: Sequence[int]) -> None:
        """Take marks that follow each other: each names the stretch before it, and no other."""
        self.feed(names[0], at[0])
        total: dict[str, int] = {}
        for name, length in zip(names[1:], map(sub, at[1:], at), strict=False):
            total[name] = total.get(name, 0) + length
        for name, length in total.items():
            if not length:
                continue
            stretch = _Stretch(length)
            stretch.name = name
            self._stretches.append(stretch)
        self._at = at[-1]

    def _name_level(self, name: str) -> None:
        level = self._levels[-1]
        for stretch in level:
            stretch.name = name
        level.clear()

    def _begin(self) -> None:
        self._leave_fetches()
        self._name_level(self._blocks[-1] if self._blocks else "other")
        self._failable = len(self._stretches)
        self._depth = len(self._blocks)
        self._begun = True

    def _close(self) -> None:
        if self._blocks:
            self._name_level(self._blocks[-1])
            if self._fetches and self._fetches[-1] == len(self._blocks):
                self._fetches.pop()
            self._blocks.pop()
            self._levels.pop()

    def _leave_fetches(self) -> None:
        """Close fetches that an interrupt kept from closing: no step begins or ends in one."""
        while self._fetches and self._fetches[-1] == len(self._blocks):
            self._close()

    def _seal(self) -> None:
        for name, level in zip(("other", *self._blocks), self._levels, strict=True):
            for stretch in level:
                stretch.name = name
            level.clear()

    def _leave_step(self) -> None:
        """Close blocks opened in the step: what leaves it early leaves them too."""
        while self._begun and len(self._blocks) > self._depth:
            self._close()

    def _end(self, *, broken: bool) -> None:
        if broken:
            self._leave_step()
        self._leave_fetches()
        self._seal()
        self.micro += self._begun
        self._begun = False
        self._failable = len(self._stretches)

    def _fail(self) -> None:
        self._leave_step()
        self._seal()
        for stretch in self._stretches[self._failable :]:
            stretch.name = "failed"
        self.failed = True
        self._begun = False
        self._failable = len(self._stretches)

    def segments(self) -> Segments:
        """Everything so far, neighbours of one phase joined; seals what is unnamed."""
        self._seal()
        joined: list[tuple[str, int]] = []
        for stretch in self._stretches:
            if joined and joined[-1][0] == stretch.name:
                joined[-1] = (stretch.name, joined[-1][1] + stretch.length)
            else:
                joined.append((stretch.name, stretch.length))
        return tuple(joined)

    def compact(self) -> None:
        """Give up the order inside a very long step; every sum stays exact."""
        level_of = {id(s): i for i, level in enumerate(self._levels) for s in level}
        merged: dict[tuple[bool, str, int], _Stretch] = {}
        for place, stretch in enumerate(self._stretches):
            level = level_of.get(id(stretch), -1)
            key = (place >= self._failable, stretch.name, level)
            if key in merged:
                merged[key].length += stretch.length
            else:
                merged[key] = stretch
        ordered = sorted(merged.items(), key=lambda item: item[0][0])
        self._stretches = [stretch for _, stretch in ordered]
        self._failable = sum(not key[0] for key, _ in ordered)
        kept = {id(stretch) for stretch in self._stretches}
        for level_stretches in self._levels:
            level_stretches[:] = [s for s in level_stretches if id(s) in kept]


def sum_segments(segments: Iterable[tuple[str, int]]) -> Segments:
    """Sum segments by phase, in order of first appearance."""
    total: dict[str, int] = {}
    for name, ns in segments:
        total[name] = total.get(name, 0) + ns
    return tuple(total.items())


def first_training(keys: Sequence[object], blocks: int = 0) -> int | None:
    """Index of the first top-level data fetch, `BEGIN` or step end.

    Args:
        keys: Keys of the event list, in order.
        blocks: Number of blocks open before them.
    """
    if only_marks(keys):
        return None
    for i, key in enumerate(keys):
        if isinstance(key, Open):
            if not blocks and key.name == "data":
                return i
            blocks += 1
        elif key is CLOSE or key is EXHAUSTED:
            blocks = max(0, blocks - 1)
        elif key is BEGIN or is_end(key):
            return i
    return None


class Region:
    """A region of an attempt's wall: `startup`, a step, or `shutdown`.

    Attributes:
        name: `startup`, `step` or `shutdown`.
        step: The step's number, or None.
        start_ns: Its first stamp.
        end_ns: Its last stamp.
        segments: `(phase, ns)` in time order, none of length zero.
        micro_batches: Micro-batches of a step.
        failed: Whether a step holds time of a failed try.
    """

    __slots__ = ("end_ns", "failed", "micro_batches", "name", "segments", "start_ns", "step")

    def __init__(
        self, name: str, step: int | None, start_ns: int, end_ns: int, tiling: Tiling
    ) -> None:
        self.name = name
        self.step = step
        self.start_ns = start_ns
        self.end_ns = end_ns
        self.segments = tiling.segments()
        self.micro_batches = max(1, tiling.micro)
        self.failed = tiling.failed

    @property
    def wall_ns(self) -> int:
        """Length of the region; the sum of its segments."""
        return self.end_ns - self.start_ns

    def __repr__(self) -> str:
        where = self.name if self.step is None else f"step {self.step}"
        return f"<{where} {dict(self.segments)}>"


def tile(events: Iterable[tuple[object, int]], first_step: int = 0) -> list[Region]:
    """Tile an attempt's wall.

    1. The wall is from the first stamp to the last. Every stamp cuts it; a
       segment belongs to the innermost open block.
    2. A mark names every unnamed segment of its level since the level opened.
    3. `BEGIN` seals: what its level has unnamed is `other` (or the block's name).
    4. `CLOSE` names the rest of the block; a block cut by a step end goes on
       in the next step.
    5. A step end names the rest `other`; step *i* is (end of *i-1*, end of *i*].
    6. Startup ends at the first top-level `data` block or `BEGIN`; shutdown
       is what follows the last step end.
    7. `FAIL` renames everything since the last `BEGIN` to `failed`.
    8. What an interrupt kept open is closed: a fetch where a step begins or
       ends, a block opened in a step where `FAIL` or a closed iterator leaves it.

    Args:
        events: `(key, stamp)` pairs: keys of `pytscope.recording.keys` and
            phase names; stamps in integer nanoseconds, not decreasing.
            Keys without a stamp (logs, samples) are passed over.
        first_step: Number of the first step.

    Returns:
        The startup region, one region per step, and, if a step or a fetch
        came, the shutdown region. Their lengths sum to last minus first stamp.
    """
    stamped = [(key, at) for key, at in events if not is_value(key)]
    if not stamped:
        return []
    keys = settled([key for key, _ in stamped])
    stamps = [at for _, at in stamped]
    cut = first_training(keys)
    start, step = stamps[0], first_step
    tiling = Tiling((), start)
    regions: list[Region] = []
    for i, (key, at) in enumerate(zip(keys, stamps, strict=True)):
        if i == cut:
            if is_end(key):  # nothing told where training began: no startup
                regions.append(Region("startup", None, start, start, Tiling()))
            else:
                tiling.feed(START, at)
                regions.append(Region("startup", None, start, at, tiling))
                tiling, start = Tiling(tiling.blocks, at), at
        tiling.feed(key, at)
        if is_end(key):
            regions.append(Region("step", step, start, at, tiling))
            tiling, start, step = Tiling(tiling.blocks, at), at, step + 1
    name = "shutdown" if regions else "startup"
    regions.append(Region(name, None, start, stamps[-1], tiling))
    return regions

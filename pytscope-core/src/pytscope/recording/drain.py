"""From the event list to records: cut into steps, group by shape, pack.

Runs in the writer thread, on prefixes of the list that the training thread
goes on appending to.
"""

from __future__ import annotations

import copy
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import Any

from pytscope.recording.columns import record, steps_record
from pytscope.recording.harmless import warn_once
from pytscope.recording.keys import (
    DROPPED,
    FINISH,
    START,
    is_end,
    is_value,
    only_marks,
)
from pytscope.recording.plain import plain
from pytscope.recording.plans import Plan, late_values, training_goes_on
from pytscope.recording.prefix import given_up, moved, settled
from pytscope.recording.scalars import log_values, resolved
from pytscope.recording.shapes import Shapes
from pytscope.recording.steps import Batch, Steps
from pytscope.recording.tile import MANY, Segments, Tiling, first_training, sum_segments

MAX_PHASES = 256
MAX_SCALARS = 1024
MAX_NAME = 200
UNNAMED = "(no name)"
MAX_PATTERNS = 256
OPEN_SEGMENTS = 64
"""Segments an `open` record keeps in order; beyond, they are summed by phase."""


class Drain:
    """What is known between two drains: open blocks, step number, last stamp.

    Args:
        start_ns: The attempt's first stamp.
        first_step: Number of the first step.

    Attributes:
        at: The last stamp that is accounted for.
        step: Number of the next step.
        started: Whether startup is over.
        stamps: Entries taken so far.
        dropped: Steps dropped so far.
    """

    def __init__(self, start_ns: int, first_step: int) -> None:
        self.start_ns = start_ns
        self.at = start_ns
        self.step = first_step
        self.started = False
        self.stamps = 0
        self.dropped = 0
        self._first_step = first_step
        self._blocks: tuple[str, ...] = ()
        self._open: Tiling | None = None
        self._open_values: list[tuple[object, Any]] = []
        self._open_begun = False
        self._ends: list[int] = []
        self._names: dict[str, dict[str, str]] = {"phase": {}, "scalar": {}}
        self._limits: set[str] = set()
        self._out: list[bytes] = []
        self._shapes = Shapes(self._phase, self._scalar, self._warn)

    # --- records -----------------------------------------------------------

    def event(self, kind: str, at: int, **values: Any) -> None:
        """Write an event; it comes out with the next records."""
        self._out.append(record({"b": "event", "kind": kind, "t": at - self.start_ns, **values}))

    def add(self, line: bytes) -> None:
        """Write a record made elsewhere."""
        self._out.append(line)

    @property
    def taken_steps(self) -> int:
        """Steps of the last prefix taken."""
        return len(self._ends)

    @property
    def steps(self) -> int:
        """Steps recorded so far."""
        return self.step - self._first_step - self.dropped

    def records(self) -> list[bytes]:
        """What has been made since the last call."""
        out, self._out = self._out, []
        return out

    def _phase(self, name: str) -> str:
        return self._known("phase", name, MAX_PHASES) or "other"

    def _scalar(self, name: str) -> str | None:
        return self._known("scalar", name, MAX_SCALARS)

    def _warn(self, message: str) -> None:
        if message not in self._limits:
            self._limits.add(message)
            warn_once(message)
            self.event("warning", self.at, message=message)

    def _known(self, kind: str, name: str, most: int) -> str | None:
        names = self._names[kind]
        known = names.get(name)
        if known is None and len(names) < most:
            known = names[name] = str(name)[:MAX_NAME] or UNNAMED
        elif known is None and kind not in self._limits:
            self._limits.add(kind)
            self.event("limit", self.at, what=f"{kind} names", limit=most)
        return known

    # --- steps -------------------------------------------------------------

    def take(self, events: list[Any]) -> None:
        """Turn a prefix that ends with a step end and its values into records.

        When that fails half-way, its steps are given up and said to be, so
        that the numbers and times of those that follow stay true.
        """
        blocks, written = self._blocks_now, self.step
        try:
            self._take(events)
        except BaseException:
            steps, end, left, entered = given_up(events)
            self._skip(steps - (self.step - written), end, moved(blocks, left, entered))
            raise

    @property
    def _blocks_now(self) -> tuple[str, ...]:
        return self._open.blocks if self._open else self._blocks

    def _take(self, events: list[Any]) -> None:
        self.stamps += len(events) // 2
        keys, values = settled(events[::2]), events[1::2]
        if keys[0] is DROPPED:
            steps, end, left, entered = values[0]
            self._skip(steps, end, moved(self._blocks_now, left, entered))
            keys, values = keys[1:], values[1:]
        if keys and not self.started:
            keys, values = self._startup(keys, values)
        if keys:
            batch = self._cut(keys, values)
            self._write(batch)
            self._ends = batch.ends

    def _skip(self, steps: int, end: int, blocks: tuple[str, ...]) -> None:
        if not self.started:
            self._leave_startup(())
        self.event("dropped", end, step=self.step, steps=steps)
        self.step += steps
        self.dropped += steps
        self.at, self._blocks, self._open = end, blocks, None
        self._open_values, self._open_begun, self._ends = [], False, []

    def _startup(self, keys: list[Any], values: list[Any]) -> tuple[list[Any], list[Any]]:
        """Cut startup off, if it ends here; what is left belongs to the first step."""
        depth = len(self._blocks_now)
        cut = first_training(keys, depth)
        if cut is None:
            return keys, values
        if is_end(keys[cut]):  # nothing told where training began: no startup
            self._leave_startup(())
            return keys, values
        tiling = self._fed(keys[:cut], values[:cut])
        tiling.feed(START, values[cut])
        self._leave_startup(tiling.segments())
        pairs = zip(keys[:cut], values[:cut], strict=True)
        self._log_late([(k, resolved(v)) for k, v in pairs if is_value(k)])
        self._blocks, self.at, self._open = tiling.blocks, values[cut], None
        return keys[cut:], values[cut:]

    def _leave_startup(self, segments: Segments) -> None:
        named = sum_named(segments, self._phase)
        self.event("startup", self.at + sum(ns for _, ns in named), segments=named)
        self.started = True

    def _fed(self, keys: list[Any], values: list[Any]) -> Tiling:
        tiling = self._open or Tiling(self._blocks, self.at)
        tiling.feed_all(keys, values)
        return tiling

    def _cut(self, keys: list[Any], values: list[Any]) -> Batch:
        """Cut a prefix into steps; values logged late move to the step before."""
        batch = Batch()
        start, at = 0, self.at
        for size, count in self._shapes.runs(keys):
            stop = start + size * count
            while start < stop:
                shape = tuple(keys[start : start + size])
                if self._open is not None or size > MANY:
                    at = batch.put(*self._long(at, shape, values[start : start + size]))
                    start += size
                    continue
                plan = self._shapes.plan(self._blocks, shape)
                taken = values[start : stop if plan.alike else start + size]
                if plan.late:
                    at = self._early(batch, plan, Steps(shape, taken, [at], plan))
                else:
                    at = batch.add(plan, shape, taken, at)
                self._blocks = plan.blocks
                start += len(taken)
        return batch

    def _write(self, batch: Batch) -> None:
        """Write steps in a row, those of one shape packed together."""
        made = [self._shapes.patterns(steps) for steps in batch.groups]
        patterns = list(chain.from_iterable(some for some, _ in made))
        if len(patterns) > MAX_PATTERNS:
            for half in batch.halves():
                self._write(half)
            return
        order = batch.order
        if len(patterns) > len(made):
            before = accumulate((len(some) for some, _ in made), initial=0)
            places = [
                map(first.__add__, which) for first, (_, which) in zip(before, made, strict=False)
            ]
            order = [next(places[group]) for group in order]
        t0 = self.at - self.start_ns
        self._out.append(steps_record(self.step, t0, bytes(order), patterns))
        self.step += len(order)
        self.at = batch.ends[-1]

    def _long(self, at: int, keys: tuple[object, ...], values: list[Any]) -> tuple[Steps, int]:
        """A step that is tiled by itself, very long or begun in an earlier prefix; and its end."""
        entry = self._blocks
        tiling = self._fed(list(keys), values)
        kept = _values(keys, values)
        late = 0 if self._open_begun else len(late_values(entry, keys))
        self._log_late(kept[:late])
        logged = self._open_values + kept[late:]
        self._blocks = tiling.blocks
        self._open, self._open_values, self._open_begun = None, [], False
        end = next(v for k, v in zip(keys[::-1], values[::-1], strict=True) if is_end(k))
        names, numbers = tuple(k for k, _ in logged), [v for _, v in logged]
        return Steps(names, numbers, [at], None, tiling), end

    def _early(self, batch: Batch, plan: Plan, step: Steps) -> int:
        """Take in a step; what was logged before it began goes to the one before."""
        pairs = list(zip(step.keys, step.values, strict=True))
        late = [(k, resolved(v)) for i, (k, v) in enumerate(pairs) if i in plan.late]
        if batch.order:
            last, end = batch.pop()
            batch.put(self._with(last, [*zip(last.keys, last.values, strict=True), *late]), end)
        else:
            self._log_late(late)
        kept = [pair for i, pair in enumerate(pairs) if i not in plan.late]
        return batch.put(self._with(step, kept), 0)

    def _with(self, step: Steps, pairs: list[tuple[object, Any]]) -> Steps:
        """One step with other values."""
        keys, values = tuple(k for k, _ in pairs), [v for _, v in pairs]
        plan = step.plan and self._shapes.plan(step.plan.entry, keys)
        return Steps(keys, values, step.at, plan, step.tiling)

    def _log_late(self, pairs: list[tuple[object, Any]]) -> None:
        """Write values that belong to a step already packed, or to the run."""
        values = log_values(pairs)
        if values:
            self.event("log", self.at, step=self._last_step(), values=plain(values))

    def _last_step(self) -> int | None:
        return self.step - 1 if self.step > self._first_step else None

    def log_from_thread(self, at: int, values: dict[str, Any]) -> None:
        """Write values logged by another thread, for the last step completed by then."""
        back = len(self._ends) - bisect_right(self._ends, at)
        step = self.step - 1 - back
        kept = step if step >= self._first_step else None
        self.event("log", at, step=kept, values=plain(resolved(values)))

    # --- the open step -----------------------------------------------------

    def absorb(self, events: list[Any]) -> None:
        """Fold the stamps of a step that is still open into sums, to bound memory."""
        self.stamps += len(events) // 2
        keys, values = settled(events[::2]), events[1::2]
        if not self.started:
            keys, values = self._startup(keys, values)
        pairs = [] if only_marks(keys) else _values(keys, values)
        began = training_goes_on(self._blocks_now, tuple(keys))
        late = 0
        if not self._open_begun:
            late = len(pairs) if began is None else sum(map(is_value, keys[:began]))
        self._log_late(pairs[:late])
        self._open_values += pairs[late:]
        self._open_begun = self._open_begun or began is not None
        self._open = self._fed(keys, values)
        self._open.compact()

    def open_record(self, events: list[Any], now: int) -> bytes:
        """Where the run is inside its open step, as an `open` record.

        Args:
            events: The events since the last step end; not consumed.
            now: The stamp to extend the last segment to.
        """
        tiling = self._peek(events, now)
        segments = sum_named(tiling.segments(), self._phase)
        return record(
            {
                "b": "open",
                "t": now - self.start_ns,
                "step": self.step,
                "blocks": [self._phase(name) for name in tiling.blocks],
                "segments": segments,
            }
        )

    def _peek(self, events: list[Any], now: int) -> Tiling:
        tiling = copy.deepcopy(self._open) if self._open else Tiling(self._blocks, self.at)
        tiling.feed_all(settled(events[::2]), events[1::2])
        tiling.feed(FINISH, now)
        return tiling

    def finish(self, events: list[Any], now: int) -> list[tuple[str, int]]:
        """Account for what follows the last step end; returns the shutdown segments."""
        self.stamps += len(events) // 2
        keys, values = settled(events[::2]), events[1::2]
        if keys and not self.started:
            keys, values = self._startup(keys, values)
        pairs = _values(keys, values)
        began = training_goes_on(self._blocks, tuple(keys))
        late = len(pairs) if began is None else sum(map(is_value, keys[:began]))
        self._log_late(pairs[:late])
        rest = log_values(self._open_values + pairs[late:])
        if rest:
            self.event("log", now, step=None, values=plain(rest))
        tiling = self._fed(keys, values)
        tiling.feed(FINISH, now)
        segments = tiling.segments()
        self._open = None
        if not self.started:
            self._leave_startup(segments)
            segments = ()
        self.at = now
        return sum_named(segments, self._phase)


def _values(keys: Sequence[object], values: Sequence[Any]) -> list[tuple[object, Any]]:
    """The logged values among pairs, those on a device read."""
    return [(k, resolved(v)) for k, v in zip(keys, values, strict=True) if is_value(k)]


def sum_named(segments: Segments, named: Callable[[str], str]) -> list[tuple[str, int]]:
    """Segments under their names on disk; too many are summed by phase."""
    renamed = tuple((named(name), ns) for name, ns in segments)
    return list(renamed if len(renamed) <= OPEN_SEGMENTS else sum_segments(renamed))

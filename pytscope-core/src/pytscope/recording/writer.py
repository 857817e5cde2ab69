"""The writer: takes finished steps off the event list and appends them to the file."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from pytscope.recording.columns import record
from pytscope.recording.drain import MAX_NAME, Drain
from pytscope.recording.files import RunFile
from pytscope.recording.harmless import harmless, warn_once
from pytscope.recording.keys import BEGIN, DROPPED, is_value
from pytscope.recording.outbox import Outbox
from pytscope.recording.plain import plain
from pytscope.recording.prefix import decided_length, given_up, paired, ready_length
from pytscope.recording.spending import Spent

INTERVAL_S = 1.0
ANCHOR_NS = 60 * 10**9
OPEN_NS = 10**9
OPEN_LATER_NS = 30 * 10**9
ABSORB = 65_536
"""Entries of an open step kept as stamps; beyond, they are folded into sums."""
MOST = 4 * ABSORB
"""Entries taken at a time."""
HARD_LIMIT = 2_000_000
"""Entries waiting for a stalled disk before the oldest steps are dropped."""
SLOW = 4
"""How many times as many may wait for a writer that is at work."""
MAX_NOTES = 100_000
"""Rare records, spans of other threads among them, waiting for a stalled disk."""
MAX_ROWS = 10_000
"""Spans in one record."""
JOIN_S = 10.0
NO_STEP = (
    "there are marks, but nothing ended a step: "
    "wrap each iteration in `with prof.step():`, or loop over prof.steps(loader)"
)

Note = tuple[int, str, dict[str, Any]]
"""Stamp, kind, values of a rare record."""


class Writer:
    """Drains the event list, every second or `flush_steps` steps, in its own thread.

    Args:
        file: Where records go.
        drain: Turns events into records.
        events: The live event list of the training thread.
        clock: The recorder's clock, in nanoseconds.
        flush_steps: Steps after which the training thread wakes the writer.
        watch: Told whether to look at the list's length at every stamp: while
            the disk may stall, and while a step is so long that it is folded.
        stepless: Whether no step is to be expected.

    Attributes:
        room: Length of the event list at which the training thread calls `full`.
        writer_ns: CPU time of the writer thread so far.
        inline_ns: Time that writing took the training thread, where there is no writer thread.
    """

    def __init__(
        self,
        file: RunFile,
        drain: Drain,
        events: list[Any],
        *,
        clock: Callable[[], int],
        flush_steps: int,
        watch: Callable[[bool], None],
        stepless: bool = False,
    ) -> None:
        self._stepless = stepless
        self._outbox = Outbox(file, self._event)
        self._drain = drain
        self._events = events
        self._notes: list[Note] = []
        self._spans: list[Note] = []
        self._lost_notes = 0
        self._clock = clock
        self._flush_steps = flush_steps
        self._watch = watch
        self._took = True
        self._folding = self._sending = False
        self._lock = threading.Lock()
        self._wakes: SimpleQueue[None] = SimpleQueue()  # an interrupt in Event.set() keeps its lock
        self._stop = False
        self._later: Callable[[], None] | None = None
        self._thread: threading.Thread | None = None
        self._anchored: int | None = None
        self._open_at = OPEN_NS
        self.room = min(12 * flush_steps, HARD_LIMIT)
        self.writer_ns = self.inline_ns = 0

    def begin(self, header: bytes) -> None:
        """Write the first line of the attempt; a full disk gets it later."""
        self._outbox.send([header])

    def start(self) -> None:
        """Start the thread; without one, the training thread writes."""
        self._thread = threading.Thread(target=self._run, name="pytscope-writer", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # too many threads, or none allowed in this interpreter
            self._thread = None
            self._watch(True)
            text = f"no thread to write in ({error}): records are written while training"
            warn_once(text)
            self.note("warning", {"message": text})

    def _run(self) -> None:
        while not self._stop:
            with harmless("writing the run"):
                self.flush()
            self.writer_ns = time.thread_time_ns()
            if self._took and len(self._events) > MOST:
                continue
            with suppress(Empty):
                self._wakes.get(timeout=INTERVAL_S / 10 if self._folding else INTERVAL_S)
            while not self._wakes.empty():
                self._wakes.get()
        if self._later is not None:
            with harmless("writing the end of the run late"):
                self._later()

    @property
    def used(self) -> bool:
        """Whether anything was stamped or logged so far."""
        return bool(self._events) or self._drain.stamps > 0

    def full(self) -> None:
        """Called by the training thread when the event list has outgrown `room`."""
        if self._thread is None:
            since = time.perf_counter_ns()
            with harmless("writing the run"):
                self.flush()
            self.inline_ns += time.perf_counter_ns() - since
            self.room = max(self.room, 2 * len(self._events))
        elif len(self._events) >= (HARD_LIMIT if self._sending else SLOW * HARD_LIMIT):
            with harmless("making room for new records"):
                self._drop()
        else:
            self.wake()
            self.room = max(2 * self.room, len(self._events) + self.room)
        self.room = min(self.room, HARD_LIMIT)

    def _drop(self) -> None:
        """Give up what waits, all but the open step if that is enough: memory is bounded."""
        if self._lock.locked():
            return  # the writer takes some of it at the moment
        with self._lock:  # not acquire(): an interrupt after it would keep the lock for good
            events = self._events
            size = len(events)
            pairs, rest = paired(events[:size])
            cut = ready_length(pairs)
            if 2 * cut < len(pairs):  # most of it is of the open step
                cut = decided_length(pairs)
            if cut:
                events[:size] = [DROPPED, given_up(pairs[:cut]), *pairs[cut:], *rest]
        warn_once("the writer or its disk does not keep up; steps are dropped")

    def flush(self, *, closing: bool = False) -> None:
        """Write what is complete: steps, notes, an anchor or an `open` record when due."""
        while closing and self._took and len(self._events) > MOST:
            self.flush()
        with self._lock:
            taken, ended = self._taken(closing=closing)
        drain = self._drain
        if ended:
            drain.take(taken)
            self._open_at = OPEN_NS
            self._set_room(len(taken))
        elif taken:
            drain.absorb(taken)
        self._took = bool(taken)
        self._folding = self._took and not ended
        self._write_notes()
        now = self._clock()
        if self._anchored is None or now - self._anchored >= ANCHOR_NS:
            self.anchor(now)
        elif not closing and now - drain.at >= self._open_at:
            self.write_open(now)
        self._watch(True)
        self._sending = True
        self._outbox.send(drain.records())
        self._sending = False
        self._watch(self._folding or self._thread is None)

    def _taken(self, *, closing: bool) -> tuple[list[Any], bool]:
        """Take events off the list: up to the last step end, or what is too much of an open step.

        Returns:
            The events, and whether a step ends in them.
        """
        events = self._events
        size = min(len(events), MOST)  # what comes meanwhile is for the next time
        pairs, rest = paired(events[:size])
        cut = ready_length(pairs, closing=closing)
        ended = cut > 0
        if not ended and size > ABSORB:
            cut = decided_length(pairs)
        events[:size] = pairs[cut:] + rest
        return pairs[:cut], ended

    def _set_room(self, taken: int) -> None:
        steps = max(1, self._drain.taken_steps)
        self.room = min(HARD_LIMIT, max(64, taken // steps * self._flush_steps))

    def note(self, kind: str, values: dict[str, Any]) -> None:
        """Keep a rare record until the next flush, from any thread; too many are only counted."""
        kept = self._spans if kind == "span" else self._notes
        if len(kept) < MAX_NOTES:
            kept.append((self._clock(), kind, values))
        else:
            self._lost_notes += 1

    def _write_notes(self) -> None:
        notes = self._notes[:]
        del self._notes[: len(notes)]
        if self._lost_notes:
            lost, self._lost_notes = self._lost_notes, 0
            self._drain.event("limit", self._clock(), what="notes", limit=MAX_NOTES, lost=lost)
        for at, kind, values in notes:
            if kind == "log":
                self._drain.log_from_thread(at, values)
            else:
                self._drain.event(kind, at, **plain(values))
        self._write_spans()

    def _write_spans(self) -> None:
        spans = self._spans[:]
        del self._spans[: len(spans)]
        names = {thread.ident: thread.name for thread in threading.enumerate()} if spans else {}
        zero = self._drain.start_ns
        for first in range(0, len(spans), MAX_ROWS):
            rows = [
                [
                    names.get(v["thread"], str(v["thread"]))[:MAX_NAME],
                    v["phase"][:MAX_NAME],
                    v["start"] - zero,
                    at - zero,
                ]
                for at, _, v in spans[first : first + MAX_ROWS]
            ]
            self._drain.add(record({"b": "spans", "rows": rows}))

    def anchor(self, now: int) -> None:
        """Tie the clock to the time of day."""
        self._anchored = now
        t = now - self._drain.start_ns
        epoch_ns = time.time_ns() - (self._clock() - now)
        self._drain.add(record({"b": "anchor", "t": t, "epoch_ns": epoch_ns}))

    def write_open(self, now: int) -> None:
        """Say where the open step is."""
        tail, _ = paired(list(self._events))
        if not ready_length(tail):
            self._drain.add(self._drain.open_record(tail, max(now, self._drain.at)))
            self._open_at += min(self._open_at, OPEN_LATER_NS)

    def _event(self, kind: str, message: str) -> bytes:
        t = self._clock() - self._drain.start_ns
        return record({"b": "event", "kind": kind, "t": t, "message": message})

    def wake(self) -> None:
        """Have the thread write soon."""
        if self._wakes.empty():
            self._wakes.put(None)

    def stop(self, later: Callable[[], None] | None = None) -> bool:
        """Stop the thread; False when it hangs on a stalled disk and was left behind.

        Args:
            later: What a thread left behind does once the disk answers.
        """
        self._stop = True
        self.wake()
        thread = self._thread
        if thread and thread.ident and thread is not threading.current_thread():
            thread.join(JOIN_S)
            if thread.is_alive():
                text = f"the disk did not answer for {JOIN_S:g} s at the end of the run"
                warn_once(f"{text}; what is left is written if it answers before the process ends")
                self.note("warning", {"message": text})
                self._later = later
                return False
        return True

    def finish(self, now: int, stamp_ns: float, spent: Spent, reason: str) -> None:
        """Write everything that is left, and the end of the attempt.

        Args:
            now: The attempt's last stamp.
            stamp_ns: What one stamp costs the training thread.
            spent: What recording took of it besides.
            reason: `finish`, or `exception` when one ended the recording.
        """
        self._flush_last()
        events, _ = paired(self._events)
        last = events[-1] if events and not is_value(events[-2]) else now
        now = max(now, self._drain.at, last)  # a thread was still stamping when it was taken
        shutdown = self._drain.finish(events, now)
        self._write_notes()
        self.anchor(now)
        t = now - self._drain.start_ns
        head = {"b": "end", "t": t, "wall_ns": t, "steps": self._drain.steps, "shutdown": shutdown}
        steady = int(self._drain.stamps * stamp_ns) + spent.samples_ns + self.inline_ns
        cost = {
            "overhead_ns": steady + spent.once_ns,
            "overhead_once_ns": spent.once_ns,
            "writer_ns": self.writer_ns,
        }
        self._drain.add(record({**head, "dropped": self._drain.dropped, **cost, "reason": reason}))
        self._outbox.send(self._drain.records(), last=True)

    def abandon(self, now: int) -> None:
        """Write everything that is left of an attempt that did not finish."""
        self._flush_last()
        self.write_open(now)
        self._outbox.send(self._drain.records(), last=True)

    def _flush_last(self) -> None:
        self.flush(closing=True)
        stamped = any(type(key) is str for key in self._events[::2]) or self._drain.stamps
        steps = self._stepless or self._drain.steps or self._drain.dropped
        if stamped and not steps and BEGIN not in self._events:
            self.note("warning", {"message": NO_STEP})
            self._write_notes()

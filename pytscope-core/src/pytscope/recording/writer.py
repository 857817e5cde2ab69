"""The writer: takes finished steps off the event list and appends them to the file."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from pytscope.recording.columns import record
from pytscope.recording.drain import Drain
from pytscope.recording.files import RunFile
from pytscope.recording.harmless import harmless, warn_once
from pytscope.recording.keys import DROPPED, END, Open, is_close
from pytscope.recording.plain import plain
from pytscope.recording.prefix import decided_length, orphan, ready_length, whole

INTERVAL_S = 1.0
ANCHOR_NS = 60 * 10**9
OPEN_NS = 10**9
OPEN_LATER_NS = 30 * 10**9
ABSORB = 65_536
"""Entries of an open step kept as stamps; beyond, they are folded into sums."""
HARD_LIMIT = 2_000_000
"""Entries waiting for a stalled disk before the oldest steps are dropped."""
JOIN_S = 10.0

Note = tuple[int, str, dict[str, Any]]
"""Stamp, kind, values of a rare record."""


class Writer:
    """Drains the event list, every second or `flush_steps` steps, in its own thread.

    Args:
        file: Where records go.
        drain: Turns events into records.
        events: The live event list of the training thread.
        notes: Rare records waiting to be written; any thread may append.
        clock: The recorder's clock, in nanoseconds.
        flush_steps: Steps after which the training thread wakes the writer.

    Attributes:
        room: Length of the event list at which the training thread calls `full`.
        writer_ns: CPU time of the writer thread so far.
    """

    def __init__(
        self,
        file: RunFile,
        drain: Drain,
        events: list[Any],
        notes: list[Note],
        *,
        clock: Callable[[], int],
        flush_steps: int,
    ) -> None:
        self._file = file
        self._drain = drain
        self._events = events
        self._notes = notes
        self._clock = clock
        self._flush_steps = flush_steps
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stop = False
        self._thread: threading.Thread | None = None
        self._anchored: int | None = None
        self._open_at = OPEN_NS
        self._failing = 0
        self.room = 12 * flush_steps
        self.writer_ns = 0

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="pytscope-writer", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop:
            with harmless("writing the run"):
                self.flush()
            self.writer_ns = time.thread_time_ns()
            self._wake.wait(INTERVAL_S)
            self._wake.clear()

    def full(self) -> None:
        """Called by the training thread when the event list has outgrown `room`."""
        if self._thread is None:
            with harmless("writing the run"):
                self.flush()
        elif len(self._events) >= HARD_LIMIT:
            self._drop()
        else:
            self._wake.set()
            self.room = max(2 * self.room, len(self._events) + self.room)
        self.room = min(self.room, HARD_LIMIT)

    def _drop(self) -> None:
        """Give up the oldest steps: the disk has stalled and memory is bounded."""
        if not self._lock.acquire(blocking=False):
            self.room = len(self._events) + 100_000
            return
        try:
            events = self._events
            cut = ready_length(events)
            gone = events[:cut]
            steps = gone.count(END) + (gone[1][0] if gone and gone[0] is DROPPED else 0)
            if steps:
                blocks = _still_open(self._drain.blocks, gone)
                ends = [i for i in range(0, cut, 2) if gone[i] is END]
                events[:cut] = [DROPPED, (steps, gone[ends[-1] + 1], blocks)]
            warn_once("the disk does not keep up; steps are dropped from the recording")
        finally:
            self._lock.release()

    def flush(self, *, closing: bool = False) -> None:
        """Write what is complete: steps, notes, an anchor or an `open` record when due."""
        with self._lock:
            taken = self._prefix(closing=closing)
        drain = self._drain
        if taken:
            drain.take(taken)
            self._open_at = OPEN_NS
            self._set_room(len(taken))
        elif len(self._events) > ABSORB:
            with self._lock:
                size = decided_length(self._events)
                taken = self._events[:size]
                del self._events[:size]
            drain.absorb(taken)
        self._write_notes()
        now = self._clock()
        if self._anchored is None or now - self._anchored >= ANCHOR_NS:
            self.anchor(now)
        elif not closing and now - drain.at >= self._open_at:
            self.write_open(now)
        self._append(drain.records())

    def _prefix(self, *, closing: bool) -> list[Any]:
        events = self._events
        if closing:
            events[:] = whole(events)
        size = ready_length(events, closing=closing)
        while not size and (lost := orphan(events)) is not None:
            del events[lost]
            size = ready_length(events, closing=closing)
        taken = events[:size]
        del events[:size]
        return whole(taken)

    def _set_room(self, taken: int) -> None:
        steps = max(1, self._drain.taken_steps)
        self.room = min(HARD_LIMIT, max(64, taken // steps * self._flush_steps))

    def _write_notes(self) -> None:
        spans = []
        while self._notes:
            at, kind, values = self._notes.pop(0)
            if kind == "log":
                self._drain.log_from_thread(at, values)
            elif kind == "span":
                start = values["start"] - self._drain.start_ns
                end = at - self._drain.start_ns
                spans.append([values["thread"], values["phase"][:200], start, end])
            else:
                self._drain.event(kind, at, **plain(values))
        if spans:
            self._drain.add(record({"b": "spans", "rows": spans}))

    def anchor(self, now: int) -> None:
        """Tie the clock to the time of day."""
        self._anchored = now
        t = now - self._drain.start_ns
        self._drain.add(record({"b": "anchor", "t": t, "epoch_ns": time.time_ns()}))

    def write_open(self, now: int) -> None:
        """Say where the open step is."""
        events = list(self._events)
        tail = events[: len(events) // 2 * 2]
        if not ready_length(tail):
            self._drain.add(self._drain.open_record(tail, max(now, self._drain.at)))
            self._open_at += min(self._open_at, OPEN_LATER_NS)

    def _append(self, records: list[bytes]) -> None:
        if not records:
            return
        try:
            self._file.write(b"".join(records))
            if self._file.vanished:
                warn_once(f"{self._file.path} was deleted; what follows is not kept")
        except OSError as error:
            self._failing += 1
            warn_once(f"cannot write {self._file.path} ({error.strerror}); its records are lost")
            return
        if self._failing:
            self._drain.event("write_failed", self._clock(), flushes=self._failing)
            self._failing = 0

    def wake(self) -> None:
        """Have the thread write soon."""
        self._wake.set()

    def stop(self) -> bool:
        """Stop the thread; False when it hangs on a stalled disk and was left behind."""
        self._stop = True
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(JOIN_S)
            if self._thread.is_alive():
                warn_once("the disk does not answer; the end of the run was not written")
                return False
        return True

    def finish(self, now: int, stamp_ns: float, reason: str) -> None:
        """Write everything that is left, and the end of the attempt.

        Args:
            now: The attempt's last stamp.
            stamp_ns: What one stamp costs the training thread.
            reason: `finish`, or `exception` when one ended the recording.
        """
        self.flush(closing=True)
        events = self._events[: len(self._events) // 2 * 2]
        shutdown = self._drain.finish(events, now)
        self._write_notes()
        self.anchor(now)
        t = now - self._drain.start_ns
        head = {"b": "end", "t": t, "wall_ns": t, "steps": self._drain.steps, "shutdown": shutdown}
        cost = {"overhead_ns": int(self._drain.stamps * stamp_ns), "writer_ns": self.writer_ns}
        self._drain.add(record({**head, "dropped": self._drain.dropped, **cost, "reason": reason}))
        self._append(self._drain.records())

    def abandon(self, now: int) -> None:
        """Write everything that is left of an attempt that did not finish."""
        self.flush(closing=True)
        self.write_open(now)
        self._append(self._drain.records())


def _still_open(blocks: tuple[str, ...], events: list[Any]) -> tuple[str, ...]:
    names = list(events[1][2] if events and events[0] is DROPPED else blocks)
    for key in events[::2]:
        if isinstance(key, Open):
            names.append(key.name)
        elif is_close(key) and names:
            names.pop()
    return tuple(names)

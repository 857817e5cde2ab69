"""How a rank's recording ended, read from its attempts' rare records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pytscope.analyses.coverage import Seen, Stop
from pytscope.runs.run import Attempt, Run, Timeline

_RAISED = ("exception", "exit")
"""Events of an exception: one passed through, or the process left by one."""
_WARNED = ("warning", "collector", "collector_slowed", "limit", "unresolved", "write_failed")
_SENTENCES = ("warning", "write_failed")
_OWN = ("kind", "t", "message")


def exceptions(timeline: Timeline) -> Iterator[Seen]:
    """Exceptions that passed through a rank's recorder, in order, each once."""
    for attempt in timeline.attempts:
        seen: dict[tuple[int | None, str, str], Seen] = {}
        for event in attempt.events:
            if event.get("kind") in _RAISED and event.get("type"):
                one = _seen(timeline, attempt, event)
                seen[one.step, one.type, one.message] = one
        yield from seen.values()


def _seen(timeline: Timeline, attempt: Attempt, event: Mapping[str, Any]) -> Seen:
    """An exception's event, placed among the steps by its time."""
    rows = np.flatnonzero(timeline.attempt == attempt.number)
    ends = timeline.start_ns[rows] + timeline.wall_ns[rows]
    at = event.get("t")
    place = int(np.searchsorted(ends, at, side="right")) if isinstance(at, int) else len(rows)
    step = event.get("step")
    if not isinstance(step, int):
        open_step = attempt.open_state.step if attempt.open_state else None
        step = int(timeline.step[rows[place]]) if place < len(rows) else open_step
    if step is None and len(rows):
        step = int(timeline.step[rows[-1]]) + 1
    return Seen(
        rank=timeline.rank,
        attempt=attempt.number,
        step=step,
        type=str(event["type"]),
        message=str(event.get("message", "")),
        ended=place >= len(rows),
    )


def exited(timeline: Timeline) -> bool:
    """Whether a rank's last process left by itself, without an exception or `finish()`."""
    attempt = timeline.attempts[-1] if timeline.attempts else None
    if attempt is None or attempt.finished:
        return False
    return any(e.get("kind") == "exit" and not e.get("type") for e in attempt.events)


def stop(timeline: Timeline) -> Stop:
    """Where a rank's last attempt was when it was last heard of."""
    attempt = timeline.attempts[-1] if timeline.attempts else None
    last = int(timeline.step[-1]) if len(timeline) else None
    state = attempt.open_state if attempt else None
    if state is None:
        return Stop(last)
    phase, ns = state.segments[-1] if state.segments else ("", None)
    return Stop(last, state.step, state.blocks, state.blocks[-1] if state.blocks else phase, ns)


def warnings(run: Run) -> tuple[str, ...]:
    """What the recorders warned of, of evaluations as well, each text once with its ranks."""
    told = [(timeline.rank, one.events) for timeline in run.timelines for one in timeline.attempts]
    told += [(one.rank, one.events) for one in run.evaluations]
    ranks: dict[str, list[int]] = {}
    for rank, events in told:
        for event in events:
            if event.get("kind") in _WARNED:
                seen = ranks.setdefault(_said(event), [])
                seen += [rank] if rank not in seen else []
    several = len({r for seen in ranks.values() for r in seen}) > 1
    return tuple(
        f"{text} (rank {', '.join(map(str, seen))})" if several else text
        for text, seen in ranks.items()
    )


def _said(event: Mapping[str, Any]) -> str:
    """An event as a text: its message, or its kind and what it carries."""
    if event.get("kind") in _SENTENCES:
        return str(event.get("message", "a warning without a text"))
    carried = ", ".join(f"{key} {value}" for key, value in event.items() if key not in _OWN)
    text = str(event["kind"]).replace("_", " ")
    return ": ".join(part for part in (text, str(event.get("message", "")), carried) if part)

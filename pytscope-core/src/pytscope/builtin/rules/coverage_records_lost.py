"""COVERAGE.RECORDS_LOST."""

from __future__ import annotations

from collections.abc import Iterator

from pytscope.analyses import Coverage
from pytscope.analyses.units import count, duration
from pytscope.model.findings import Evidence, Finding, Severity
from pytscope.model.wording import listed
from pytscope.plugins.declare import rule
from pytscope.runs.run import ReadNote

_UNREAD = ("unreadable_file", "damaged")
_AT_LEAST = {"unreadable_file": Severity.MEDIUM}


@rule("COVERAGE.RECORDS_LOST", since="0.3.0")
def records_lost(coverage: Coverage) -> Iterator[Finding]:
    """Records are gone: dropped while writing, or damaged since.

    Detects:
        Steps whose records are missing, measured time without records, steps the
        writer dropped because the disk did not keep up or was full, bytes and files that
        could not be read. Files of ranks that left nothing else are
        COVERAGE.RANKS_MISSING's.

    Why it matters:
        Everything counted over steps is then counted over the rest. The lost time
        keeps its own budget line, so the wall still closes.

    How it decides:
        Finding when any of those counts is above zero. Severity by the larger of
        lost time / wall and lost steps / (steps + lost steps), over all ranks: high
        from 0.20, medium from 0.08, low below that; info when only bytes are
        unreadable and no step is missing (as after a kill in the middle of a
        write); at least medium when a whole file is unreadable. Counting, no
        noise: the false-positive rate is zero. No training time is lost, so cost_s
        is null; no least number of steps.

    Fix:
        Refused: make room on the disk. Dropped: write the run directory to a local
        disk. Damaged: copy the files again, and check the disk or the tool that
        moved them.

    Limits:
        The steps inside damaged bytes are counted from the step numbers around
        them; at the very end of a file they cannot be.

    References:
        docs/architecture.md, on the file format and its checksums.
    """
    gone = set(coverage.ranks_missing)
    notes = [n for n in coverage.notes if n.kind in _UNREAD and n.rank not in gone]
    if not (coverage.lost_steps or coverage.lost_ns or coverage.damaged_bytes or notes):
        return
    lost, kept = coverage.lost_steps, sum(coverage.steps_by_rank.values())
    amounts = [
        f"{count(lost, 'step')} without records" if lost else "",
        f"{duration(coverage.lost_ns)} of wall without records" if coverage.lost_ns else "",
        f"{count(coverage.dropped_steps, 'step')} dropped by the writer"
        if coverage.dropped_steps
        else "",
        f"{count(coverage.damaged_bytes, 'unreadable byte')}" if coverage.damaged_bytes else "",
    ]
    said = "; ".join(part for part in amounts if part)
    more = listed([note.message for note in notes], 3) if notes else ""
    yield Finding(
        severity=_severity(coverage, notes, lost, kept),
        title=f"Records of {count(lost, 'step')} are lost"
        if lost
        else "Some records are unreadable",
        detail=". ".join(text for text in (said[:1].upper() + said[1:], more) if text) + ".",
        evidence=[
            Evidence("steps lost", lost, "steps"),
            Evidence("steps kept", kept, "steps"),
            Evidence("wall lost", coverage.lost_ns / 1e9, "s"),
            Evidence("bytes unreadable", coverage.damaged_bytes, "bytes"),
        ],
        fix=_fix(coverage),
        verify="analyze the repaired directory again",
        ranks=tuple(r.rank for r in coverage.ranks if r.lost_steps or r.lost_ns or r.damaged_bytes),
    )


def _fix(coverage: Coverage) -> str:
    refused = any("the disk refused" in message for message in coverage.warnings)
    advice = (
        "Make room on the disk: it refused records." if refused else "",
        "Write the run to a local disk that keeps up." if coverage.dropped_steps else "",
    )
    said = " ".join(filter(None, advice))
    if said and not coverage.damaged_bytes:
        return said
    return f"{said} Copy damaged files again from where they were written.".strip()


def _severity(coverage: Coverage, notes: list[ReadNote], lost: int, kept: int) -> Severity:
    wall = sum(rank.wall_ns for rank in coverage.ranks)
    share = max(coverage.lost_ns / wall if wall else 0.0, lost / (kept + lost) if lost else 0.0)
    floors = [_AT_LEAST[n.kind] for n in notes if n.kind in _AT_LEAST]
    floors.append(Severity.LOW if lost or coverage.lost_ns else Severity.INFO)
    return min((Severity.of_share(share), *floors), key=lambda severity: severity.order)

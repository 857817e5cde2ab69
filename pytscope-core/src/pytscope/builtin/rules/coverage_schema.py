"""COVERAGE.SCHEMA."""

from __future__ import annotations

from collections.abc import Iterator

from pytscope.analyses import Coverage
from pytscope.model.findings import Finding, Severity
from pytscope.model.wording import listed
from pytscope.plugins.declare import rule
from pytscope.runs.run import ReadNote

NEWER = ("newer_format",)
UNREADABLE = ("values", "metadata", "limit")
UNKNOWN = ("unknown_record", "unknown_column")
MOST_TOLD = 4


@rule("COVERAGE.SCHEMA", since="0.3.0")
def schema(coverage: Coverage) -> Iterator[Finding]:
    """Parts of the records are of a form that this version does not read.

    Detects:
        Files of a newer format, kinds of records and of columns that this version
        does not know, and values or metadata that were passed over because they are
        of the wrong type, or more than the format holds.

    Why it matters:
        What is passed over is in no number of this report. A later pytscope may have
        recorded it, or another program may have written it wrongly, and the report
        looks the same as if it had never been measured.

    How it decides:
        Finding for each of three: files of a newer format, which are left out whole
        (medium); values or metadata that were passed over (low), the metadata of ranks
        that COVERAGE.NOT_FINISHED names excepted; records and columns of unknown
        kinds, which the format allows (info). Bytes and records that cannot be read
        at all are COVERAGE.RECORDS_LOST's. It
        accounts for COVERAGE.RANKS_MISSING where every rank that is missing is one
        of a file left out. Counting, no noise: the false-positive rate is zero. No
        seconds are lost, so cost_s is null; no least number of steps.

    Fix:
        Analyse with the pytscope that recorded, or a later one. Where another program
        wrote the records: correct what it writes, docs/format.md says how.

    Limits:
        A value of the right type and the wrong meaning is not seen.

    References:
        docs/format.md, on versions and on what readers pass over.
    """
    newer = [note for note in coverage.notes if note.kind in NEWER]
    if newer:
        left_out = {note.rank for note in newer}
        gone = bool(coverage.ranks_missing) and left_out >= set(coverage.ranks_missing)
        yield Finding(
            severity=Severity.MEDIUM,
            title="Files of a newer format were left out",
            detail=_told(newer),
            fix="Install the pytscope version that recorded them, or a later one.",
            verify="analyze again: coverage has all ranks",
            ranks=_ranks(newer),
            explains=("COVERAGE.RANKS_MISSING",) if gone else (),
        )
    stopped = {rank.rank for rank in coverage.stopped}
    unreadable = [
        note
        for note in coverage.notes
        if note.kind in UNREADABLE and not (note.kind == "metadata" and note.rank in stopped)
    ]
    if unreadable:
        yield Finding(
            severity=Severity.LOW,
            title="Values of the wrong form were passed over",
            detail=_told(unreadable),
            fix="Correct what writes them; docs/format.md says what is read.",
            verify="analyze again: coverage has no such note",
            ranks=_ranks(unreadable),
        )
    unknown = [note for note in coverage.notes if note.kind in UNKNOWN]
    if unknown:
        yield Finding(
            severity=Severity.INFO,
            title="The records hold more than this version reads",
            detail=_told(unknown),
            fix="Analyse with a later pytscope to see it.",
            verify="analyze again with that version",
            ranks=_ranks(unknown),
        )


def _told(notes: list[ReadNote]) -> str:
    said = listed([note.message for note in notes], MOST_TOLD)
    return f"{said[:1].upper()}{said[1:]}."


def _ranks(notes: list[ReadNote]) -> list[int]:
    return sorted({note.rank for note in notes if note.rank is not None})

"""The source of pytscope's own recordings: a run folder, or one of its rank files."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from pytscope.model.errors import RunUnreadable
from pytscope.model.wording import listed
from pytscope.runs.collecting import collection_paused
from pytscope.runs.evaluations import beside, left_out, training
from pytscope.runs.headers import RunLine
from pytscope.runs.launches import Launch, Start, chosen, launches
from pytscope.runs.layouts import Layouts
from pytscope.runs.pts import RankFile, read_rank_file
from pytscope.runs.recorded import RecordedAttempt
from pytscope.runs.run import ReadNote, Run, Timeline
from pytscope.runs.source import Source
from pytscope.runs.timelines import Member, Wanted, timelines

_RANK_FILE = re.compile(r"rank(\d{1,9})(?:\.(\d+))?\.pts")
_LISTED = 5
ALONE = "no training was recorded here: all there is are evaluations outside of it"


@attrs.frozen
class _Found:
    """What lies at a path, not opened yet: rank files, and notes on the rest."""

    files: tuple[tuple[str | Path, int | None], ...]
    notes: tuple[ReadNote, ...] = ()


def detects(path: Path) -> bool:
    """Tell whether a path is a rank file, or a folder with one in it."""
    if path.is_file():
        return path.suffix == ".pts"
    try:
        with os.scandir(path) as entries:
            return any(_RANK_FILE.fullmatch(entry.name) for entry in entries)
    except OSError:
        return False


def open_run_directory(path: Path, attempt: int | None = None) -> Run:
    """Open a run folder or a single rank file.

    Args:
        path: The folder or file.
        attempt: Number of the only attempt to open; the last chain by default.

    Raises:
        RunUnreadable: Nothing there can be used.
        UsageError: There is no attempt of that number.
    """
    path = Path(path)
    found = _found(path)
    with collection_paused():
        return _opened(path, found, attempt)


def _opened(path: Path, found: _Found, attempt: int | None) -> Run:
    layouts = Layouts()
    read = [read_rank_file(file, layouts, rank) for file, rank in found.files]
    notes = [*found.notes, *(note for file in read for note in file.notes)]
    if layouts.crowded:
        text = f"{layouts.crowded:,} names beyond those that a run may have"
        notes.append(ReadNote("limit", f"{text}: their phases are counted as other"))
    if layouts.passed_over:
        named = listed(sorted(map(repr, layouts.passed_over)), most=4)
        notes.append(ReadNote("unknown_column", f"columns of unknown kinds ({named}) passed over"))
    ranks = _by_rank(read, notes)
    if not ranks:
        raise RunUnreadable(_nothing(path, notes))
    trained = training({rank: file.attempts for rank, file in ranks.items()})
    for rank, file in ranks.items():
        notes += left_out(rank, file.attempts, trained[rank])
    if all(ranks[r].attempts[i].evaluates for r, places in trained.items() for i in places):
        notes.append(ReadNote("evaluations_alone", ALONE))
    started = launches(
        start for rank, file in ranks.items() for start in _starts(rank, file, trained[rank])
    )
    chain = chosen(started, attempt)
    wanted = _wanted(ranks, started, chain, trained, notes)
    built = []
    for timeline, met in timelines(wanted):
        built.append(timeline)
        notes += met
    run = _run(path, tuple(built), ranks, started, chain, tuple(notes))
    return attrs.evolve(run, evaluations=tuple(e for one in wanted for e in one.evaluations))


run_directory = Source("pytscope", detects, open_run_directory)


def _found(path: Path) -> _Found:
    if path.exists() and not (path.is_dir() or path.is_file()):
        msg = f"{path} is neither a folder nor a file"
        raise RunUnreadable(msg)
    if not path.is_dir():
        named = _RANK_FILE.fullmatch(path.name)
        return _Found(((path, int(named[1]) if named else None),))
    try:
        with os.scandir(path) as entries:
            present = sorted((e.name, _is_file(e)) for e in entries if e.name.endswith(".pts"))
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror or error}"
        raise RunUnreadable(msg) from error
    files: list[tuple[str | Path, int | None]] = []
    notes = []
    for name, is_file in present:
        match = _RANK_FILE.fullmatch(name)
        if match is None:
            notes.append(ReadNote("foreign_file", f"{name} is not named like a rank file"))
        elif not is_file:
            notes.append(ReadNote("unreadable_file", f"{name} is no file", int(match[1])))
        elif match[2] is not None:
            text = f"{name} is of a second process with rank {int(match[1])}; it is left out"
            notes.append(ReadNote("second_file", text, int(match[1])))
        else:
            files.append((os.path.join(path, name), int(match[1])))  # noqa: PTH118  # thousands of them: a Path each takes its time
    return _Found(tuple(files), tuple(notes))


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a file or leads to one, rather than nowhere or in a circle."""
    try:
        return entry.is_file()
    except OSError:
        return False


def _by_rank(read: Sequence[RankFile], notes: list[ReadNote]) -> dict[int, RankFile]:
    """Usable files by the rank they say they are; the rest is noted."""
    ranks: dict[int, RankFile] = {}
    for file in read:
        if not file.attempts:
            continue
        rank = file.rank or 0
        other = ranks.get(rank)
        if other is None:
            ranks[rank] = file
            continue
        keep = file if _named_for(file, rank) and not _named_for(other, rank) else other
        left = other if keep is file else file
        text = f"{left.name} says it is rank {rank}, as {keep.name} does; it is left out"
        notes.append(ReadNote("second_file", text, rank))
        ranks[rank] = keep
    return dict(sorted(ranks.items()))


def _named_for(file: RankFile, rank: int) -> bool:
    named = _RANK_FILE.fullmatch(file.name)
    return named is not None and int(named[1]) == rank


def _nothing(path: Path, notes: Sequence[ReadNote]) -> str:
    met = "; ".join(note.message for note in notes[:_LISTED])
    more = f"; and {len(notes) - _LISTED} more" if len(notes) > _LISTED else ""
    if not met:
        return f"{path} holds no rank file"
    return f"{path} holds nothing that can be analysed: {met}{more}"


def _starts(rank: int, file: RankFile, ordinals: Iterable[int]) -> Iterator[Start]:
    for ordinal in ordinals:
        recorded = file.attempts[ordinal]
        run = recorded.run
        launcher = None
        if run is not None and run.job is not None and run.restart is not None:
            launcher = (run.job, run.restart)
        epoch = recorded.start_epoch_ns
        yield Start(rank, ordinal, epoch, epoch + recorded.last_ns, recorded.first_step, launcher)


def _wanted(
    ranks: dict[int, RankFile],
    started: Sequence[Launch],
    chain: range,
    trained: Mapping[int, Sequence[int]],
    notes: list[ReadNote],
) -> list[Wanted]:
    """What to read of the ranks that took part in the chain's last launch."""
    wanted = []
    for rank, file in ranks.items():
        if rank not in started[chain[-1]].starts:
            notes += _missed(rank, chain[-1], file, trained[rank])
            continue
        kept = {
            started[launch].starts[rank].ordinal: launch
            for launch in chain
            if rank in started[launch].starts
        }
        members = tuple(Member(number, file.attempts[place]) for place, number in kept.items())
        others = beside(rank, file.attempts, trained[rank], kept, live=file.live)
        wanted.append(Wanted(rank, file, members, tuple(others)))
    return wanted


def _missed(rank: int, number: int, file: RankFile, trained: Sequence[int]) -> Iterator[ReadNote]:
    if trained:
        text = f"rank {rank} recorded other attempts, but not attempt {number}"
        yield ReadNote("missed_launch", text, rank)
    elif any(one.evaluates for one in file.attempts):
        text = f"rank {rank} recorded evaluations outside of training alone; they are left out"
        yield ReadNote("evaluations_alone", text, rank)


def _run(
    path: Path,
    timelines: tuple[Timeline, ...],
    ranks: dict[int, RankFile],
    started: Sequence[Launch],
    chain: range,
    notes: tuple[ReadNote, ...],
) -> Run:
    places = {t.rank: started[chain[-1]].starts[t.rank].ordinal for t in timelines}
    last = [ranks[rank].attempts[place] for rank, place in places.items()]
    lines = [recorded.run for recorded in last if recorded.run is not None]
    first = lines[0] if lines else None
    worlds = [line.world for line in lines if line.world is not None]
    notes += _mixed(lines)
    return Run(
        path=str(path),
        name=(first.name if first else None) or path.resolve().name,
        timelines=timelines,
        world_size=max(worlds, default=None),
        config=first.configuration if first else {},
        environment=_environment(last),
        source=run_directory.name,
        flops_per_step=_figure("flops_per_step", first.flops_per_step if first else None, last),
        peak_flops=_figure("peak_flops", first.peak_flops if first else None, last),
        other_attempts=tuple(i for i in range(len(started)) if i not in chain),
        live=any(ranks[r].live and p + 1 == len(ranks[r].attempts) for r, p in places.items()),
        notes=notes,
    )


def _mixed(lines: Sequence[RunLine]) -> tuple[ReadNote, ...]:
    """A note when the files of the ranks cannot be of one run."""
    told: dict[str, set[Any]] = {
        "world size": {line.world for line in lines if line.world is not None},
        "name": {line.name for line in lines if line.name is not None},
        "job": {line.job for line in lines if line.job is not None},
    }
    odd = [
        f"{what} {listed(sorted(map(str, values)), most=_LISTED)}"
        for what, values in told.items()
        if len(values) > 1
    ]
    if not odd:
        return ()
    return (ReadNote("mixed_runs", f"the ranks' files are of several runs: {'; '.join(odd)}"),)


def _figure(name: str, given: float | None, last: Sequence[RecordedAttempt]) -> float | None:
    """A figure as given to the recorder, else as counted or looked up by it."""
    if given is not None:
        return given
    counted = [e.get(name) for a in last for e in a.events if e.get("kind") == "flops"]
    numbers = (float(v) for v in counted if isinstance(v, (int, float)))
    return next((v for v in numbers if math.isfinite(v) and v > 0), None)


def _environment(last: Sequence[RecordedAttempt]) -> dict[str, object]:
    """Provenance of the lowest rank that has any."""
    for recorded in last:
        if recorded.run is not None:
            return {**recorded.run.environment, **recorded.provenance}
    return {}

"""What may lie where a rank file is expected: nothing raises, everything is said."""

from __future__ import annotations

import gzip
import os
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytscope.cli import main
from pytscope.model.errors import RunUnreadable
from pytscope.runs.layouts import Layouts
from pytscope.runs.pts import _Reading, read_rank_file
from pytscope.runs.run import ReadNote
from pytscope.runs.sources.run_directory import open_run_directory
from tests.core.runs.diagnosing import diagnose
from tests.core.runs.pts_bytes import EPOCH_NS, attempt, mixed_steps, plain_steps
from tests.core.runs.reading import assert_same, write

STEPS = plain_steps(30)
FOREIGN = {
    "png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8,
    "gzip": gzip.compress(b"".join(attempt(STEPS)), mtime=0),
    "parquet": b"PAR1" + b"\x15\x04" * 500 + b"PAR1",
    "log": b"2024-01-01 INFO step 1 loss=0.5\n" * 200,
    "jsonl": b'{"step": 1, "forward": 0.5}\n' * 200,
    "json list": b"[" + b"1," * 1000 + b"1]\n",
    "one line": b"x" * 100_000,
    "spaces": b" \n" * 1000,
    "zeros": b"\0" * 100_000,
    "0xff": b"\xff" * 10_000,
    "almost": b'{"b":"run"}\n{"b":"steps","crc":1}\n{"b":\n{"b":"',
    "utf-16": '{"b":"run"}\n'.encode("utf-16") * 20,
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_file_of_another_kind_is_named(tmp_path, kind, capsys):
    folder = write(tmp_path / "run", FOREIGN[kind])
    with pytest.raises(RunUnreadable, match=r"rank00000\.pts (is no recording|holds no intact)"):
        open_run_directory(folder)
    for path in (folder, folder / "rank00000.pts"):
        with pytest.raises(SystemExit) as stopped:
            main(["analyze", str(path)])
        assert stopped.value.code == 3
        said = capsys.readouterr()
        assert said.out == ""
        assert "Traceback" not in said.err


@pytest.mark.parametrize("kind", FOREIGN)
def test_it_costs_the_other_ranks_nothing(tmp_path, kind):
    write(tmp_path, attempt(STEPS, rank=0, world=2), 0)
    write(tmp_path, FOREIGN[kind], 1)
    run, report = diagnose(tmp_path)
    assert_same(run.timelines[0], STEPS)
    assert [note.rank for note in run.notes] == [1]
    assert report.analyses["coverage"].ranks_missing == (1,)


def test_nothing_else_in_a_folder_is_read(tmp_path):
    folder = write(tmp_path / "run", attempt(STEPS, rank=0, world=8), 0)
    (folder / "rank00001.pts").mkdir()
    (folder / "rank00002.pts").symlink_to("rank00002.pts")
    (folder / "rank00003.pts").symlink_to(tmp_path / "nowhere")
    (folder / "rank00004.pts").symlink_to(folder)
    os.mkfifo(folder / "rank00005.pts")
    (folder / "rank00006.pts").symlink_to("/dev/zero")
    write(tmp_path / "elsewhere", attempt(STEPS, rank=7, world=8), 7)
    (folder / "rank00007.pts").symlink_to(tmp_path / "elsewhere" / "rank00007.pts")
    run, report = diagnose(folder)
    assert run.ranks == (0, 7)
    assert {note.rank for note in run.notes} == {1, 2, 3, 4, 5, 6}
    assert {note.kind for note in run.notes} == {"unreadable_file"}
    assert report.analyses["coverage"].ranks_missing == (1, 2, 3, 4, 5, 6)


@pytest.fixture
def powerless() -> Iterator[Path]:
    """A folder that all may enter, and a process that may not read everything."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        was = os.geteuid()
        if was == 0:
            os.seteuid(65534)
        try:
            yield Path(folder)
        finally:
            os.seteuid(was)


def as_root(call) -> None:
    """Do something that may be done again by the process as it was."""
    was = os.geteuid()
    os.seteuid(os.getuid())
    try:
        call()
    finally:
        os.seteuid(was)


def test_without_permission_to_read_a_file(powerless):
    def prepare() -> None:
        write(powerless / "run", attempt(STEPS, rank=0, world=2), 0)
        write(powerless / "run", attempt(STEPS, rank=1, world=2), 1)
        (powerless / "run" / "rank00001.pts").chmod(0)

    as_root(prepare)
    run, report = diagnose(powerless / "run")
    assert_same(run.timelines[0], STEPS)
    note = ReadNote("unreadable_file", "rank00001.pts cannot be read: Permission denied", 1)
    assert run.notes == (note,)
    assert report.analyses["coverage"].ranks_missing == (1,)


def test_without_permission_to_list_the_folder(powerless):
    def prepare() -> None:
        write(powerless / "run", attempt(STEPS))
        (powerless / "run").chmod(0)

    as_root(prepare)
    with pytest.raises(RunUnreadable, match="cannot be read: Permission denied"):
        open_run_directory(powerless / "run")
    as_root(lambda: (powerless / "run").chmod(0o755))


def test_a_file_cut_short_while_it_is_read_ends_where_it_was_cut(tmp_path):
    steps = mixed_steps(200)
    records = attempt(steps, block=10)
    path = write(tmp_path, records) / "rank00000.pts"
    size = path.stat().st_size
    kept = len(b"".join(records[:9])) + 100
    os.truncate(path, kept)
    with path.open("rb") as file:
        reading = _Reading(file.fileno(), size, Layouts())
        read = reading.rank_file("rank00000.pts", 0, live=False)
    (recorded,) = read.attempts
    assert sum(block.n for block in recorded.blocks) == 60
    assert recorded.damaged_bytes == 100


def test_a_hole_as_large_as_memory_is_passed_over(tmp_path):
    path = write(tmp_path, attempt(STEPS)) / "rank00000.pts"
    whole = path.stat().st_size
    os.truncate(path, 2**28)
    with path.open("ab") as file:
        file.write(b"".join(attempt(STEPS, step=0, epoch_ns=EPOCH_NS + 10**12)))
    tracemalloc.start()
    read = read_rank_file(path, Layouts())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(read.attempts) == 2
    assert [sum(b.n for b in a.blocks) for a in read.attempts] == [30, 30]
    assert read.attempts[0].damaged_bytes == 2**28 - whole
    assert peak < 100 * 2**20


def test_ranks_of_two_runs_in_one_folder_are_said_to_be(tmp_path):
    write(tmp_path, attempt(STEPS, rank=0, world=2, name="a", job="1"), 0)
    write(tmp_path, attempt(STEPS, rank=1, world=8, name="b", job="2"), 1)
    run, report = diagnose(tmp_path)
    assert run.world_size == 8
    (note,) = run.notes
    assert note.kind == "mixed_runs"
    assert "world size 2, 8; name a, b; job 1, 2" in note.message
    assert note in report.analyses["coverage"].notes


def test_ranks_that_started_days_apart_are_two_launches(tmp_path):
    write(tmp_path, attempt(STEPS, rank=0), 0)
    write(tmp_path, attempt(STEPS, rank=1, epoch_ns=EPOCH_NS + 3 * 86_400 * 10**9), 1)
    run, _ = diagnose(tmp_path)
    assert run.ranks == (1,)
    assert [note.kind for note in run.notes] == ["missed_launch"]

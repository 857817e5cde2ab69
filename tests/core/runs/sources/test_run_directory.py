"""A folder of rank files as one run: ranks, attempts, chains, and what cannot be used."""

import os
import subprocess
import sys

import pytest

from pytscope.model.errors import RunUnreadable, UsageError
from pytscope.model.records import Flag
from pytscope.runs.sources.run_directory import open_run_directory, run_directory
from tests.core.runs.pts_bytes import (
    EPOCH_NS,
    anchor,
    attempt,
    end_record,
    event,
    plain_steps,
    run_record,
)
from tests.core.runs.reading import assert_same, attempt_wall_ns, read, write

SECOND_NS = 10**9
STEPS = plain_steps(30)


def later(seconds: float) -> int:
    return EPOCH_NS + int(seconds * SECOND_NS)


def kinds(run) -> list[str]:
    return [note.kind for note in run.notes]


def test_many_ranks_are_one_run(tmp_path):
    for rank in (2, 0, 11):
        fields = {"rank": rank, "world": 12, "local_rank": rank % 8, "environment": {"host": rank}}
        write(tmp_path, attempt(STEPS[rank:], **fields), rank)
    run = open_run_directory(tmp_path)
    assert run.ranks == (0, 2, 11)
    assert (run.world_size, run.source, run.path) == (12, "pytscope", str(tmp_path))
    assert run.environment == {"host": 0}
    assert [t.metadata["environment"]["host"] for t in run.timelines] == [0, 2, 11]
    assert run.rank(11).metadata["local_rank"] == 3
    for rank in run.ranks:
        assert_same(run.rank(rank), STEPS[rank:])
    assert run.notes == ()
    assert not run.live


def test_what_the_run_line_says_is_the_runs(tmp_path):
    fields = {"name": "night", "config": {"lr": 0.1}, "environment": {"python": "3.11"}}
    fields |= {"flops_per_step": 1e12, "peak_flops": "Infinity", "warmup": 3}
    records = attempt(STEPS, **fields)
    records.insert(2, event("provenance", git={"sha": "ab"}, packages={"torch": "2"}))
    run = read(tmp_path, records)
    assert (run.name, run.config, run.flops_per_step) == ("night", {"lr": 0.1}, 1e12)
    assert run.peak_flops == float("inf")
    git = {"git": {"sha": "ab"}, "packages": {"torch": "2"}}
    assert run.environment == {"python": "3.11", **git}
    first = run.timelines[0].attempts[0]
    assert (first.warmup, first.events, first.start_epoch_ns) == (3, (), EPOCH_NS)


def test_a_run_without_a_name_is_called_as_its_folder(tmp_path):
    assert read(tmp_path / "exp7", attempt(STEPS, name="")).name == "exp7"


@pytest.mark.parametrize(
    ("config", "shown"), [(None, {}), ([1, 2], {"config": [1, 2]}), ({"a": 1}, {"a": 1})]
)
def test_a_configuration_may_be_of_any_form(tmp_path, config, shown):
    run = read(tmp_path, attempt(STEPS, config=config, name=None, recorded="zero"))
    assert run.config == shown
    assert run.timelines[0].metadata["recorded"] == "zero"


def test_a_single_file_opens_alone(tmp_path):
    write(tmp_path, attempt(STEPS), 0)
    write(tmp_path, attempt(STEPS, rank=1), 1)
    run = open_run_directory(tmp_path / "rank00001.pts")
    assert run.ranks == (1,)
    moved = (tmp_path / "rank00001.pts").rename(tmp_path / "kept.pts")
    assert open_run_directory(moved).ranks == (1,)


class TestAttempts:
    """Resumes, fresh runs, what is done again, and the time between."""

    def chain(self, *starts: tuple[int, int], gap: float = 100.0) -> list[bytes]:
        records = []
        for i, (first, count) in enumerate(starts):
            steps = STEPS[first : first + count]
            records += attempt(steps, step=first, epoch_ns=later(i * gap), end=i % 2 == 1)
        return records

    def test_a_resume_keeps_what_came_before_and_flags_what_is_done_again(self, tmp_path):
        run = read(tmp_path, self.chain((0, 15), (10, 10), (20, 10)))
        timeline = run.timelines[0]
        assert timeline.step.tolist() == [*range(15), *range(10, 20), *range(20, 30)]
        assert timeline.attempt.tolist() == [0] * 15 + [1] * 10 + [2] * 10
        redone = timeline.has(Flag.REDONE)
        assert timeline.step[redone].tolist() == list(range(10, 15))
        assert set(timeline.attempt[redone].tolist()) == {0}
        assert [a.number for a in timeline.attempts] == [0, 1, 2]
        assert [a.finished for a in timeline.attempts] == [False, True, False]
        assert [a.first_step for a in timeline.attempts] == [0, 10, 20]
        assert run.other_attempts == ()

    def test_a_later_attempt_overwrites_all_before_it(self, tmp_path):
        timeline = read(tmp_path, self.chain((0, 15), (10, 10), (12, 3))).timelines[0]
        redone = timeline.has(Flag.REDONE)
        assert timeline.step[~redone].tolist() == [*range(10), 10, 11, 12, 13, 14]

    def test_a_start_at_or_below_the_one_before_is_a_fresh_run(self, tmp_path):
        run = read(tmp_path, self.chain((5, 10), (10, 5), (5, 20)))
        assert run.other_attempts == (0, 1)
        assert run.timelines[0].step.tolist() == list(range(5, 25))
        assert not run.timelines[0].has(Flag.REDONE).any()
        assert [a.number for a in run.timelines[0].attempts] == [2]

    def test_one_attempt_can_be_asked_for(self, tmp_path):
        records = self.chain((0, 15), (10, 10), (0, 5))
        run = read(tmp_path, records, attempt=0)
        assert run.other_attempts == (1, 2)
        assert run.timelines[0].step.tolist() == list(range(15))
        assert not run.timelines[0].has(Flag.REDONE).any()
        run = read(tmp_path, records, attempt=1)
        assert (run.timelines[0].attempts[0].number, run.other_attempts) == (1, (0, 2))
        assert run.timelines[0].attempts[0].downtime_ns == 0

    @pytest.mark.parametrize("wrong", [-1, 3, 99])
    def test_an_attempt_that_is_not_there(self, tmp_path, wrong):
        with pytest.raises(UsageError, match=r"no attempt -?\d+; its attempts are: 0, 1, 2"):
            read(tmp_path, self.chain((0, 5), (5, 5), (10, 5)), attempt=wrong)

    def test_downtime_is_beside_the_identity(self, tmp_path):
        timeline = read(tmp_path, self.chain((0, 15), (10, 10))).timelines[0]
        wall = [attempt_wall_ns(timeline, a) for a in timeline.attempts]
        assert [a.downtime_ns for a in timeline.attempts] == [0, 100 * SECOND_NS - wall[0]]
        assert wall[0] == 1000 + sum(step.wall_ns for step in STEPS[:15])

    def test_downtime_goes_by_the_nearest_anchor(self, tmp_path):
        first = attempt(STEPS[:5], end=False)
        first.append(anchor(3000, later(70)))
        wall = 1000 + sum(step.wall_ns for step in STEPS[:5])
        records = first + attempt(STEPS[5:], step=5, epoch_ns=later(100))
        timeline = read(tmp_path, records).timelines[0]
        assert timeline.attempts[1].downtime_ns == 30 * SECOND_NS - (wall - 3000)

    def test_downtime_is_not_negative(self, tmp_path):
        timeline = read(tmp_path, self.chain((0, 15), (10, 10), gap=-50)).timelines[0]
        assert timeline.attempts[1].downtime_ns == 0

    def test_steps_may_come_from_several_attempts_of_one_window_of_time(self, tmp_path):
        timeline = read(tmp_path, self.chain((0, 3), (3, 3))).timelines[0]
        starts = timeline.start_ns.tolist()
        assert starts[0] == starts[3] == 1000


class TestLaunches:
    """Attempts of several ranks that belong together."""

    def test_the_last_chain_is_chosen_over_all_ranks(self, tmp_path):
        for rank in (0, 1):
            records = attempt(STEPS[:9], rank=rank, epoch_ns=later(rank))
            records += attempt(STEPS[4:], rank=rank, step=4, epoch_ns=later(50 + rank))
            write(tmp_path, records, rank)
        run = open_run_directory(tmp_path)
        assert run.ranks == (0, 1)
        assert all(t.attempt.tolist() == [0] * 9 + [1] * 26 for t in run.timelines)
        assert open_run_directory(tmp_path, 0).ranks == (0, 1)

    def test_a_rank_that_missed_the_last_launch_is_absent_and_noted(self, tmp_path):
        first = [attempt(STEPS, rank=rank, world=2) for rank in (0, 1)]
        write(tmp_path, first[0] + attempt(STEPS, world=2, epoch_ns=later(900)), 0)
        write(tmp_path, first[1], 1)
        run = open_run_directory(tmp_path)
        assert (run.ranks, run.world_size, run.other_attempts) == ((0,), 2, (0,))
        assert kinds(run) == ["missed_launch"]
        assert run.notes[0].rank == 1
        assert open_run_directory(tmp_path, 0).ranks == (0, 1)

    def test_a_rank_that_missed_the_first_launch(self, tmp_path):
        write(tmp_path, attempt(STEPS[:9]) + attempt(STEPS[5:], step=5, epoch_ns=later(60)), 0)
        write(tmp_path, attempt(STEPS[5:], rank=1, step=5, epoch_ns=later(59)), 1)
        run = open_run_directory(tmp_path)
        assert run.ranks == (0, 1)
        assert [a.number for a in run.rank(1).attempts] == [1]
        assert [a.number for a in run.rank(0).attempts] == [0, 1]
        assert set(run.rank(1).attempt.tolist()) == {1}

    def test_the_launchers_job_and_restart_count_beat_the_clock(self, tmp_path):
        for rank, skew in ((0, 0), (1, 45)):
            records = []
            for restart in (0, 1):
                when = later(skew + 20 * restart)
                fields = {"rank": rank, "job": "j1", "restart": restart, "epoch_ns": when}
                records += attempt(STEPS[5 * restart :], step=5 * restart, **fields)
            write(tmp_path, records, rank)
        run = open_run_directory(tmp_path)
        assert run.ranks == (0, 1)
        assert run.other_attempts == ()
        assert [len(t.attempts) for t in run.timelines] == [2, 2]


class TestWhatCannotBeUsed:
    """Notes beside the run; a sentence when there is no run."""

    def test_notes_beside_a_run(self, tmp_path):
        write(tmp_path, attempt(STEPS), 0)
        write(tmp_path, b"", 1)
        write(tmp_path, b"hello\n", 2)
        write(tmp_path, run_record(v=9, rank=3), 3)
        write(tmp_path, run_record(format="other", rank=4), 4)
        write(tmp_path, run_record()[:40], 5)
        (tmp_path / "rank00006.pts").mkdir()
        (tmp_path / "rank00000.1.pts").write_bytes(b"".join(attempt(STEPS)))
        (tmp_path / "bunny.pts").write_text("3 points")
        (tmp_path / "plot.png").write_text("")
        run = open_run_directory(tmp_path)
        assert run.ranks == (0,)
        noted = {(note.kind, note.rank) for note in run.notes}
        assert noted == {
            ("empty_file", 1),
            ("foreign_file", 2),
            ("newer_format", 3),
            ("unreadable_file", 4),
            ("damaged", 5),
            ("unreadable_file", 6),
            ("second_file", 0),
            ("foreign_file", None),
        }
        by_rank = {note.rank: note.message for note in run.notes}
        assert "version 9" in by_rank[3]
        assert "'other'" in by_rank[4]

    @pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
    def test_a_file_without_permission_is_noted(self, tmp_path):
        write(tmp_path, attempt(STEPS), 0)
        write(tmp_path, attempt(STEPS, rank=1), 1)
        (tmp_path / "rank00001.pts").chmod(0)
        assert kinds(open_run_directory(tmp_path)) == ["unreadable_file"]

    def test_a_file_that_vanished_is_noted(self, tmp_path):
        with pytest.raises(RunUnreadable, match="cannot be read: No such file"):
            open_run_directory(tmp_path / "rank00000.pts")

    def test_two_files_that_say_they_are_one_rank(self, tmp_path):
        write(tmp_path, attempt(STEPS[:5]), 3)
        write(tmp_path, attempt(STEPS), 0)
        write(tmp_path, attempt(STEPS[:4]), 7)
        run = open_run_directory(tmp_path)
        assert (run.ranks, len(run.timelines[0])) == ((0,), 30)
        assert kinds(run) == ["second_file", "second_file"]
        assert "rank00003.pts" in run.notes[0].message + run.notes[1].message

    def test_nothing_usable_says_what_was_found(self, tmp_path):
        for rank in range(8):
            write(tmp_path, b"", rank)
        with pytest.raises(RunUnreadable, match=r"rank00000\.pts is empty; .*; and 3 more"):
            open_run_directory(tmp_path)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
    def test_a_pipe_is_not_waited_for(self, tmp_path):
        os.mkfifo(tmp_path / "rank00000.pts")
        with pytest.raises(RunUnreadable, match="neither a folder nor a file"):
            open_run_directory(tmp_path / "rank00000.pts")
        with pytest.raises(RunUnreadable, match=r"rank00000\.pts is no file"):
            open_run_directory(tmp_path)

    def test_an_empty_folder(self, tmp_path):
        with pytest.raises(RunUnreadable, match="holds no rank file"):
            open_run_directory(tmp_path)


HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "ab")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder():
    pytest.importorskip("fcntl")
    started = []

    def hold(path):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started.append(process)
        assert process.stdout.readline() == b"held\n"
        return process

    yield hold
    for process in started:
        process.communicate()


class TestLive:
    """A file that a recorder holds, and goes on writing."""

    def test_a_held_file_is_live_and_its_tail_no_damage(self, tmp_path, holder):
        data = b"".join(attempt(STEPS, end=False))
        write(tmp_path, data[:-40])
        process = holder(tmp_path / "rank00000.pts")
        run = open_run_directory(tmp_path)
        assert run.live
        assert run.notes == ()
        assert (len(run.timelines[0]), run.timelines[0].attempts[0].damaged_bytes) == (25, 0)
        process.communicate()
        run = open_run_directory(tmp_path)
        assert not run.live
        assert kinds(run) == ["damaged"]
        assert run.timelines[0].attempts[0].damaged_bytes > 0

    def test_a_held_file_with_half_a_first_line_holds_no_rank_yet(self, tmp_path, holder):
        write(tmp_path, attempt(STEPS), 0)
        write(tmp_path, run_record(rank=1)[:50], 1)
        holder(tmp_path / "rank00001.pts")
        run = open_run_directory(tmp_path)
        assert (run.ranks, run.notes) == ((0,), ())

    def test_the_look_at_the_lock_leaves_it_free(self, tmp_path, holder):
        write(tmp_path, attempt(STEPS, end=False))
        open_run_directory(tmp_path)
        holder(tmp_path / "rank00000.pts")  # would block for ever if it was not given back

    def test_records_written_between_the_read_and_the_look_are_read(self, tmp_path, monkeypatch):
        path = write(tmp_path, attempt(STEPS, end=False)) / "rank00000.pts"
        wall = 1000 + sum(step.wall_ns for step in STEPS)

        def ends_meanwhile(_path):
            with path.open("ab") as file:
                file.write(end_record(wall, 30))
            return False

        monkeypatch.setattr("pytscope.runs.pts.is_held", ends_meanwhile)
        assert open_run_directory(tmp_path).timelines[0].attempts[0].finished


def test_detects_its_own(tmp_path):
    write(tmp_path / "run", attempt(STEPS))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.pts").write_text("")
    assert run_directory.name == "pytscope"
    assert run_directory.detects(tmp_path / "run")
    assert run_directory.detects(tmp_path / "run" / "rank00000.pts")
    assert not run_directory.detects(tmp_path / "other")
    assert not run_directory.detects(tmp_path)
    assert not run_directory.detects(tmp_path / "nothing")

"""Evaluations outside of training: attempts on disk that are none of the run's."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from pytscope.runs.locks import HAS_LOCKS
from pytscope.runs.run import Run
from pytscope.runs.sources.run_directory import open_run_directory
from pytscope.runs.window import windowed
from tests.core.runs.pts_bytes import EPOCH_NS, Step, anchor, attempt, end_record, event, run_record
from tests.core.runs.reading import read, write

with contextlib.suppress(ImportError):  # not everywhere
    from fcntl import LOCK_EX, flock

SECOND = 1_000_000_000


def steps(count: int, **scalars: float) -> list[Step]:
    return [Step((("forward", 1000),), scalars) for _ in range(count)]


def evaluation(
    step: int, at_s: float = 0, *, end: bool = True, wall_ns: int = 7000, **more: Any
) -> list[bytes]:
    """The records of an evaluation with one value."""
    values = more.pop("values", {"test_loss": 0.5})
    epoch = int(EPOCH_NS + at_s * SECOND)
    kind = more.pop("evaluates", "test")
    records = [run_record(step=step, evaluates=kind, epoch_ns=epoch, **more), anchor(0, epoch)]
    records.append(event("log", 5000, step=None, values=values))
    if end:
        segments = [["other", 500], ["eval", wall_ns - 500]]
        records += [event("startup", wall_ns, segments=segments), end_record(wall_ns, 0)]
    return records


def trained(count: int, at_s: float = 0, **more: Any) -> list[bytes]:
    return attempt(steps(count), epoch_ns=int(EPOCH_NS + at_s * SECOND), **more)


def series(run: Run, name: str) -> dict[int, float]:
    return {int(step): value for step, value in zip(*run.series(name), strict=True)}


def test_they_change_nothing_of_the_training(tmp_path: Path) -> None:
    first, second = trained(10, 1), trained(5, 50, step=10)
    plain = read(tmp_path / "plain", [*first, *second])
    run = read(
        tmp_path / "more",
        [*evaluation(0), *first, *evaluation(10, 20), *evaluation(4, 30), *second],
    )
    (one,), (other,) = plain.timelines, run.timelines
    assert other.step.tolist() == one.step.tolist() == list(range(15))
    assert other.flags.tolist() == one.flags.tolist()
    assert other.attempt.tolist() == one.attempt.tolist()
    assert (other.measured_ns, run.other_attempts) == (one.measured_ns, ())
    assert [a.number for a in other.attempts] == [0, 1]
    assert [(e.attempt, e.step) for e in run.evaluations] == [(0, 0), (0, 10), (0, 4)]
    assert {e.wall_ns for e in run.evaluations} == {7000}
    assert [dict(e.segments) for e in run.evaluations] == [{"other": 500, "eval": 6500}] * 3


def test_values_are_of_the_last_step_that_the_model_had_made(tmp_path: Path) -> None:
    run = read(
        tmp_path,
        [
            *evaluation(0, values={"test_loss": 9.0}),
            *trained(6),
            *evaluation(6, values={"test_loss": 0.25, "n": 3}),
            *evaluation(3, values={"test_loss": 0.5}),
            *evaluation(99, values={"test_loss": 8.0}),
        ],
    )
    assert series(run, "test_loss") == {5: 0.25, 2: 0.5}
    assert series(run, "n") == {5: 3}
    assert [e.values["test_loss"] for e in run.evaluations] == [9.0, 0.25, 0.5, 8.0]


def test_what_training_logged_is_not_written_over(tmp_path: Path) -> None:
    own = attempt(steps(3, val_loss=1.0))
    run = read(tmp_path, [*own, *evaluation(3, values={"val_loss": 2.0, "tokens": 5})])
    assert series(run, "val_loss") == {0: 1.0, 1: 1.0, 2: 1.0}
    assert run.timelines[0].scalars == ("val_loss",)
    assert run.evaluations[0].values == {"val_loss": 2.0, "tokens": 5}


def test_of_steps_done_again_the_last_one_has_the_values(tmp_path: Path) -> None:
    run = read(tmp_path, [*trained(6), *trained(6, 50, step=3), *evaluation(5, 99)])
    rows, values = run.timelines[0].column("scalar", "test_loss")
    assert (rows.tolist(), values.tolist()) == ([7], [0.5])


def test_one_before_a_resume_is_not_of_the_steps_after_it(tmp_path: Path) -> None:
    run = read(tmp_path, [*trained(6), *evaluation(5, 10), *trained(6, 50, step=3)])
    rows, values = run.timelines[0].column("scalar", "test_loss")
    assert (rows.tolist(), values.tolist()) == ([4], [0.5])
    assert series(run, "test_loss") == {}


def test_one_on_a_single_rank_leaves_the_others_in(tmp_path: Path) -> None:
    for rank in (0, 1):
        more = evaluation(4, 50) if rank == 0 else []
        write(tmp_path, [*trained(4, rank=rank, world=2), *more], rank)
    run = open_run_directory(tmp_path)
    assert (run.ranks, run.notes) == ((0, 1), ())
    assert [(e.rank, e.attempt) for e in run.evaluations] == [(0, 0)]


def test_a_rank_that_only_evaluated_is_said_to(tmp_path: Path) -> None:
    write(tmp_path, [*trained(4), *evaluation(4, 50)])
    write(tmp_path, evaluation(4, 50, rank=1), 1)
    run = open_run_directory(tmp_path)
    assert run.ranks == (0,)
    assert [note.kind for note in run.notes] == ["evaluations_alone"]
    assert "rank 1" in run.notes[0].message


def test_one_before_a_fresh_start_belongs_to_its_own_process(tmp_path: Path) -> None:
    first, second = ({"host": "here", "pid": pid} for pid in (1, 2))
    run = read(
        tmp_path,
        [
            *trained(4, environment=first),
            *evaluation(4, 10, environment=first),
            *evaluation(0, 20, environment=second),
            *trained(4, 30, environment=second),
        ],
    )
    assert run.other_attempts == (0,)
    assert [(e.attempt, e.step) for e in run.evaluations] == [(1, 0)]
    earlier = open_run_directory(tmp_path, 0)
    assert [(e.attempt, e.step) for e in earlier.evaluations] == [(0, 4)]


def test_where_nothing_was_trained_the_last_one_stands_for_the_run(tmp_path: Path) -> None:
    run = read(tmp_path, [*evaluation(0), *evaluation(0, 50, wall_ns=9000)])
    (timeline,) = run.timelines
    assert (len(timeline), timeline.measured_ns, len(timeline.attempts)) == (0, 9000, 1)
    assert [e.wall_ns for e in run.evaluations] == [7000, 9000]
    assert [note.kind for note in run.notes] == ["evaluations_alone"]


def test_time_between_attempts_is_without_them(tmp_path: Path) -> None:
    took = 20 * SECOND
    run = read(tmp_path, [*trained(4), *evaluation(4, 10, wall_ns=took), *trained(4, 50, step=4)])
    downtime = run.timelines[0].attempts[1].downtime_ns
    assert abs(downtime - 30 * SECOND) < SECOND / 1000


def test_one_that_was_cut_off_has_what_was_heard_of_it(tmp_path: Path) -> None:
    run = read(tmp_path, [*trained(4), *evaluation(4, 50, end=False)])
    (one,) = run.evaluations
    assert (one.finished, one.wall_ns, one.values) == (False, 0, {"test_loss": 0.5})
    assert run.timelines[0].attempts[-1].finished


def test_a_window_keeps_those_of_its_steps(tmp_path: Path) -> None:
    run = read(tmp_path, [*trained(9), *evaluation(3), *evaluation(9)])
    assert [e.step for e in windowed(run, 0, 4).evaluations] == [3]
    assert [e.step for e in windowed(run, 5, None).evaluations] == [9]


def test_one_that_made_steps_is_a_training(tmp_path: Path) -> None:
    run = read(tmp_path, [*trained(4), *trained(4, 50, step=4, evaluates="test")])
    assert (len(run.timelines[0]), run.evaluations) == (8, ())


def test_values_that_are_none_are_passed_over(tmp_path: Path) -> None:
    run = read(tmp_path, [*trained(2), *evaluation(2, values={"odd": [1]})])
    assert run.evaluations[0].values == {}


@pytest.mark.parametrize("end", [True, False])
@pytest.mark.parametrize("left", [1, 2, 3])
def test_one_whose_first_line_is_gone_hides_no_training(
    tmp_path: Path, end: bool, left: int
) -> None:
    records = evaluation(10, 20)
    gone = b"x" * sum(map(len, records[:left])) + b"\n"
    run = read(tmp_path, [*trained(10, end=end), gone, *records[left:]])
    (timeline,) = run.timelines
    assert (len(timeline), len(timeline.attempts), run.other_attempts) == (10, 1, ())
    assert timeline.attempts[0].finished is end
    assert run.evaluations == ()
    assert [note.kind for note in run.notes] == ["damaged", "damaged"]
    assert "lost its first line" in run.notes[1].message


def test_nor_one_whose_first_line_cannot_be_used(tmp_path: Path) -> None:
    odd = evaluation(10, 20, evaluates=7)
    run = read(tmp_path, [*trained(10), *odd, *trained(5, 50, step=10)])
    assert run.timelines[0].step.tolist() == list(range(15))
    assert sum("lost its first line" in note.message for note in run.notes) == 1


def test_where_nothing_else_is_there_it_is_looked_at(tmp_path: Path) -> None:
    run = read(tmp_path, b"x" * 300 + b"\n" + b"".join(evaluation(0)[1:]))
    assert run.timelines[0].measured_ns == 7000
    assert [note.kind for note in run.notes] == ["damaged"]


def test_a_rank_with_nothing_else_is_missing(tmp_path: Path) -> None:
    write(tmp_path, trained(4, world=2))
    write(tmp_path, [b"x" * 300 + b"\n", *evaluation(4, 50, rank=1)[1:]], 1)
    run = open_run_directory(tmp_path)
    assert run.ranks == (0,)
    assert {(note.kind, note.rank) for note in run.notes} == {("damaged", 1)}


@pytest.mark.skipif(not HAS_LOCKS, reason="no file locks here")
def test_what_is_being_recorded_is_the_evaluation_and_not_the_training(tmp_path: Path) -> None:
    write(tmp_path, [*trained(4, end=False), *evaluation(4, 50, end=False)])
    with (tmp_path / "rank00000.pts").open("ab") as file:
        flock(file.fileno(), LOCK_EX)
        run = open_run_directory(tmp_path)
        assert (run.live, run.evaluations[0].live) == (False, True)
        write(tmp_path, [*trained(4), *evaluation(4, 50), *trained(4, 60, step=4, end=False)])
        assert open_run_directory(tmp_path).live
        assert not open_run_directory(tmp_path, 0).live
    assert not open_run_directory(tmp_path).live

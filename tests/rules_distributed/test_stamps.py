from __future__ import annotations

import attrs
import numpy as np
import pytest

from pytscope.runs.run import Run
from pytscope.testing import make_run
from pytscope_rules_distributed.stamps import stamps
from tests.rules_distributed.made import MS, noise, ns, ranks_run


def own_of(run: Run, rank: int) -> np.ndarray:
    its = stamps(run.rank(rank))
    assert its is not None
    return its.own_ns[its.counts]


@pytest.mark.parametrize("meet", [False, True])
def test_own_time_is_what_the_rank_worked_between_two_releases(meet):
    own_ms = noise(4, 30, sd=0.1) * 20
    run = ranks_run(own_ms, meet_in_forward=meet)
    for rank in range(4):
        parts = {
            name: ns(own_ms[rank] * share)
            for name, share in {
                "data": 0.1,
                "forward": 0.3,
                "backward": 0.5,
                "optimizer": 0.1,
            }.items()
        }
        worked = parts["data"] + parts["forward"] + parts["backward"]
        worked[1:] += parts["optimizer"][:-1]
        assert (own_of(run, rank) == worked[1:]).all()


def test_comm_segments_say_the_same_as_columns():
    own_ms = noise(3, 20, sd=0.1) * 20
    with_columns = ranks_run(own_ms, inside="comm")
    without = ranks_run(own_ms, inside="comm", columns=False)
    for rank in range(3):
        assert (own_of(with_columns, rank) == own_of(without, rank)).all()
        its, other = stamps(with_columns.rank(rank)), stamps(without.rank(rank))
        assert (its.last_ns == other.last_ns).all()
        assert (its.segments, other.segments) == (False, True)


def test_earlier_comm_segments_are_taken_out():
    step = [("forward", 5), ("comm", 2), ("backward", 7), ("comm", 3), ("optimizer", 1)]
    its = stamps(make_run([step] * 4).timelines[0])
    assert its is not None
    assert (its.own_ns[its.counts] == 13 * MS).all()
    assert (its.blocked_ns == 2 * MS).all()
    assert (its.last_ns == 3 * MS).all()


def test_a_step_without_a_collective_joins_the_next_one():
    step = [("forward", 5), ("comm", 3), ("optimizer", 1)]
    alone = [("forward", 5), ("optimizer", 1)]
    its = stamps(make_run([step, alone, step, step]).timelines[0])
    assert its is not None
    assert its.rows.tolist() == [0, 2, 3]
    assert its.own_ns[its.counts].tolist() == [12 * MS, 6 * MS]


def test_the_first_step_of_an_attempt_has_no_release_before_it():
    own_ms = np.full((2, 20), 10.0)
    run = ranks_run(own_ms, attempts=[(0, 12), (12, 8)])
    its = stamps(run.rank(0))
    assert its is not None
    assert np.flatnonzero(~its.counts).tolist() == [0, 12]


def test_lost_records_in_between_leave_the_next_step_out():
    run = ranks_run(np.full((2, 20), 10.0))
    timeline = run.rank(0)
    keep = timeline.step != 7
    its = stamps(timeline.select(keep, timeline.attempts))
    assert its is not None
    assert np.flatnonzero(~its.counts).tolist() == [0, 7]


def test_impossible_stamps_are_passed_over():
    run = ranks_run(np.full((2, 20), 10.0))
    timeline = run.rank(0)
    rows, ready = timeline.column("extra", "dist.ready_ns")
    odd = ready.copy()
    odd[3], odd[5] = ready[3] * 10, -1
    columns = attrs.evolve(run).rank(0)._columns
    columns._cache["extra", "dist.ready_ns"] = (rows, odd)
    its = stamps(timeline)
    assert its is not None
    assert 3 not in its.rows
    assert 5 not in its.rows


@pytest.mark.parametrize(
    ("wrappers", "captured", "told"),
    [
        ([], [], True),
        (["DistributedDataParallel"], [], False),
        (["DistributedDataParallel"], ["comm", "sync"], False),
        (["DistributedDataParallel"], ["ddp", "comm", "sync"], True),
    ],
)
def test_segments_do_not_tell_where_a_wrapper_synchronises_beside_them(wrappers, captured, told):
    event = {"kind": "topology", "captured": captured}
    run = make_run({"forward": 10, "comm": 1}, last_attempt={"events": (event,)})
    environment = {"torch": {"parallelism": {"world": 4, "wrappers": wrappers}}}
    timeline = run.timelines[0]
    timeline.metadata = {"environment": environment}
    assert (stamps(timeline) is not None) == told


def test_nothing_recorded_is_nothing():
    assert stamps(make_run({"forward": 10, "backward": 20}).timelines[0]) is None

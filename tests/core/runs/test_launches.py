"""Matching attempts into launches."""

import random

import pytest

from pytscope.runs.launches import APART_NS, Launch, Start, last_chain, launches

S = 10**9


def start(rank, ordinal, at, step=0, length=10, launcher=None):
    return Start(rank, ordinal, int(at * S), int((at + length) * S), step, launcher)


def shape(found: list[Launch]) -> list[dict[int, int]]:
    return [{r: s.ordinal for r, s in sorted(launch.starts.items())} for launch in found]


def test_no_attempts_no_launches():
    assert launches([]) == []


def test_every_rank_takes_part_in_every_launch():
    starts = [start(r, k, 1000 * k + r) for r in range(5) for k in range(3)]
    random.Random(1).shuffle(starts)
    assert shape(launches(starts)) == [dict.fromkeys(range(5), k) for k in range(3)]


def test_ranks_that_start_at_the_same_instant():
    starts = [start(r, k, 0) for r in range(3) for k in range(2)]
    assert shape(launches(starts)) == [dict.fromkeys(range(3), k) for k in range(2)]


def test_a_rank_without_its_first_launch_is_matched_by_time():
    starts = [start(0, 0, 0), start(0, 1, 100), start(1, 0, 99.9), start(2, 0, 100.2)]
    assert shape(launches(starts)) == [{0: 0}, {0: 1, 1: 0, 2: 0}]


def test_a_rank_without_a_launch_in_the_middle():
    starts = [start(0, k, 100 * k) for k in range(3)]
    starts += [start(1, 0, 0.5), start(1, 1, 200.5)]
    assert shape(launches(starts)) == [{0: 0, 1: 0}, {0: 1}, {0: 2, 1: 1}]


def test_a_start_long_after_all_others_ended_is_another_launch():
    apart = APART_NS / S
    starts = [start(0, 0, 0), start(1, 0, apart + 11)]
    assert shape(launches(starts)) == [{0: 0}, {1: 0}]
    starts = [start(0, 0, 0), start(1, 0, apart - 11)]
    assert shape(launches(starts)) == [{0: 0, 1: 0}]


def test_a_job_that_runs_on_takes_ranks_that_come_late():
    starts = [start(0, 0, 0, length=10_000), start(1, 0, 5_000)]
    assert shape(launches(starts)) == [{0: 0, 1: 0}]


def test_within_a_rank_the_order_of_the_file_beats_its_clock():
    starts = [start(0, 0, 100), start(0, 1, 50), start(0, 2, 70)]
    assert shape(launches(starts)) == [{0: 0}, {0: 1}, {0: 2}]


def test_job_and_restart_count_decide_when_all_have_them():
    starts = [start(r, k, 100 * r + k, launcher=("j", k)) for r in range(3) for k in range(2)]
    assert shape(launches(starts)) == [dict.fromkeys(range(3), k) for k in range(2)]


def test_one_without_them_sends_all_by_the_clock():
    starts = [start(r, k, 1000 * k + r, launcher=("j", 0)) for r in range(2) for k in range(2)]
    starts.append(start(2, 0, 1001))
    assert shape(launches(starts)) == [{0: 0, 1: 0}, {0: 1, 1: 1, 2: 0}]


def test_a_job_started_twice_by_hand_is_two_launches():
    starts = [start(r, k, 100 * k + r, launcher=("none", 0)) for r in range(2) for k in range(2)]
    assert shape(launches(starts)) == [{0: 0, 1: 0}, {0: 1, 1: 1}]


@pytest.mark.parametrize(
    ("steps", "chain"),
    [
        ([0], [0]),
        ([0, 10, 20], [0, 1, 2]),
        ([0, 10, 10], [2]),
        ([0, 10, 5, 8], [2, 3]),
        ([5, 0, 10], [1, 2]),
        ([0, 10, 0], [2]),
    ],
)
def test_the_last_chain(steps, chain):
    found = [Launch({0: start(0, k, 100 * k, step)}) for k, step in enumerate(steps)]
    assert list(last_chain(found)) == chain


@pytest.mark.parametrize(
    ("steps", "restarts", "chain"),
    [
        ([0, 10, 10], [0, 1, 2], [0, 1, 2]),
        ([0, 10, 5, 8], [0, 1, 2, 3], [0, 1, 2, 3]),
        ([0, 10, 0], [0, 1, 2], [2]),
        ([0, 10, 10], [0, 1, 1], [2]),
        ([0, 10, 10], [0, 1, 0], [2]),
        ([0, 0, 10, 10], [0, 1, 2, 3], [1, 2, 3]),
        ([5, 10, 10, 5], [0, 1, 2, 3], [3]),
    ],
)
def test_a_job_that_its_launcher_restarted_resumes_again_from_one_checkpoint(
    steps, restarts, chain
):
    found = [
        Launch({0: start(0, k, 100 * k, step, launcher=("j", restart))})
        for k, (step, restart) in enumerate(zip(steps, restarts, strict=True))
    ]
    assert list(last_chain(found)) == chain


def test_another_job_is_no_restart():
    found = [
        Launch({0: start(0, k, 100 * k, step, launcher=(job, k))})
        for k, (step, job) in enumerate([(0, "a"), (10, "a"), (10, "b")])
    ]
    assert list(last_chain(found)) == [2]


def test_ranks_that_disagree_about_the_restart_do_not_decide():
    both = [
        Launch({r: start(r, k, 100 * k, step, launcher=("j", k + r)) for r in range(2)})
        for k, step in enumerate([0, 10, 10])
    ]
    assert list(last_chain(both)) == [2]

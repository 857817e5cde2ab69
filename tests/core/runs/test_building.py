"""Runs built in memory obey the laws of recorded ones."""

import numpy as np
import pytest

from pytscope.model.records import Flag
from pytscope.runs.building import make_run
from pytscope.runs.run import OpenState, ReadNote
from tests.core.runs.reading import attempt_wall_ns


def test_durations_become_exact_nanoseconds():
    run = make_run({"data": 1.5, "forward": [0.1, 0.2, 0.3]}, startup=[("other", 2)])
    timeline = run.timelines[0]
    assert timeline.phase_ns("forward").tolist() == [100_000, 200_000, 300_000]
    assert timeline.wall_ns.tolist() == [1_600_000, 1_700_000, 1_800_000]
    assert timeline.start_ns.tolist() == [2_000_000, 3_600_000, 5_300_000]
    assert timeline.segments(0) == (("data", 1_500_000), ("forward", 100_000))
    assert timeline.measured_ns == 2_000_000 + 5_100_000


def test_a_hundred_steps_unless_told():
    assert len(make_run({"data": 1}).timelines[0]) == 100
    assert len(make_run({"data": 1}, steps=7).timelines[0]) == 7
    assert len(make_run({"data": 1}, scalars={"loss": [1.0] * 9}).timelines[0]) == 9


@pytest.mark.parametrize(("unit", "ns"), [("ns", 3), ("us", 3e3), ("ms", 3e6), ("s", 3e9)])
def test_units(unit, ns):
    assert make_run({"data": 3}, unit=unit).timelines[0].wall_ns[0] == ns


def test_steps_as_segments_keep_their_order():
    steps = [
        [("data", 1), ("forward", 2), ("data", 3)],
        [("forward", 4), ("forward", 5), ("gc", 6)],
        [("gc", 1), ("data", 2), ("forward", 0)],
    ]
    timeline = make_run(steps, unit="ns").timelines[0]
    assert timeline.segments(0) == (("data", 1), ("forward", 2), ("data", 3))
    assert timeline.segments(1) == (("forward", 9), ("gc", 6))
    assert timeline.segments(2) == (("gc", 1), ("data", 2))
    assert timeline.phases == ("data", "forward", "gc")
    assert timeline.phase_ns("data").tolist() == [4, 0, 2]


def test_scalars_and_memory():
    run = make_run(
        {"data": 1},
        steps=3,
        scalars={"loss": [0.5, None, 0.25], "tokens": 512},
        memory={"alloc": [1, 2, 3]},
    )
    records = list(run.timelines[0].records())
    assert [r.scalars for r in records] == [
        {"loss": 0.5, "tokens": 512},
        {"tokens": 512},
        {"loss": 0.25, "tokens": 512},
    ]
    assert isinstance(records[0].scalars["tokens"], int)
    assert [r.memory_bytes["alloc"] for r in records] == [1, 2, 3]


def test_ranks():
    assert make_run({"data": 1}, ranks=3).ranks == (0, 1, 2)
    run = make_run({"data": 1, "forward": 2}, ranks={5: {}, 0: {"data": 9}}, unit="ns")
    assert (run.ranks, run.world_size) == ((0, 5), 6)
    assert run.rank(0).segments(0) == (("data", 9), ("forward", 2))
    assert run.rank(5).segments(0) == (("data", 1), ("forward", 2))
    run = make_run([[("data", 1)]], ranks={0: {}, 1: [[("comm", 7)]]}, world_size=9)
    assert run.rank(0).phases == ("data",)
    assert (run.rank(1).phases, run.world_size) == (("comm",), 9)


def test_attempts_flag_what_is_done_again():
    run = make_run(
        {"data": 1}, attempts=[(0, 6), (4, 6)], startup=[("other", 3)], finished=False, warmup=1
    )
    timeline = run.timelines[0]
    assert timeline.step.tolist() == [0, 1, 2, 3, 4, 5, 4, 5, 6, 7, 8, 9]
    assert timeline.step[timeline.has(Flag.REDONE)].tolist() == [4, 5]
    assert np.flatnonzero(timeline.has(Flag.WARMUP)).tolist() == [0, 6]
    assert [a.finished for a in timeline.attempts] == [True, False]
    assert [attempt_wall_ns(timeline, a) for a in timeline.attempts] == [9_000_000] * 2
    assert timeline.start_ns[6] == 3_000_000


def test_noise_is_reproducible_and_differs_by_rank():
    one, two = (make_run({"data": 10}, ranks=2, noise=0.1, seed=3) for _ in range(2))
    assert one.rank(0).wall_ns.tolist() == two.rank(0).wall_ns.tolist()
    assert one.rank(0).wall_ns.tolist() != one.rank(1).wall_ns.tolist()
    wall = make_run({"data": 10}, noise=0.1, steps=4000).timelines[0].wall_ns / 10e6
    assert wall.mean() == pytest.approx(1, abs=0.01)
    assert wall.std() == pytest.approx(0.1, abs=0.01)


def test_everything_else_is_passed_on():
    state = OpenState(5, 100, ("eval",))
    note = ReadNote("damaged", "x", 0)
    run = make_run(
        {"data": 1},
        name="n",
        config={"lr": 1},
        environment={"python": "3"},
        flops_per_step=2e12,
        peak_flops=3e14,
        micro_batches=4,
        first_step=10,
        flags={Flag.SKIPPED: [2]},
        last_attempt={"lost_ns": 5, "open_state": state, "events": ({"kind": "limit"},)},
        notes=[note],
    )
    timeline = run.timelines[0]
    assert (run.name, run.config, run.environment) == ("n", {"lr": 1}, {"python": "3"})
    assert (run.flops_per_step, run.peak_flops, run.notes) == (2e12, 3e14, (note,))
    assert (timeline.step[0], timeline.micro_batches[0]) == (10, 4)
    assert timeline.step[timeline.has(Flag.SKIPPED)].tolist() == [12]
    attempt = timeline.attempts[0]
    assert (attempt.lost_ns, attempt.open_state, attempt.first_step) == (5, state, 10)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"unit": "min"}, "unit 'min' is none of ns, us, ms, s"),
        ({"steps": 4, "scalars": {"x": [1, 2]}}, "different lengths: 2, 4"),
        ({"steps": 4, "attempts": [(0, 3)]}, "attempts of 3 steps in all, but there are 4"),
    ],
)
def test_contradictions_are_errors(more, message):
    with pytest.raises(ValueError, match=message):
        make_run({"data": 1}, **more)

"""A window of steps, and what goes with it."""

import attrs
import pytest

from pytscope.model.errors import NothingUsable, UsageError
from pytscope.runs.building import make_run
from pytscope.runs.run import Gap, OpenState
from pytscope.runs.window import windowed


def built(**more):
    more = {"startup": [("other", 7)], "shutdown": [("eval", 9)], "unit": "ns", **more}
    return make_run({"data": list(range(100, 150)), "forward": 1000}, **more)


@pytest.mark.parametrize(
    ("first", "last", "steps", "startup", "shutdown"),
    [
        (None, None, range(50), 7, 9),
        (None, 9, range(10), 7, 0),
        (40, None, range(40, 50), 0, 9),
        (3, 5, range(3, 6), 0, 0),
        (3, 3, range(3, 4), 0, 0),
        (-5, 500, range(50), 0, 0),
    ],
)
def test_both_ends_are_included(first, last, steps, startup, shutdown):
    run = windowed(built(), first, last)
    timeline = run.timelines[0]
    assert timeline.step.tolist() == list(steps)
    assert timeline.measured_ns == startup + shutdown + sum(1100 + i for i in steps)
    assert timeline.phase_ns("data").tolist() == [100 + i for i in steps]
    assert timeline.segments(0) == (("data", 100 + steps[0]), ("forward", 1000))
    assert run.window == (None if first is last is None else (first, last))


def test_what_is_lost_in_the_window_stays():
    gaps = (Gap(2, 3, 30), Gap(20, 1, 10))
    run = built(last_attempt={"gaps": gaps, "lost_ns": 40, "lost_steps": 4})
    for bounds, ns, steps in (((None, 10), 30, 3), ((10, None), 10, 1), ((3, 19), 0, 0)):
        attempt = windowed(run, *bounds).timelines[0].attempts[0]
        assert (attempt.lost_ns, attempt.lost_steps) == (ns, steps)


def test_where_it_was_open_goes_with_an_open_end():
    state = OpenState(5, 50, ("eval",))
    run = built(finished=False, last_attempt={"open_state": state})
    assert windowed(run, 5, None).timelines[0].attempts[0].open_state == state
    assert windowed(run, None, 40).timelines[0].attempts[0].open_state is None


def test_attempts_without_a_step_in_it_go():
    run = built(attempts=[(0, 20), (20, 30)], last_attempt={"downtime_ns": 5})
    assert [a.number for a in windowed(run, 25, None).timelines[0].attempts] == [1]
    assert [a.number for a in windowed(run, 15, 25).timelines[0].attempts] == [0, 1]
    assert windowed(run, 25, None).timelines[0].attempts[0].downtime_ns == 0
    assert windowed(run, 15, None).timelines[0].attempts[1].downtime_ns == 5


def test_a_rank_without_a_step_in_it_stays_with_none():
    run = built(ranks=2)
    short = run.timelines[1].select(run.timelines[1].step < 5, run.timelines[1].attempts)
    run = attrs.evolve(run, timelines=(run.timelines[0], short))
    cut = windowed(run, 10, 20)
    assert [len(t) for t in cut.timelines] == [11, 0]
    assert cut.timelines[1].measured_ns == 0


def test_a_window_that_ends_before_it_begins():
    with pytest.raises(UsageError, match="steps 5 to 3 ends before"):
        windowed(built(), 5, 3)


@pytest.mark.parametrize(("first", "last", "asked"), [(50, None, "50:"), (None, -1, ":-1")])
def test_a_window_without_a_step(first, last, asked):
    with pytest.raises(NothingUsable, match=f"no step is in {asked}; the run has steps 0 to 49"):
        windowed(built(), first, last)


def test_a_window_of_a_run_without_steps():
    with pytest.raises(NothingUsable, match="no step was recorded"):
        windowed(make_run({"data": []}), 0, 1)


def test_the_cost_of_recording_is_known_of_whole_attempts_alone():
    run = built(last_attempt={"overhead_ns": 500, "overhead_once_ns": 200, "writer_ns": 70})
    unknown = (None, 0, None)
    for bounds, cost in (
        ((None, 49), (500, 200, 70)),
        ((0, 49), (300, 0, 70)),  # without the start
        ((None, 48), unknown),
        ((7, 7), unknown),
    ):
        attempt = windowed(run, *bounds).timelines[0].attempts[0]
        assert (attempt.overhead_ns, attempt.overhead_once_ns, attempt.writer_ns) == cost

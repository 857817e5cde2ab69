"""COVERAGE.NOT_FINISHED."""

from __future__ import annotations

import attrs
import pytest

from pytscope.builtin.rules import not_finished
from pytscope.model.errors import NotApplicable
from pytscope.model.findings import Severity
from pytscope.runs.run import OpenState
from pytscope.testing import assert_abstains, assert_fires, assert_quiet, make_run

LATE = 10**15


def stopped(finished=False, ranks=1, **last):
    run = make_run({"forward": 10}, ranks=ranks, finished=finished, last_attempt=last)
    (finding,) = assert_fires(not_finished, run)
    return finding


def test_a_killed_run_says_that_it_did_not_finish_and_where():
    state = OpenState(5, 100, ("eval",), (("eval", 2_000_000_000),))
    finding = stopped(open_state=state)
    assert finding.title == "The run did not finish"
    assert "after step 99, in step 100, in eval for 2.00 s" in finding.detail
    assert finding.severity is Severity.MEDIUM
    assert finding.steps == ((100, 100),)
    assert finding.cost_s is None


def test_without_an_open_record_it_says_the_last_step():
    finding = stopped()
    assert "after step 99" in finding.detail
    assert finding.steps == ()


def test_a_hang_is_high_and_names_the_phase():
    state = OpenState(5, 100, ("comm",), (("comm", 90_000_000_000),))
    finding = stopped(open_state=state)
    assert finding.severity is Severity.HIGH
    assert "Look at comm on every rank" in finding.fix
    run = make_run({"forward": 10}, finished=False, last_attempt={"open_state": state})
    (longer,) = assert_fires(not_finished, run, hang_s=100.0)
    assert longer.severity is Severity.MEDIUM


@pytest.mark.parametrize("finished", [True, False])
def test_an_exception_that_ended_the_run_is_high(finished):
    event = {"kind": "exception", "t": LATE, "type": "OutOfMemoryError", "message": "CUDA"}
    finding = stopped(finished=finished, events=(event,))
    assert finding.title == "The run ended with OutOfMemoryError"
    assert finding.detail == "Ended by OutOfMemoryError: CUDA (step 100)."
    assert finding.severity is Severity.HIGH


def test_an_interrupt_by_hand_is_medium():
    event = {"kind": "exit", "t": LATE, "type": "KeyboardInterrupt"}
    assert stopped(events=(event,)).severity is Severity.MEDIUM


def test_a_process_that_left_by_itself_only_lacks_finish():
    event = {"kind": "exit", "t": LATE}
    finding = stopped(events=(event,))
    assert finding.title == "The run left without finish()"
    assert finding.detail.startswith("The process left by itself, last heard of after step 99")
    assert finding.severity is Severity.LOW
    assert "finish()" in finding.fix
    assert "memory" not in finding.fix


def test_ranks_are_named_and_many_are_summed_up():
    finding = stopped(ranks=6)
    assert finding.title == "6 of 6 ranks did not finish"
    assert "Rank 3:" in finding.detail
    assert "The same of 2 ranks more" in finding.detail
    assert finding.ranks == (0, 1, 2, 3, 4, 5)


def test_a_run_that_finished_is_quiet():
    assert_quiet(not_finished, make_run({"forward": 10}))
    event = {"kind": "exception", "t": 5, "type": "ValueError", "message": "caught"}
    assert_quiet(not_finished, make_run({"forward": 10}, last_attempt={"events": (event,)}))


def test_a_run_that_crashed_and_was_resumed_is_quiet():
    run = make_run({"forward": 10}, attempts=[(0, 30), (20, 40)])
    first, second = run.shown.attempts
    run.shown.attempts = (attrs.evolve(first, finished=False), second)
    assert_quiet(not_finished, run)


def test_a_live_run_is_not_asked():
    run = attrs.evolve(make_run({"forward": 10}, finished=False), live=True)
    assert "still recording" in assert_abstains(not_finished, run, NotApplicable)

"""The COVERAGE panel says what is missing in plain words."""

from __future__ import annotations

import attrs
import pytest

from pytscope.analyses import Coverage
from pytscope.builtin.analyzers import coverage
from pytscope.model.panels import Status, Table, Text
from pytscope.runs.run import OpenState, ReadNote
from pytscope.testing import make_run


def covered(**options) -> Coverage:
    made: Coverage = coverage(make_run({"forward": 10}, **options))
    return made


def texts(made: Coverage) -> str:
    return "\n".join(row.text for row in made.panel().rows if isinstance(row, Text))


def test_a_whole_run_is_ok_in_one_line():
    panel = covered().panel()
    assert panel.headline == "1 rank · 100 steps, 100 rated · finished"
    assert (panel.status, panel.rows) == (Status.OK, ())


def test_missing_ranks_are_named():
    made = covered(ranks=2, world_size=4)
    assert made.panel().headline.startswith("2 of 4 ranks · ")
    assert made.panel().status is Status.BAD
    assert "no records of ranks 2, 3" in texts(made)


def test_recording_rank_zero_alone_is_a_choice():
    made = attrs.evolve(covered(world_size=4), recorded="zero")
    assert made.panel().status is Status.OK
    assert "only rank 0 was set to record" in texts(made)


def test_a_killed_run_did_not_finish_and_says_where():
    state = OpenState(5, 100, ("eval",), (("eval", 9_000_000_000),))
    made = covered(finished=False, last_attempt={"open_state": state})
    assert made.panel().headline.endswith("did not finish")
    assert made.panel().status is Status.BAD
    assert "did not finish: last heard of after step 99, in step 100, in eval for 9.00 s" in texts(
        made
    )


def test_a_process_that_left_without_finish_is_no_crash():
    made = covered(ranks=2, finished=False, last_attempt={"events": ({"kind": "exit", "t": 5},)})
    panel = made.panel()
    assert panel.headline.endswith("left without finish()")
    assert panel.status is Status.WATCH
    assert "rank 0 left without finish(): last heard of after step 99" in texts(made)
    (table,) = [row for row in panel.rows if isinstance(row, Table)]
    assert [row[-1] for row in table.rows] == ["no finish()"] * 2


def test_a_live_run_is_still_recording():
    run = attrs.evolve(make_run({"forward": 10}, finished=False), live=True)
    panel = coverage(run).panel()
    assert panel.headline.endswith("still recording")
    assert panel.status is Status.OK


def test_an_exception_that_ended_the_run_is_told():
    event = {"kind": "exception", "t": 10**12, "type": "OSError", "message": "disk full"}
    made = covered(last_attempt={"events": (event,)})
    assert made.panel().headline.endswith("ended by an exception")
    assert texts(made) == "ended by OSError: disk full (step 100)"


def test_one_that_training_survived_is_told_as_such():
    event = {"kind": "exception", "t": 5, "type": "OSError", "message": ""}
    made = covered(last_attempt={"events": (event,)})
    assert "exception OSError (step 0)" in texts(made)
    assert made.panel().headline.endswith("finished")


def test_losses_are_told_with_time_and_bytes():
    lost = {"lost_ns": 5_000_000, "lost_steps": 2, "dropped_steps": 2, "damaged_bytes": 1}
    made = covered(last_attempt=lost)
    assert made.panel().status is Status.BAD
    assert "records lost: 2 steps, 5.00 ms; 2 dropped while writing, 1 byte unreadable" in texts(
        made
    )


@pytest.mark.parametrize(
    "change",
    [
        {"notes": (ReadNote("second_file", "a second file"),)},
        {"warnings": ("sync needs a sibling",)},
        {"damaged_bytes": 3},
        {"rated_steps": 5},
    ],
)
def test_small_matters_make_it_a_watch(change):
    made = attrs.evolve(covered(), **change)
    assert made.panel().status is Status.WATCH


def test_the_scope_is_told():
    run = make_run({"forward": 10}, attempts=[(0, 60), (50, 40)], warmup=3)
    run = attrs.evolve(run, window=(2, None), other_attempts=(7,))
    made = attrs.evolve(
        coverage(run), downtime_ns=4_000_000_000, overhead_ns_per_step=900.0, overhead_share=9e-5
    )
    said = texts(made)
    for line in (
        "6 warm-up steps left out of rates",
        "10 steps done again by a later attempt",
        "steps 2: asked for",
        "analysed: attempts 0, 1; not analysed: attempt 7",
        "4.00 s between attempts",
        "recording took at least 900 ns a step, 0.009% of wall",
    ):
        assert line in said


def test_what_recording_took_once_is_told_beside():
    cost = {"overhead_ns_per_step": 900.0, "overhead_once_ns": 80_000_000, "overhead_share": 0.02}
    said = texts(attrs.evolve(covered(), **cost))
    took = "recording took at least 900 ns a step and 80.0 ms at its start and end, 2% of wall"
    assert took in said


def test_many_warnings_are_cut_and_counted():
    made = attrs.evolve(covered(), warnings=tuple(f"w{i}" for i in range(20)))
    assert "warning: w7" in texts(made)
    assert "w8" not in texts(made)
    assert "and 12 more like it" in texts(made)


def test_several_ranks_have_a_table_unless_they_are_very_many():
    (table,) = [r for r in covered(ranks=2).panel().rows if isinstance(r, Table)]
    assert [row[0] for row in table.rows] == ["0", "1"]
    many = covered(ranks=17, steps=2).panel()
    assert not any(isinstance(r, Table) for r in many.rows)


def test_a_short_rank_is_nothing_to_call_ok():
    made = covered(ranks=2)
    shorter = attrs.evolve(made.ranks[1], steps=50, lacking_steps=50)
    panel = attrs.evolve(made, ranks=(made.ranks[0], shorter)).panel()
    assert panel.status is Status.WATCH

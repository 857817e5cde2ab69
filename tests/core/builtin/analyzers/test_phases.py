"""What an evaluation fetches from a loader of its own is its own time, not training's."""

from __future__ import annotations

import time

import pytscope
from pytscope import Profiler
from pytscope.builtin.analyzers import budget, timing
from pytscope.builtin.analyzers.phases import eval_fetches_ns, with_eval_fetches
from pytscope.builtin.rules import dataloader_bound, recoverable
from pytscope.testing import assert_quiet, make_run

TRAIN = [("data", 1), ("forward", 10), ("backward", 20)]
EVAL = [("eval", 1), ("data", 100), ("eval", 5), ("data", 100), ("eval", 5)]


def evaluated(every=10, steps=100):
    return make_run([[*EVAL, *TRAIN] if i % every == 0 else TRAIN for i in range(steps)])


def test_fetches_between_two_parts_of_eval_are_evals():
    run = evaluated()
    fetched = eval_fetches_ns(run.shown)
    assert fetched[::10].tolist() == [200_000_000] * 10
    assert fetched.sum() == 10 * 200_000_000
    made = timing(run)
    assert made.phase("data").total_ns == 100 * 1_000_000
    assert made.phase("eval").total_ns == 10 * 211_000_000
    assert sum(phase.total_ns for phase in made.phases.values()) == made.wall_ns
    assert set(made.training.values.tolist()) == {31_000_000}


def test_the_budget_counts_them_as_eval_too_and_still_sums_to_the_wall():
    run = evaluated()
    made = budget(run, ())
    assert made.ns("data_stall") == 100 * 1_000_000
    assert made.ns("eval") == 10 * 211_000_000
    assert sum(line.ns for line in made.lines) == made.wall_ns


def test_the_training_loader_is_not_blamed_for_them():
    run = evaluated()
    assert run.shown.phase_ns("data").sum() > 0.3 * run.shown.wall_ns.sum()
    assert_quiet(dataloader_bound, run)
    assert_quiet(recoverable, run)


def test_a_fetch_beside_an_evaluation_stays_trainings():
    before = [("data", 5), ("eval", 9), ("forward", 10)]
    after = [("eval", 9), ("data", 5), ("forward", 10)]
    for steps in ([before] * 20, [after] * 20):
        run = make_run(steps)
        assert not eval_fetches_ns(run.shown).any()
        assert timing(run).phase("data").total_ns == 20 * 5_000_000


def test_startup_and_shutdown_tell_them_apart_as_well():
    assert with_eval_fetches(EVAL) == [(name and "eval", ns) for name, ns in EVAL]
    run = make_run([TRAIN] * 20, shutdown=[*EVAL, ("other", 1)])
    assert budget(run, ()).ns("data_stall") == 20 * 1_000_000


def test_a_recorded_evaluation_with_a_wrapped_loader(tmp_path):
    prof = Profiler(tmp_path)
    prof.start()
    for i, _ in enumerate(prof.iter_data(range(12))):
        with prof.step():
            prof.mark("forward")
        if i % 4 == 3:
            with prof.phase("eval"):
                for _ in prof.iter_data(range(3)):
                    time.sleep(0.002)
    prof.finish()
    run = pytscope.open(tmp_path)
    assert eval_fetches_ns(run.shown)[4] > 0
    made = timing(run)
    assert sum(phase.total_ns for phase in made.phases.values()) == made.wall_ns
    shown = run.shown
    assert shown.segments_of(shown.step[:3]) == [shown.segments(i) for i in range(3)]

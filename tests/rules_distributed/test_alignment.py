from __future__ import annotations

import attrs
import numpy as np
import pytest

from pytscope.model.errors import Inconclusive, NotApplicable, NotMeasured
from pytscope.model.records import Flag
from pytscope.runs.run import Run, Timeline
from pytscope.runs.warmup import with_warmup
from pytscope.testing import make_run
from pytscope_rules_distributed.alignment import ranks
from tests.rules_distributed.made import noise, ranks_run


def cut(run: Run, rank: int, keep) -> Run:
    def each(timeline: Timeline) -> Timeline:
        mask = keep(timeline.step) if timeline.rank == rank else timeline.step >= 0
        return timeline.select(mask, timeline.attempts)

    return attrs.evolve(run, timelines=tuple(map(each, run.timelines)))


def test_ranks_stand_beside_each_other_step_by_step():
    found = ranks(ranks_run(noise(4, 50, sd=0.05) * 20))
    assert found.ranks == (0, 1, 2, 3)
    assert (found.steps, found.first_step, found.last_step) == (49, 1, 49)
    assert found.own.shape == (4, 49)
    assert found.said() == "all 4 ranks over 49 steps"
    assert not found.two
    assert found.wall_ns == found.longest_ns.values.sum()


def test_a_short_rank_is_left_out_and_named():
    run = cut(ranks_run(noise(4, 60, sd=0.05) * 20), 2, lambda step: step < 5)
    found = ranks(run)
    assert found.ranks == (0, 1, 3)
    assert [(one.rank, one.steps) for one in found.left_out] == [(2, 4)]
    assert found.steps == 59
    assert found.said() == "3 of 4 ranks over 59 steps"


def test_a_rank_that_stops_early_shortens_what_is_compared():
    found = ranks(cut(ranks_run(noise(4, 60, sd=0.05) * 20), 2, lambda step: step < 45))
    assert found.ranks == (0, 1, 2, 3)
    assert found.last_step == 44


def test_missing_ranks_are_known():
    run = ranks_run(noise(3, 30, sd=0.05) * 20, world_size=5)
    assert ranks(run).missing == (3, 4)


def test_steps_are_matched_by_number_over_attempts():
    run = ranks_run(noise(3, 60, sd=0.05) * 20, attempts=[(100, 40), (140, 20)])
    found = ranks(run)
    assert found.attempts == (0, 1)
    assert (found.first_step, found.last_step) == (101, 159)
    assert 140 not in found.step.values


def test_warm_up_of_any_rank_is_left_out_on_all():
    run = ranks_run(noise(3, 60, sd=0.05) * 20)
    flagged = run.timelines[1].with_flags(np.where(run.timelines[1].step < 10, int(Flag.WARMUP), 0))
    run = attrs.evolve(run, timelines=(run.timelines[0], flagged, run.timelines[2]))
    assert ranks(run).first_step == 10
    assert ranks(with_warmup(run, 25)).first_step == 25


def test_a_step_in_which_one_rank_evaluates_is_not_steady():
    evaluating = np.where(np.arange(60) % 20 == 10, 30.0, 0.0)
    found = ranks(ranks_run(noise(3, 60, sd=0.05) * 20, parts={0: {"eval": evaluating}}))
    unsteady = found.step.values[~found.steady_mask]
    assert unsteady.tolist() == [10, 11, 30, 31, 50, 51]
    assert found.steps == 59
    assert found.steady_steps == 53


def test_where_every_step_saves_all_are_steady():
    found = ranks(ranks_run(noise(3, 60, sd=0.05) * 20, parts={0: {"checkpoint": 1.0}}))
    assert found.steady_steps == found.steps


def test_clocks_that_disagree_are_measured():
    run = ranks_run(noise(4, 60, sd=0.05) * 20, skew_ns=[0, 0, 5_000_000, 0])
    clocks = ranks(run).clocks
    assert [clock.offset_ns for clock in clocks] == [0, 0, 5_000_000, 0]
    assert all(clock.residual_ns == 0 for clock in clocks)


def test_loads_count_where_all_ranks_log_them():
    tokens = np.full((3, 40), 512.0)
    found = ranks(ranks_run(noise(3, 40, sd=0.05) * 20, tokens=tokens))
    assert found.load_name == "tokens"
    assert (found.loads == 512).all()
    assert ranks(ranks_run(noise(3, 40, sd=0.05) * 20)).loads is None


def test_a_job_of_one_rank_has_nobody_to_wait_for():
    with pytest.raises(NotApplicable):
        ranks(make_run({"forward": 10, "comm": 1}))


def test_one_rank_of_several_cannot_be_compared():
    with pytest.raises(NotMeasured, match="distributed=True"):
        ranks(make_run({"forward": 10, "comm": 1}, world_size=4))


def test_without_stamps_it_says_how_to_get_them():
    with pytest.raises(NotMeasured, match=r"prof\.comm\(\)"):
        ranks(make_run({"forward": 10, "backward": 20}, ranks=4))


def test_a_rank_without_stamps_among_others_is_left_out():
    run = make_run({"forward": 10, "comm": 1}, ranks={0: {}, 1: {}, 2: {"comm": 0}})
    assert [(one.rank, one.why) for one in ranks(run).left_out] == [
        (2, "no stamps of its collectives")
    ]


def test_no_step_in_common_is_inconclusive():
    run = ranks_run(noise(2, 60, sd=0.05) * 20)
    run = cut(cut(run, 0, lambda step: step < 30), 1, lambda step: step >= 30)
    with pytest.raises(Inconclusive, match="none"):
        ranks(run)

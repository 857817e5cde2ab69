"""The phase in which a slow rank is slow, wherever the others wait for it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.rules_distributed.made import analysed, noise, ranks_run, said

PLACES = ("data", "forward", "backward", "other", "optimizer")


@pytest.mark.parametrize("phase", PLACES)
@pytest.mark.parametrize("inside", ["backward", "comm"])
@pytest.mark.parametrize("meet", [False, True])
def test_the_phase_is_found(phase, inside, meet):
    own = noise(4, 60, sd=0.03, seed=5) * 12
    for rank in (0, 2):
        run = ranks_run(own, parts={rank: {phase: 6.0}}, inside=inside, meet_in_forward=meet)
        report = analysed(run)
        (finding,) = said(report, "DIST.STRAGGLER")
        assert finding.ranks == (rank,)
        (slow,) = report.analyses["stragglers"].slow
        assert (slow.rank, slow.phase) == (rank, phase)
        assert slow.phase_part > 0.9
        assert f"mostly in {phase}" in finding.title


def test_waiting_that_the_recording_did_not_place_hides_no_wrong_phase():
    own = noise(4, 60, sd=0.03) * 12
    run = ranks_run(own, parts={2: {"backward": 6.0}})
    for timeline in run.timelines:
        names = dict(timeline._columns._names)
        kept = tuple(n for n in names["extra"] if not n.startswith("dist.in."))
        timeline._columns._names = {**names, "extra": kept}
    (finding,) = said(analysed(run), "DIST.STRAGGLER")
    assert finding.ranks == (2,)
    assert "mostly" not in finding.title


def test_slow_in_all_phases_alike_is_slow_in_none():
    own = noise(6, 60, sd=0.03) * 12
    own[3] *= 1.5
    parts = {r: {"data": 4.0, "h2d": 4.0, "loss": 4.0} for r in range(6)}
    parts[3] = dict.fromkeys(parts[3], 6.0)
    (slow,) = analysed(ranks_run(own, parts=parts)).analyses["stragglers"].slow
    assert (slow.rank, slow.phase) == (3, "")


def test_only_the_steps_of_an_episode_are_looked_at():
    own = noise(6, 200, sd=0.02) * 12
    late = np.where(np.arange(200) >= 120, 5.0, 0.0)
    early = np.where(np.arange(200) < 20, 30.0, 0.0)
    run = ranks_run(own, parts={1: {"data": late, "forward": early / 30}})
    (slow,) = analysed(run).analyses["stragglers"].slow
    assert (slow.rank, slow.phase, slow.persistent) == (1, "data", False)
    assert abs(slow.onset_step - 120) <= 2
    assert slow.last_step is None


def test_the_phase_that_is_longest_on_every_rank_is_no_place():
    own = noise(6, 60, sd=0.03) * 12
    own[3] *= 1.5
    (slow,) = analysed(ranks_run(own)).analyses["stragglers"].slow
    assert (slow.rank, slow.phase) == (3, "")

from __future__ import annotations

import numpy as np
import pytest

from pytscope.model.errors import Inconclusive, NotApplicable
from pytscope_rules_distributed.alignment import ranks
from pytscope_rules_distributed.stages import stages
from tests.rules_distributed.made import Matrix, analysed, noise, ranks_run, said


def piped(own: Matrix, stages_of: int):
    places = [{"pp": r * stages_of // len(own), "dp": 0} for r in range(len(own))]
    groups = [[r for r in range(len(own)) if places[r]["pp"] == s] for s in range(stages_of)]
    return ranks_run(own, places=places, groups=groups)


def test_a_stage_with_more_layers_is_named_and_no_rank_of_it():
    own = noise(8, 60, sd=0.02) * 20
    own[6:] *= 1.5
    report = analysed(piped(own, 4))
    (finding,) = said(report, "DIST.LOAD_IMBALANCE")
    assert finding.title.startswith("Stage 3 takes 1.5")
    assert finding.ranks == (6, 7)
    assert said(report, "DIST.STRAGGLER") == []


def test_of_two_stages_the_longer_one():
    own = noise(8, 60, sd=0.02) * 20
    own[4:] *= 1.4
    found = stages(ranks(piped(own, 2)))
    assert [stage.name for stage in found.slow] == ["stage 1"]
    assert found.slow[0].longer == pytest.approx(0.4, abs=0.03)


def test_an_even_pipeline_is_quiet():
    report = analysed(piped(noise(8, 60, sd=0.02) * 20, 4))
    assert said(report, "DIST.LOAD_IMBALANCE") == []
    assert report.analyses["stages"].slow == ()


def test_roles_are_no_stages():
    own = noise(4, 60, sd=0.02) * 20
    places = [{"pp": 0, "role": "actor"}, {"pp": 0, "role": "critic"}] * 2
    with pytest.raises(NotApplicable):
        stages(ranks(ranks_run(own, places=places)))
    with pytest.raises(NotApplicable):
        stages(ranks(ranks_run(own)))


def test_few_steps_are_too_few():
    with pytest.raises(Inconclusive):
        stages(ranks(piped(np.full((4, 15), 20.0), 2)))

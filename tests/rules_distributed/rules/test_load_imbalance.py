from __future__ import annotations

import numpy as np
import pytest

from pytscope.model.findings import Confidence
from tests.rules_distributed.made import analysed, noise, outcome, ranks_run, said

RULE = "DIST.LOAD_IMBALANCE"


def test_batches_that_differ_by_tokens_are_told_as_that():
    rng = np.random.default_rng(0)
    tokens = rng.integers(1500, 2500, (8, 100)).astype(float)
    own = noise(8, 100, sd=0.01) * 20 * tokens / 2000
    report = analysed(ranks_run(own, tokens=tokens))
    (finding,) = said(report, RULE)
    assert finding.confidence is Confidence.CONFIRMED
    assert finding.title.startswith("Batches differ between ranks")
    assert said(report, "DIST.STRAGGLER") == []


def test_without_tokens_it_is_a_guess():
    rng = np.random.default_rng(0)
    own = noise(8, 100, sd=0.01) * 20 * rng.uniform(0.7, 1.3, (8, 100))
    (finding,) = said(analysed(ranks_run(own)), RULE)
    assert finding.confidence is Confidence.SUGGESTIVE
    assert finding.title.startswith("Ranks differ from step to step")
    assert "log(tokens=...)" in finding.fix


def test_equal_tokens_make_it_no_guess():
    rng = np.random.default_rng(0)
    own = noise(8, 100, sd=0.01) * 20 * rng.uniform(0.7, 1.3, (8, 100))
    assert said(analysed(ranks_run(own, tokens=np.full((8, 100), 512.0))), RULE) == []


def test_spikes_are_no_uneven_batches():
    own = noise(8, 100, sd=0.02) * 20
    own[np.arange(100) % 8, np.arange(100)] *= np.where(np.arange(100) % 3 == 0, 6.0, 1.0)
    assert said(analysed(ranks_run(own)), RULE) == []


def test_even_work_passes():
    assert outcome(analysed(ranks_run(noise(8, 100, sd=0.03) * 20)), RULE) == ("passed", "")


def test_loads_that_never_vary_are_taken_as_proportional_and_that_is_said():
    tokens = np.full((8, 100), 500.0)
    tokens[2] = 700.0
    own = noise(8, 100, sd=0.02) * 20 * tokens / 500
    (finding,) = said(analysed(ranks_run(own, tokens=tokens)), RULE)
    assert "so time is taken as proportional to them" in finding.detail
    tokens = tokens * np.random.default_rng(0).uniform(0.95, 1.05, (8, 100))
    own = noise(8, 100, sd=0.02) * 20 * tokens / 500
    report = analysed(ranks_run(own, tokens=tokens))
    (finding,) = said(report, RULE)
    assert "time grows with their power" in finding.detail
    assert said(report, "DIST.STRAGGLER") == []


def test_a_rank_with_more_tokens_and_batches_that_differ_are_one_finding():
    rng = np.random.default_rng(5)
    tokens = rng.integers(2000, 6000, (8, 200)).astype(float)
    tokens[3] *= 1.3
    report = analysed(ranks_run(noise(8, 200, sd=0.02) * tokens / 100, tokens=tokens))
    (finding,) = said(report, RULE)
    assert finding.ranks == (3,)
    assert "Rank 3 has more to do than the others." in finding.detail
    assert finding.cost_s.value <= report.analyses["stragglers"].held_up_ns / 1e9
    assert report.folded[0].finding is finding
    assert said(report, "DIST.STRAGGLER") == []


@pytest.mark.parametrize("fixed", [0.3, 0.6, 0.8])
@pytest.mark.parametrize("more", [1.3, 2.0])
def test_time_that_tokens_do_not_move_makes_nobody_a_straggler(fixed, more):
    rng = np.random.default_rng(5)
    tokens = rng.integers(1000, 3000, (8, 200)).astype(float)
    tokens[3] *= more
    own = noise(8, 200, sd=0.02) * 40 * (fixed + (1 - fixed) * tokens / 2000)
    assert said(analysed(ranks_run(own, tokens=tokens)), "DIST.STRAGGLER") == []


def test_loads_that_never_vary_may_cost_their_square():
    tokens = np.full((8, 200), 4096.0)
    tokens[3] *= 1.5
    report = analysed(ranks_run(noise(8, 200, sd=0.02) * 20 * (tokens / 4096) ** 2, tokens=tokens))
    (finding,) = said(report, RULE)
    assert finding.confidence is Confidence.SUGGESTIVE
    assert "up to their square" in finding.detail
    assert said(report, "DIST.STRAGGLER") == []

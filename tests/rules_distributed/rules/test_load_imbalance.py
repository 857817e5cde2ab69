from __future__ import annotations

import numpy as np

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

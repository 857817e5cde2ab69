"""TIMING.GC_PAUSES fires on collections that take their share, of one rank or of all together."""

from __future__ import annotations

import pytest

from pytscope.builtin.rules.timing_gc_pauses import gc_pauses
from pytscope.model.errors import Inconclusive, NotMeasured
from pytscope.model.findings import Confidence, Severity
from pytscope.testing import assert_abstains, assert_fires, assert_quiet, make_run
from tests.core.builtin.rules.interrupted import REST, instrumented, sparse, watched_run

STEPS = 400


def pausing(every=20, ms=20.0, first=7, **options):
    phases = {"gc": sparse(STEPS, range(first, STEPS, every), ms)}
    return watched_run(phases, **{"noise": 0.05, **options})


def ranks(ms, every=100, *, apart=True, count=8):
    each = {
        r: {"gc": sparse(STEPS, range(5 + 11 * r * apart, STEPS, every), ms)} for r in range(count)
    }
    return watched_run(REST, ranks=each)


@pytest.mark.parametrize(
    "run", [pausing(ms=1), pausing(every=100, ms=8), watched_run({}, steps=50), pausing(200, 400)]
)
def test_collections_of_ordinary_length_are_quiet(run):
    assert_quiet(gc_pauses, run)


@pytest.mark.parametrize(
    ("ms", "severity"), [(12, Severity.LOW), (60, Severity.MEDIUM), (200, Severity.HIGH)]
)
def test_collections_that_take_their_share_are_found(ms, severity):
    (finding,) = assert_fires(gc_pauses, pausing(ms=ms, noise=0.0))
    assert finding.severity is severity
    assert finding.confidence is Confidence.CONFIRMED
    assert finding.cost_s.value == pytest.approx(20 * ms / 1e3)
    assert (
        finding.title == f"Garbage collection stops training, up to {ms}.0 ms at a time" or ms > 99
    )
    assert "one in every 20 hold a collection" in finding.detail
    assert finding.steps[0] == (7, 7)
    for part in ("gc.freeze()", "gc.disable()", "gc.collect()", "cycles"):
        assert part in finding.fix
    assert "all ranks" not in finding.fix


def test_the_longest_pause_is_one_collection_not_a_step_of_several():
    step = [("forward", 10.0), ("gc", 2.0), ("backward", 20.0), ("gc", 5.0)]
    plain = [("forward", 10.0), ("backward", 20.0)]
    run = watched_run([step if i % 5 == 0 else plain for i in range(200)])
    (finding,) = assert_fires(gc_pauses, run)
    assert any((e.metric, e.value) == ("longest pause", 5.0) for e in finding.evidence)


def test_one_long_pause_and_a_few_short_ones_are_none():
    gc = sparse(STEPS, range(7, STEPS, 20), 1.0)
    gc[100] = 5_000
    assert_quiet(gc_pauses, watched_run({"gc": gc}))


def test_ranks_that_pause_at_different_steps_hold_each_other_up():
    (finding,) = assert_fires(gc_pauses, ranks(30.0))
    assert finding.confidence is Confidence.SUGGESTIVE
    assert "8 ranks pause at different steps" in finding.detail
    assert finding.cost_s.value == pytest.approx(4 * 0.030)
    assert finding.cost_s.high == pytest.approx(8 * 4 * 0.030)
    assert finding.ranks == tuple(range(8))
    assert "on all ranks at the same step" in finding.fix
    assert_quiet(gc_pauses, ranks(30.0, apart=False))
    assert_quiet(gc_pauses, ranks(30.0, count=1))


def test_ranks_that_pause_together_cost_once():
    (finding,) = assert_fires(gc_pauses, ranks(30.0, 20, apart=False))
    assert finding.confidence is Confidence.CONFIRMED
    assert finding.cost_s.high is None
    assert "different steps" not in finding.detail


def test_other_ranks_that_are_not_recorded_are_remembered():
    (finding,) = assert_fires(gc_pauses, pausing(world_size=16))
    assert "The job has 16 ranks" in finding.detail


def test_it_accounts_for_the_jitter_it_is():
    (finding,) = assert_fires(gc_pauses, pausing(ms=60))
    assert finding.explains == ("EFFICIENCY.LOW_MFU", "EFFICIENCY.RECOVERABLE", "TIMING.JITTER")


def test_what_is_missing_is_said():
    assert "AutoProfiler" in assert_abstains(gc_pauses, make_run({"forward": 1}), NotMeasured)
    assert_abstains(gc_pauses, watched_run({}, instrumented(seams=["h2d"])), NotMeasured)
    assert_abstains(gc_pauses, watched_run({"gc": 5}, steps=19), Inconclusive)
    assert_quiet(gc_pauses, watched_run({}))
    assert_fires(gc_pauses, make_run({"forward": 10, "gc": 2}))


def test_thresholds_are_honoured():
    assert_quiet(gc_pauses, pausing(), min_share=0.1)
    assert_quiet(gc_pauses, pausing(), min_pauses=30)
    assert_fires(gc_pauses, pausing(ms=5), min_share=0.005)

"""TIMING.JITTER names slow steps, their period and their phase; and not one outlier."""

from __future__ import annotations

import numpy as np
import pytest

from pytscope.builtin.rules import jitter
from pytscope.model.errors import Inconclusive
from pytscope.model.findings import Confidence, Severity
from pytscope.testing import assert_abstains, assert_fires, assert_quiet, make_run

STEPS = 400
REST = {"data": 1, "forward": 6, "backward": 12, "optimizer": 1}


def fired(extra, noise=0.05, **options):
    run = make_run({**REST, **extra}, steps=STEPS, noise=noise, **options)
    (finding,) = assert_fires(jitter, run)
    return finding


def every(k, value, offset=0):
    return [value if i % k == offset else 0 for i in range(STEPS)]


def test_garbage_collection_every_25_steps_is_named_with_steps_period_and_phase():
    finding = fired({"gc": every(25, 60, 3)}, first_step=1000)
    assert finding.title == "One in every 25 steps is slow in gc"
    assert finding.steps[0] == (1003, 1003)
    assert len(finding.steps) == STEPS / 25
    assert "1003, 1028, 1053" in finding.detail
    assert "gc.freeze()" in finding.fix
    assert finding.confidence is Confidence.CONFIRMED


def test_the_cost_is_the_excess_over_the_surroundings():
    finding = fired({"gc": every(25, 60)}, noise=0.0)
    assert finding.cost_s.value == pytest.approx(16 * 60e-3, rel=1e-6)


def test_severity_follows_the_share():
    assert fired({"gc": every(25, 20)}).severity is Severity.LOW
    assert fired({"gc": every(25, 60)}).severity is Severity.MEDIUM
    assert fired({"gc": every(25, 300)}).severity is Severity.HIGH


def test_irregular_slow_steps_are_named_without_a_period():
    slow = [7, 20, 21, 100, 103, 178, 260, 391]
    finding = fired({"other": [200 if i in slow else 0 for i in range(STEPS)]})
    assert finding.title == "8 steps stand out as slow in other"
    assert "period" not in finding.detail
    assert sum(b - a + 1 for a, b in finding.steps) == 8
    assert 'phase("...")' in finding.fix


def test_how_slow_is_a_range_where_they_differ():
    slow = {20: 20, 103: 180, 260: 180}
    finding = fired({"other": [slow.get(i, 0) for i in range(STEPS)]}, noise=0.0)
    assert "took 2.0 to 10.0 times the median around them" in finding.detail


def test_two_phases_that_share_the_excess_are_both_named():
    slow = {20, 103, 178, 260}
    more = [60 if i in slow else 0 for i in range(STEPS)]
    finding = fired({"other": more, "data": [1 + 0.9 * ms for ms in more]}, noise=0.0)
    assert finding.title == "4 steps stand out as slow in other and data"
    assert "52.6% of the excess is in other, 47.4% in data." in finding.detail


def test_one_outlier_in_a_thousand_is_not_jitter_however_long():
    run = make_run({"forward": [23.0] * 500 + [2000.0] + [23.0] * 499}, noise=0.05)
    assert_quiet(jitter, run)


def test_two_outliers_are_not_either():
    forward = [23.0] * 1000
    forward[100] = forward[700] = 4000.0
    assert_quiet(jitter, make_run({"forward": forward}, noise=0.05))


def test_eval_checkpoints_logging_and_compiling_are_not_jitter():
    extra = {name: every(20, 500) for name in ("eval", "checkpoint", "log", "compile")}
    assert_quiet(jitter, make_run({**REST, **extra}, noise=0.05))


def test_slow_steps_beside_an_evaluation_say_so():
    finding = fired(
        {"eval": every(40, 500), "data": [60 if i % 40 == 0 else 1 for i in range(400)]}
    )
    assert "hold eval as well" in finding.detail
    assert "eval leaves behind" in finding.fix
    assert "in data" in finding.title


def test_compute_that_stretches_irregularly_is_only_suggested():
    rng = np.random.default_rng(1)
    factor = np.where(rng.random(STEPS) < 0.06, 2.5, 1.0)
    run = make_run({"forward": (6 * factor).tolist(), "backward": (12 * factor).tolist()})
    (finding,) = assert_fires(jitter, run)
    assert "in compute" in finding.title
    assert finding.confidence is Confidence.SUGGESTIVE
    assert "shapes" in finding.fix


def test_a_users_phase_is_named():
    finding = fired({"augment": every(30, 50)})
    assert "in augment" in finding.title
    assert "what augment does" in finding.fix


def test_drift_and_a_change_of_level_are_not_jitter():
    drift = np.linspace(10, 25, STEPS).tolist()
    level = [10.0] * 200 + [30.0] * 200
    assert_quiet(jitter, make_run({"forward": drift}, noise=0.05))
    assert_quiet(jitter, make_run({"forward": level}, noise=0.05))


def test_jitter_on_top_of_a_change_of_level_is_found():
    finding = fired({"forward": [6.0] * 200 + [30.0] * 200, "gc": every(20, 80)})
    assert finding.title.startswith("One in every 20 steps")


def test_steps_below_the_effect_floor_are_quiet_however_regular():
    run = make_run({"forward": 20, "gc": every(10, 8)}, noise=0.01)
    assert_quiet(jitter, run)
    assert_fires(jitter, run, min_ratio=1.2)


def test_too_little_in_all_is_quiet():
    run = make_run({"forward": 20, "gc": every(100, 25)}, noise=0.01)
    assert_quiet(jitter, run)
    assert_fires(jitter, run, min_share=0.005)


def test_too_few_steps_are_inconclusive():
    run = make_run({"forward": 10}, steps=19)
    assert "20 rated steps" in assert_abstains(jitter, run, Inconclusive)


def test_noise_that_hides_slow_steps_is_inconclusive_not_passed():
    run = make_run({"forward": 20}, steps=STEPS, noise=0.5)
    assert "times the median" in assert_abstains(jitter, run, Inconclusive)


def test_warm_up_and_redone_steps_do_not_count():
    forward = [400.0] * 10 + [20.0] * 390
    assert_quiet(jitter, make_run({"forward": forward}, warmup=10, noise=0.02))


def test_at_most_a_hundred_steps_are_named():
    run = make_run({"forward": 20, "gc": [60 if i % 4 == 0 else 0 for i in range(2000)]})
    (finding,) = assert_fires(jitter, run)
    assert sum(b - a + 1 for a, b in finding.steps) == 100
    assert any((e.metric, e.value) == ("slow steps", 500) for e in finding.evidence)


def test_slow_steps_that_are_the_largest_stall_account_for_recoverable():
    assert fired({"gc": every(25, 300)}).explains == ("EFFICIENCY.RECOVERABLE",)
    assert fired({"gc": every(25, 60), "comm": 10}).explains == ()


def test_it_abstains_where_recording_itself_is_a_notable_part():
    phases = {**REST, "gc": every(25, 300)}
    wall_ns = sum(map(sum, (every(25, 300), [20] * STEPS))) * 1_000_000
    for part, abstains in ((0.05, True), (0.005, False)):
        last = {"overhead_ns": int(part * wall_ns)}
        run = make_run(phases, steps=STEPS, noise=0.0, last_attempt=last)
        if abstains:
            assert_abstains(jitter, run, Inconclusive)
        else:
            assert_fires(jitter, run)


def test_what_recording_takes_once_is_nothing_to_the_steps():
    started = {"overhead_ns": 90_000_000, "overhead_once_ns": 90_000_000}
    assert_fires(
        jitter, make_run({**REST, "gc": every(25, 300)}, steps=STEPS, last_attempt=started)
    )


def test_slow_steps_in_a_sliver_of_the_run_are_low():
    times = [30.0 if i in (3, 11, 17, 20) else 1.0 for i in range(24)]
    (short,) = assert_fires(jitter, make_run({"forward": times}))
    assert short.severity is Severity.HIGH
    (sliver,) = assert_fires(jitter, make_run({"forward": times}, startup=[("other", 600_000)]))
    assert sliver.severity is Severity.LOW
    (tiny,) = assert_fires(jitter, make_run({"forward": times}, unit="us"))
    assert tiny.severity is Severity.LOW

"""MEMORY.GROWTH finds what is kept from step to step, says where, and is quiet on the rest."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pytscope
from pytscope.builtin.rules import memory_growth
from pytscope.model.errors import Inconclusive, NotMeasured
from pytscope.model.findings import Confidence, Severity
from pytscope.testing import assert_abstains, assert_fires, assert_quiet, make_run

MIB = 1 << 20
STEPS = 300
FLAT = [1024 * MIB] * STEPS


def growing(mib_a_step, start=1024, steps=STEPS):
    return [round((start + mib_a_step * i) * MIB) for i in range(steps)]


def run_of(memory, events=(), **options):
    steps = len(next(iter(memory.values())))
    last = {"events": tuple(events)}
    return make_run({"forward": 10}, steps=steps, memory=memory, last_attempt=last, **options)


def capacity(where, **values):
    return {"kind": "capacity", "where": where, **values}


def fired(memory, events=(), **options):
    (finding,) = assert_fires(memory_growth, run_of(memory, events, **options))
    return finding


def value(finding, metric):
    return next(e for e in finding.evidence if e.metric == metric)


def test_a_leak_on_the_device_is_found_with_its_rate_and_its_place():
    finding = fired({"allocated": growing(1.0), "reserved": [4096 * MIB] * STEPS, "rss": FLAT})
    assert finding.title == "Device memory grows by 1.00 MiB a step"
    assert "reserved does not" in finding.detail
    assert "rss does not" in finding.detail
    each = value(finding, "allocated, growth a step")
    assert (each.low, each.value, each.high) == pytest.approx((1024, 1024, 1024), rel=1e-3)
    assert finding.cost_s is None
    assert finding.steps == ((30, STEPS - 1),)
    assert finding.confidence is Confidence.CONFIRMED
    assert "detach()" in finding.fix


def test_the_rate_has_an_interval_that_holds_the_truth():
    rng = np.random.default_rng(0)
    noise = (rng.random(STEPS) * 20 * MIB).astype(int)
    memory = {"allocated": [m + int(n) for m, n in zip(growing(1.0), noise, strict=True)]}
    each = value(fired(memory), "allocated, growth a step")
    assert each.low < 1024 < each.high
    assert each.high - each.low < 0.2 * 1024


def test_a_leak_on_the_host_is_the_processs_own():
    finding = fired({"rss": growing(0.5), "anonymous": growing(0.5), "allocated": FLAT})
    assert finding.title == "Host memory of the process grows by 512 KiB a step"
    assert "allocated does not" in finding.detail
    assert "rss grows too" in finding.detail


def test_mapped_files_that_are_read_are_no_leak():
    assert_quiet(memory_growth, run_of({"rss": growing(1.0), "anonymous": FLAT}))


def test_resident_memory_alone_is_only_suggestive():
    assert fired({"rss": growing(1.0)}).confidence is Confidence.SUGGESTIVE


def test_a_leak_in_the_workers_is_theirs():
    sparse = [m if i % 5 == 0 else None for i, m in enumerate(growing(1.0))]
    finding = fired({"anonymous": FLAT, "workers_uss": sparse})
    assert finding.title == "Memory of the worker processes grows by 1.00 MiB a step"
    assert "persistent_workers" in finding.fix


def test_two_places_are_two_findings():
    run = run_of({"allocated": growing(1.0), "anonymous": growing(2.0)})
    assert len(assert_fires(memory_growth, run)) == 2


def test_a_cache_that_grows_alone_is_a_suggestion():
    memory = {"allocated": FLAT, "reserved": growing(4.0, start=2048)}
    finding = fired(memory)
    assert finding.title == "The allocator reserves 4.00 MiB more a step while tensors hold no more"
    assert (finding.severity, finding.confidence) == (Severity.LOW, Confidence.SUGGESTIVE)
    assert "expandable_segments" in finding.fix


def test_a_peak_is_never_looked_at():
    run = run_of({"allocated": FLAT, "peak": growing(4.0)})
    assert_quiet(memory_growth, run)
    assert "`allocated`" in assert_abstains(
        memory_growth, run_of({"peak": growing(4.0)}), NotMeasured
    )


def test_steps_to_out_of_memory_follow_from_the_capacity_of_the_device():
    total = (1024 + 300 + 6000) * MIB
    events = [capacity("device", name="NVIDIA X", total_bytes=total)]
    memory = {"allocated": growing(1.0), "peak": [m + MIB for m in growing(1.0)]}
    finding = fired(memory, events)
    assert value(finding, "steps to out of memory").value == pytest.approx(6000, rel=0.01)
    assert "after about 6,000 more steps" in finding.detail
    assert "NVIDIA X" in finding.detail
    assert finding.severity is Severity.HIGH


def test_room_on_the_host_counts_from_when_it_was_measured():
    memory = {"rss": growing(1.0), "anonymous": growing(1.0)}
    at_start = capacity("host", available_bytes=20_299 * MIB, rss_bytes=1024 * MIB)
    at_end = capacity("host", available_bytes=20_000 * MIB, rss_bytes=(1024 + 299) * MIB)
    for events in ([at_start], [at_start, at_end]):
        finding = fired(memory, events)
        assert value(finding, "steps to out of memory").value == pytest.approx(20_000, rel=0.01)
        assert finding.severity is Severity.MEDIUM


@pytest.mark.parametrize(
    ("room_mib", "severity"), [(5_000, "HIGH"), (500_000, "MEDIUM"), (5_000_000, "LOW")]
)
def test_severity_is_by_steps_to_out_of_memory(room_mib, severity):
    events = [capacity("device", total_bytes=room_mib * MIB)]
    assert fired({"allocated": growing(1.0)}, events).severity is Severity[severity]


def test_without_a_capacity_nothing_is_said_about_the_end():
    finding = fired({"allocated": growing(1.0)})
    assert finding.severity is Severity.MEDIUM
    assert "used up" not in finding.detail
    assert all("out of memory" not in e.metric for e in finding.evidence)


def test_a_slow_leak_over_a_long_run_is_found():
    memory = {"allocated": [(1 << 30) + 500_000 * i for i in range(100_000)]}
    finding = fired(memory, [capacity("device", total_bytes=80 << 30)])
    assert value(finding, "allocated, growth a step").value == pytest.approx(488.28, rel=1e-3)
    assert finding.severity is Severity.HIGH


@pytest.mark.parametrize(("steps", "ramp"), [(60, 6), (100, 12), (400, 45)])
def test_memory_that_fills_up_and_stays_is_no_leak(steps, ramp):
    held = [min(i, ramp) * 50 * MIB for i in range(steps)]
    assert_quiet(memory_growth, run_of({"allocated": held, "reserved": [1 << 30] * steps}))


def test_growth_that_comes_with_evaluation_says_so():
    held = [1024 * MIB + 20 * MIB * (i // 20) for i in range(STEPS)]
    run = make_run(
        {"forward": 10, "eval": [90 if i and i % 20 == 0 else 0 for i in range(STEPS)]},
        memory={"allocated": held},
    )
    (finding,) = assert_fires(memory_growth, run)
    assert "steps that hold eval" in finding.detail
    assert finding.fix.startswith("It comes with evaluation: reset metric states")


def test_growth_too_uneven_to_tell_from_chance_is_inconclusive():
    held = [1024 * MIB + (300 * MIB if i > 110 else 0) + 400 * i for i in range(STEPS)]
    held = [m + (300 * MIB if i > 200 else 0) for i, m in enumerate(held)]
    assert "unevenly" in assert_abstains(memory_growth, run_of({"allocated": held}), Inconclusive)


def test_too_few_steps_are_inconclusive():
    run = run_of({"allocated": growing(4.0, steps=43)})
    assert "24 samples after the first 20 steps" in assert_abstains(
        memory_growth, run, Inconclusive
    )
    assert_fires(memory_growth, run_of({"allocated": growing(4.0, steps=44)}))


def test_a_run_without_memory_is_not_measured():
    assert "collect_memory=True" in assert_abstains(
        memory_growth, make_run({"forward": 10}), NotMeasured
    )


def test_less_than_the_floors_is_quiet_until_they_are_lowered():
    run = run_of({"allocated": growing(0.05)})
    assert_quiet(memory_growth, run)
    assert_fires(memory_growth, run, min_growth_bytes=MIB)
    large = run_of({"allocated": growing(0.1, start=40_000)})
    assert_quiet(memory_growth, large)
    assert_fires(memory_growth, large, min_share=1e-4)


def test_a_leak_on_one_rank_of_several_names_it():
    run = make_run({"forward": 10}, ranks=3, memory={"allocated": growing(1.0)})
    (finding,) = assert_fires(memory_growth, run)
    assert finding.ranks == (0, 1, 2)
    assert "ranks 0, 1, 2" in finding.detail


def test_memory_begins_anew_with_each_attempt():
    held = growing(4.0, steps=100) + growing(0.0, steps=200)
    run = make_run({"forward": 10}, memory={"allocated": held}, attempts=[(0, 100), (80, 200)])
    assert_quiet(memory_growth, run)
    run = make_run({"forward": 10}, memory={"allocated": held}, attempts=[(0, 300)])
    assert_quiet(memory_growth, run)


def recorded_by_0_2(folder, memories):
    """A run as pytscope 0.2.x left it."""
    lines = [
        {"step": i, "timestamp": 1.7e9 + i, "phases": {"forward": 0.01}, "memory": memory}
        for i, memory in enumerate(memories)
    ]
    (folder / "steps.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "run.json").write_text(json.dumps({"name": "old", "rank": 0, "world_size": 1}))
    return pytscope.open(folder)


def test_runs_of_0_2_are_judged_by_what_they_recorded(tmp_path):
    ramp = [{"alloc": min(i, 6) * 100 * MIB, "reserved": 700 * MIB} for i in range(60)]
    assert_quiet(memory_growth, recorded_by_0_2(tmp_path, ramp))
    leak = [{"alloc": i * 100 * MIB, "peak_alloc": 9000 * MIB} for i in range(60)]
    assert_fires(memory_growth, recorded_by_0_2(tmp_path, leak))
    peaks = [{"peak_alloc": i * 100 * MIB} for i in range(60)]
    assert_abstains(memory_growth, recorded_by_0_2(tmp_path, peaks), NotMeasured)
    partial = [{"reserved": 700 * MIB}] * 30
    assert_abstains(memory_growth, recorded_by_0_2(tmp_path, partial), Inconclusive)
    assert_quiet(memory_growth, recorded_by_0_2(tmp_path, partial * 2))

"""The EFFICIENCY BUDGET panel, and what rules ask of a `Budget`."""

from __future__ import annotations

import attrs
import pytest

from pytscope.analyses import Budget
from pytscope.builtin.analyzers import budget
from pytscope.model.panels import Meter, Status, Text
from pytscope.testing import make_run

# 142 s: 38 % useful, 16 % overhead, 27 % data, 19 % communication
SEED = make_run(
    {"data": 27 * 14.2, "forward": 54 * 14.2, "comm": 19 * 14.2},
    steps=100,
    flops_per_step=0.38 * 1.42e12,
    peak_flops=1e12,
)


def made(run, parts=()) -> Budget:
    account: Budget = budget(run, parts)
    return account


def texts(account: Budget) -> list[str]:
    return [row.text for row in account.panel().rows if isinstance(row, Text)]


def test_the_headline_has_mfu_and_useful_compute_of_the_wall():
    assert made(SEED).panel().headline == "MFU 38.0% · useful compute 38.0% of 142.00 s wall"


def test_every_line_is_a_meter_of_one_group():
    meters = [r for r in made(SEED).panel().rows if isinstance(r, Meter)]
    assert [(m.label, m.value, m.note) for m in meters] == [
        ("useful_compute", "53.96 s", ""),
        ("compute_overhead", "22.72 s", "recoverable"),
        ("data_stall", "38.34 s", "recoverable"),
        ("communication", "26.98 s", "recoverable"),
        ("other", "0 ns", ""),
    ]
    assert sum(m.share for m in meters) == pytest.approx(1)
    assert {m.group for m in meters} == {"budget"}


def test_without_figures_the_headline_says_so_and_the_check_what_is_missing():
    account = made(make_run({"data": 3, "forward": 7}))
    assert account.panel().headline == "1.00 s wall · 30.0% recoverable · MFU not measured"
    assert not any("MFU" in text for text in texts(account))
    assert "FLOPs per step" in account.mfu_reason
    assert "peak FLOP/s" in account.mfu_reason
    known = made(make_run({"forward": 7}, flops_per_step=1e9)).mfu_reason
    assert known == "peak FLOP/s (--peak-tflops, or recorded as peak_flops)"


def test_unnamed_time_warm_up_and_no_rated_step_are_not_called_ok():
    named = {"forward": 10}
    assert made(make_run(named)).panel().status is Status.OK
    assert made(make_run({**named, "other": 17})).panel().status is Status.WATCH
    assert made(make_run(named, steps=40, warmup=25)).panel().status is Status.WATCH
    assert made(make_run(named, steps=9, warmup=9)).panel().status is Status.NOT_MEASURED


def test_communication_that_has_no_phase_does_not_read_as_measured():
    account = made(make_run({"forward": 1000, "comm": [0.1] + [0] * 99}, ranks=2))
    (meter,) = [r for r in account.panel().rows if getattr(r, "label", "") == "communication"]
    assert "not measured" in meter.note
    assert any("between ranks is not measured" in text for text in texts(account))
    measured = made(make_run({"forward": 10, "comm": 1}, ranks=2))
    assert not any("not measured" in text for text in texts(measured))


def test_recoverable_lines_are_ranked_and_stalls_leave_compute_out():
    account = made(SEED)
    names = ["data_stall", "communication", "compute_overhead"]
    assert [line.name for line in account.recoverable] == names
    assert [line.name for line in account.stalls] == names[:2]
    assert account.recoverable_share == pytest.approx(0.62)
    assert account.stall_share == pytest.approx(0.46)


@pytest.mark.parametrize(
    ("data", "status"), [(20, Status.OK), (25, Status.WATCH), (45, Status.BAD)]
)
def test_the_status_follows_what_is_recoverable_beyond_the_usual(data, status):
    assert made(make_run({"data": data, "forward": 100 - data})).panel().status is status


def test_the_status_is_bad_below_the_target_mfu_and_for_the_impossible():
    assert made(SEED).panel().status is Status.BAD
    run = make_run({"forward": 10}, flops_per_step=6e9, peak_flops=1e12)
    assert made(run).panel().status is Status.OK
    absurd = made(attrs.evolve(run, flops_per_step=1e18))
    assert absurd.panel().status is Status.BAD
    assert any(t.startswith("impossible: MFU of") and "Suspect:" in t for t in texts(absurd))


def test_notes_tell_ranks_downtime_and_what_is_not_wall():
    account = made(make_run({"forward": 10}, ranks=2))
    assert "rank 0 of 2 shown, the one of median wall" in texts(account)
    beside = attrs.evolve(account, downtime_ns=3_000_000_000, has_timeline=False, has_wall=False)
    assert "3.00 s between attempts, beside this wall" in texts(beside)
    assert any("recorded time, not wall" in t for t in texts(beside))


def test_an_absent_line_is_zero():
    account = made(SEED)
    assert (account.ns("eval"), account.share("eval")) == (0, 0.0)
    assert account.share("data_stall") == pytest.approx(0.27)


def test_an_empty_run_has_an_empty_budget():
    account = made(make_run({"forward": []}))
    assert account.wall_ns == 0
    assert (account.recoverable_share, account.stall_share, account.mfu) == (0.0, 0.0, None)
    assert account.panel().headline.startswith("0 ns wall")

"""TIMING.HOST_SYNC abstains, and says what it lacks."""

from __future__ import annotations

from pytscope.builtin.rules.timing_host_sync import host_sync
from pytscope.model.errors import NotApplicable, NotMeasured
from pytscope.testing import assert_abstains, make_run
from tests.core.builtin.rules.interrupted import instrumented, watched_run


def test_it_needs_the_clock_of_the_device():
    for run in (make_run({"forward": 5, "loss": 90}), watched_run({"loss": 90})):
        reason = assert_abstains(host_sync, run, NotMeasured)
        assert "device's own clock" in reason
        assert "set_sync_debug_mode" in reason


def test_where_there_is_no_device_nobody_waits_for_it():
    run = watched_run({"loss": 90}, instrumented(accelerator=""))
    assert "no accelerator" in assert_abstains(host_sync, run, NotApplicable)

"""The memory analysis: what was held where, its lower envelope, and the panel."""

from __future__ import annotations

import json

import attrs
import numpy as np
import pytest

from pytscope.analyses import Memory
from pytscope.analysis.orchestrator import analyze
from pytscope.builtin.analyzers import memory
from pytscope.builtin.analyzers.envelope import envelope
from pytscope.model.errors import NotMeasured
from pytscope.model.panels import Status, Table, Text
from pytscope.plugins.registry import load_registry
from pytscope.plugins.selection import PluginSelection
from pytscope.runs.run import Run
from pytscope.testing import make_run

MIB = 1 << 20
GROWING = [(100 + i) * MIB for i in range(100)]


def analysed(run: Run) -> Memory:
    found: Memory = memory(run)
    return found


def texts(of: Memory) -> str:
    return " ".join(row.text for row in of.panel().rows if isinstance(row, Text))


def test_the_envelope_is_the_smallest_value_in_each_sixth():
    step = np.arange(100, 160)
    values = np.array([7 + i // 10 if i % 5 else 1000 for i in range(60)])
    growth = envelope(step, values)
    assert growth is not None
    assert growth.minima == (7, 8, 9, 10, 11, 12)
    assert growth.per_step == pytest.approx(0.1)
    assert (growth.low, growth.high) == pytest.approx((0.1, 0.1))
    assert growth.concordance == 15
    assert (growth.first_step, growth.last_step) == (100, 159)


def test_the_slope_is_by_step_numbers_not_by_samples():
    step = np.arange(0, 600, 10)
    growth = envelope(step, step * 3)
    assert growth is not None
    assert growth.per_step == pytest.approx(3)


def test_a_series_that_does_not_move_has_no_growth():
    growth = envelope(np.arange(60), np.full(60, 5))
    assert growth is not None
    assert (growth.per_step, growth.late, growth.evenness, growth.concordance) == (0, 0, 0, 0)
    assert envelope(np.arange(23), np.arange(23)) is None


def test_columns_say_what_was_held_and_where():
    run = make_run({"forward": 1}, memory={"allocated": GROWING, "rss": 5 * MIB, "mine": 7})
    columns = analysed(run).shown.columns
    assert {c.name: c.place for c in columns.values()} == {
        "allocated": "device",
        "rss": "host",
        "mine": "other",
    }
    held = columns["allocated"]
    assert (held.first_bytes, held.last_bytes) == (100 * MIB, 199 * MIB)
    assert (held.low_bytes, held.high_bytes, held.values) == (100 * MIB, 199 * MIB, 100)
    assert held.growth is not None
    assert held.growth.per_step == pytest.approx(MIB)


def test_a_peak_has_no_growth():
    assert (
        analysed(make_run({"forward": 1}, memory={"peak": GROWING})).shown.columns["peak"].growth
        is None
    )


def test_the_start_of_an_attempt_is_left_out_of_growth():
    run = make_run({"forward": 1}, memory={"allocated": [0] * 40 + [5] * 360}, warmup=0)
    assert analysed(run).shown.left_out == 40
    assert analysed(run).shown.columns["allocated"].growth.concordance == 0
    run = make_run({"forward": 1}, memory={"allocated": GROWING}, warmup=50)
    assert analysed(run).shown.left_out == 50


def test_only_the_attempt_with_most_steps_is_looked_at():
    values = [1] * 30 + [2] * 60
    run = make_run({"forward": 1}, memory={"allocated": values}, attempts=[(0, 30), (20, 60)])
    shown = analysed(run).shown
    assert (shown.attempt, shown.steps) == (1, 60)
    assert shown.columns["allocated"].first_bytes == 2


def test_nothing_sampled_is_not_measured():
    with pytest.raises(NotMeasured, match="collect_memory=True, which needs pytscope-torch"):
        memory(make_run({"forward": 1}))
    there = attrs.evolve(
        make_run({"forward": 1}), environment={"packages": {"pytscope-torch": "0.3.0"}}
    )
    with pytest.raises(NotMeasured, match=r"collect_memory=True$"):
        memory(there)


def test_the_model_and_the_device_are_told():
    events = (
        {"kind": "capacity", "where": "device", "name": "NVIDIA X", "total_bytes": 1000 * MIB},
        {"kind": "model", "parameters": 1234567, "parameter_bytes": 4 * MIB, "gradient_bytes": 0},
    )
    run = make_run(
        {"forward": 1},
        memory={"allocated": 100 * MIB, "peak": 400 * MIB},
        last_attempt={"events": events},
    )
    found = analysed(run)
    assert found.shown.room_bytes == {"device": 600 * MIB}
    said = texts(found)
    assert "1,234,567 parameters · parameters 4.00 MiB · gradients 0 B" in said
    assert "device NVIDIA X" in said
    assert "600 MiB left on the device" in said
    assert "host memory not measured" in said


def test_what_is_missing_says_why():
    event = {"kind": "capacity", "where": "device", "missing": "no accelerator"}
    run = make_run({"forward": 1}, memory={"rss": 9 * MIB}, last_attempt={"events": (event,)})
    assert "device memory not measured: no accelerator" in texts(analysed(run))


def test_odd_events_of_others_do_no_harm():
    events = (
        {"kind": "capacity", "where": "device", "name": 7, "total_bytes": "much"},
        {"kind": "capacity", "where": "host", "available_bytes": -1, "rss_bytes": True},
        {"kind": "capacity"},
        {"kind": "model", "parameters": 1.5, "parameter_bytes": None},
    )
    memories = {"allocated": 9, "rss": 9}
    shown = analysed(
        make_run({"forward": 1}, memory=memories, last_attempt={"events": events})
    ).shown
    assert (shown.device, dict(shown.room_bytes), dict(shown.model)) == ("", {}, {})


def test_the_panel_says_what_is_held_and_whether_it_grows():
    panel = analysed(make_run({"forward": 1}, memory={"allocated": GROWING, "rss": MIB})).panel()
    assert panel.headline == "device 199 MiB · host 1.00 MiB after the last step   (device grows)"
    assert panel.status is Status.WATCH
    (table,) = (row for row in panel.rows if isinstance(row, Table))
    assert table.rows[0][-1] == "1.00 MiB"
    quiet = analysed(make_run({"forward": 1}, memory={"mine": 5})).panel()
    assert (quiet.headline, quiet.status) == ("mine 5 B after the last step", Status.OK)


def test_ranks_are_in_json_up_to_64_and_three_of_more():
    registry = load_registry(PluginSelection(autoload=False))
    for ranks, listed in ((2, 2), (65, 3)):
        run = make_run({"forward": 1}, ranks=ranks, steps=50, memory={"rss": 5})
        document = json.loads(analyze(run, registry).to_json())["analyses"]["memory"]
        assert len(document["ranks"]) == listed
        assert document["shown"]["columns"]["rss"]["last_bytes"] == 5
        assert "each" not in document["shown"]["columns"]["rss"]

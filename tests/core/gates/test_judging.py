from __future__ import annotations

import attrs
import pytest

from pytscope.gates.baseline import Baseline, baseline_of, read_baseline
from pytscope.gates.demands import demand
from pytscope.gates.judging import Against, Written, judged
from pytscope.model.errors import UsageError
from pytscope.model.findings import Severity
from pytscope.model.gate import Place, Standing
from pytscope.model.panels import Status, Table, Text
from pytscope.testing import make_run
from tests.core.gates.made import PLAIN, gate, words

VOCABULARY = words(PLAIN)
BASE = Baseline(metrics={"step_ms.median": 80.0, "data.share": 0.0})


def judge(text, baseline=None, *, updating=False):
    return judged(Written(demand(text)), VOCABULARY, Against(baseline, updating))


@pytest.mark.parametrize(
    ("text", "standing"),
    [
        ("step_ms.median <= 120", Standing.PASSED),
        ("step_ms.median <= 100 ms", Standing.PASSED),
        ("step_ms.median < 100", Standing.FAILED),
        ("step_ms.median <= 0.05 s", Standing.FAILED),
        ("data.share <= 30%", Standing.PASSED),
        ("data.share <= 0.2", Standing.FAILED),
        ("loss.last <= 2.5", Standing.PASSED),
        ("mfu >= 0.35", Standing.NOT_MEASURED),
        ("mfu >= 0.35 if measured", Standing.SKIPPED),
        ("data.share <= 20% if measured", Standing.FAILED),
    ],
)
def test_absolute_budgets(text, standing):
    found = judge(text)
    assert found.standing is standing
    assert found.fails is (standing in (Standing.FAILED, Standing.NOT_MEASURED))


def test_what_a_failed_budget_says():
    found = judge("data.share <= 20%")
    assert (found.value, found.limit, found.unit) == (pytest.approx(0.3), 0.2, "share")
    assert found.reason == "30% is not <= 20%"


@pytest.mark.parametrize(
    ("text", "standing", "limit"),
    [
        ("step_ms.median <= 1.1 * baseline", Standing.FAILED, 88),
        ("step_ms.median <= 1.25 * baseline", Standing.PASSED, 100),
        ("step_ms.median <= baseline + 20 ms", Standing.PASSED, 100),
        ("step_ms.median <= 0.5 * baseline + 30", Standing.FAILED, 70),
        ("data.share <= baseline", Standing.FAILED, 0),
        ("data.share <= baseline + 0.3", Standing.PASSED, 0.3),
        ("forward.share <= baseline", Standing.NOT_MEASURED, None),
        ("forward.share <= baseline if measured", Standing.SKIPPED, None),
        ("mfu >= baseline", Standing.NOT_MEASURED, None),
    ],
)
def test_budgets_relative_to_the_baseline(text, standing, limit):
    found = judge(text, BASE)
    assert found.standing is standing
    assert found.limit == (None if limit is None else pytest.approx(limit))


def test_every_run_is_as_good_as_the_baseline_that_it_makes():
    run = make_run({"data": 3, "forward": 10}, noise=0.3, steps=70, scalars={"loss": 1 / 3})
    made = baseline_of(words(run), [])
    for op in ("<=", ">=", "=="):
        asked = (f"{name} {op} baseline" for name in made.metrics)
        assert gate(run, *asked, baseline=read_baseline(made.text())).passed


def test_what_changed_since_the_baseline_is_told():
    found = judge("step_ms.median <= 1.1 * baseline", BASE)
    assert "25.0% above the baseline's 80 ms" in found.reason
    assert found.baseline == 80


@pytest.mark.parametrize("value", [0, -2])
def test_a_change_is_no_percentage_of_what_is_not_above_zero(value):
    base = attrs.evolve(BASE, metrics={"loss.last": float(value)})
    found = judge("loss.last <= baseline", base)
    assert found.standing is Standing.FAILED
    assert found.reason == f"2.5 is not <= {value}"


def test_a_run_that_becomes_the_baseline_is_not_held_against_one():
    found = judge("step_ms.median <= 1.1 * baseline", BASE, updating=True)
    assert (found.standing, found.fails) == (Standing.NOT_JUDGED, False)
    assert judge("data.share <= 20%", BASE, updating=True).fails


def test_a_limit_within_the_interval_of_the_run_is_called_close():
    run = make_run({"forward": 100}, noise=0.2, steps=60)
    median = words(run).metric("step_ms.median").read()
    near = f"step_ms.median <= {(median.value + median.high) / 2:.6f}"
    (found,) = gate(run, near).judged
    assert found.standing is Standing.PASSED
    assert "close: the limit lies within the 95% interval" in found.reason
    (far,) = gate(run, "step_ms.median <= 500").judged
    assert far.reason == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("step_ms.medain <= 3", "did you mean 'step_ms.median'"),
        ("step_ms.median <= 20%", "'%' does not fit"),
        ("mfu >= 3 ms", "'ms' does not fit"),
        ("mfu >= baseline", "needs a baseline"),
    ],
)
def test_what_cannot_be_judged_whatever_the_run_is_a_usage_error(text, said):
    place = Place("pyproject.toml", 7)
    with pytest.raises(UsageError, match=r"pyproject\.toml:7: ") as caught:
        judged(Written(demand(text), place), VOCABULARY, Against())
    assert said in str(caught.value)
    assert bool(caught.value.hint) is ("does not fit" not in said)


@pytest.mark.parametrize("limit", ["1e300 * baseline", "baseline + 1e308"])
def test_a_limit_that_is_no_number_keeps_nothing(limit):
    base = attrs.evolve(BASE, metrics={"loss.last": 1.7e308})
    with pytest.raises(UsageError, match=r"with a baseline of 1\.7e\+308 its limit is no number"):
        judge(f"loss.last <= {limit}", base)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("0 < data.share <= 20%", "a budget for each"),
        ("step_ms.median <= 120 and mfu >= 0.3", "a budget for each"),
        ("data <= 20%", "data.share, data_ms.mean, data_ms.median"),
        ("findings.TIMING == 0", "findings.TIMING.BACKWARD_HEAVY"),
        ("analyses.timing.mean <= 3", "analyses.timing.mean_ns"),
        ("analyses.timing <= 3", "analyses.timing."),
    ],
)
def test_what_an_unknown_metric_can_have_been_meant_as(text, hint):
    with pytest.raises(UsageError, match="unknown metric") as caught:
        judge(text)
    assert hint in caught.value.hint


def test_fail_on_is_a_budget_of_its_own():
    severities = [f.severity for f in VOCABULARY.facts.report.findings]
    for severity in Severity:
        found = gate(PLAIN, fail_on=severity).judged[-1]
        assert found.value == sum(s.order <= severity.order for s in severities)
        assert found.standing is Standing.FAILED
        assert "TIMING.DATALOADER_BOUND" in found.reason
    quiet = gate(make_run({"forward": 10, "data": 0.1}), fail_on=Severity.HIGH)
    assert quiet.passed
    assert quiet.judged[-1].budget == "fail-on high"


def test_the_gate_fails_when_one_budget_does():
    kept, missed = "step_ms.median <= 120", "data.share <= 20%"
    assert gate(PLAIN, kept).passed
    assert not gate(PLAIN, kept, missed).passed
    assert not gate(PLAIN, kept, "mfu >= 0.1").passed
    assert gate(PLAIN, kept, "mfu >= 0.1 if measured").passed


def test_the_panel_has_a_row_a_budget_and_says_why():
    made = gate(PLAIN, "step_ms.median <= 120", "data.share <= 20%", "mfu >= 1% if measured")
    panel = made.panel
    assert panel.status is Status.BAD
    assert panel.headline == "failed: 3 budgets, 1 passed · 1 failed · 1 skipped"
    (table,) = (row for row in panel.rows if isinstance(row, Table))
    assert [row[0] for row in table.rows] == ["passed", "failed", "skipped"]
    assert table.rows[1][1:] == ("data.share <= 20%", "30%", "20%")
    said = [row.text for row in panel.rows if isinstance(row, Text)]
    assert said[0] == "data.share: 30% is not <= 20%"
    assert said[1].startswith("mfu: not measured: it needs FLOPs")
    assert gate(PLAIN, "step_ms.median <= 120").panel.status is Status.OK


def test_a_baseline_of_another_machine_is_said():
    run = attrs.evolve(PLAIN, environment={"python": "3.12.1", "torch": {"version": "2.13.0"}})
    base = attrs.evolve(BASE, made_with={"python": "3.12.1", "torch": "2.9.0", "device": "A100"})
    made = gate(run, "step_ms.median <= 2 * baseline", baseline=base)
    assert made.notes == ("the baseline was made with torch 2.9.0, this run with torch 2.13.0",)
    assert made.panel.rows[-1] == Text(made.notes[0])
    assert gate(run, "step_ms.median <= 200", baseline=base).notes == ()


def test_a_baseline_of_another_version_is_said():
    base = attrs.evolve(BASE, tool_version="9.0.0")
    (note,) = gate(PLAIN, "step_ms.median <= 2 * baseline", baseline=base).notes
    assert note.startswith("the baseline was written by pytscope-core 9.0.0, this is ")
    assert gate(PLAIN, "step_ms.median <= 200", baseline=base).notes == ()


def test_the_rank_that_times_are_of_is_said_where_there_are_several():
    ranks = make_run({"forward": 9}, ranks={0: {}, 1: {"data": 5}, 2: {"data": 9}})
    made = gate(ranks, "step_ms.median <= 200", baseline=BASE)
    assert made.notes == ("times and shares are of rank 1, one of 3: that of median wall",)
    assert gate(PLAIN, "step_ms.median <= 200").notes == ()
    one = baseline_of(words(PLAIN), [])
    held = gate(ranks, "step_ms.median <= baseline", baseline=one)
    assert held.notes[0] == "the baseline was made with 1 rank, this run with 3 ranks"

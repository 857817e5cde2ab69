from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytscope.gates.baseline import (
    Baseline,
    NotABaseline,
    baseline_of,
    made_with,
    read_baseline,
)
from pytscope.runs.run import Run
from pytscope.testing import make_run
from tests.core.gates.made import PLAIN, words


def test_what_is_written_is_read_again():
    made = baseline_of(words(PLAIN), ["analyses.timing.steps"])
    assert made.metrics["step_ms.median"] == pytest.approx(100)
    assert made.metrics["analyses.timing.steps"] == 100
    assert "mfu" not in made.metrics
    again = read_baseline(made.text())
    assert again.metrics == made.metrics
    assert (again.run, again.tool_version) == ("test", made.tool_version)
    assert again.text() == made.text()


def test_it_holds_no_time_and_no_path():
    text = baseline_of(words(PLAIN), []).text()
    assert "/" not in text.replace("pytscope.baseline/1", "").replace("val/", "")
    assert "epoch" not in text
    assert list(json.loads(text)["metrics"]) == sorted(json.loads(text)["metrics"])


def test_values_that_are_not_finite_stay_out():
    run = make_run({"forward": 9}, scalars={"loss": [float("nan")] * 100})
    made = baseline_of(words(run), [])
    assert "loss.last" not in made.metrics
    assert json.loads(made.text())


def test_what_it_was_made_with():
    devices = [{"name": "A100", "current": True}, {"name": "T4"}]
    run: Run = make_run(
        {"forward": 9},
        environment={"python": "3.12", "torch": {"version": "2.13", "devices": devices}},
    )
    found = made_with(words(run).facts.report.run)
    assert found == {"python": "3.12", "torch": "2.13", "device": "A100", "ranks": "1"}


@pytest.mark.parametrize(
    "odd", [{"python": 3}, {"torch": "2.13"}, {"torch": {"version": 2, "devices": "A100"}}]
)
def test_odd_provenance_is_left_out(odd):
    run = make_run({"forward": 9}, environment=odd)
    assert made_with(words(run).facts.report.run) == {"ranks": "1"}


GOOD = Baseline(metrics={"a": 1.5}).text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "its schema is not"),
        ('{"metrics": {}}', "its schema is not"),
        (GOOD.replace("baseline/1", "baseline/2"), "but 'pytscope.baseline/2'"),
        (GOOD.replace("metrics", "metrix"), "it has no 'metrics'"),
        (GOOD.replace("1.5", '"1.5"'), "value of 'a' is not a finite number"),
        (GOOD.replace("1.5", "true"), "value of 'a'"),
        (GOOD.replace("1.5", "NaN"), "value of 'a'"),
        (GOOD.replace("1.5", "1" + "0" * 400), "value of 'a'"),
        (GOOD.replace('{\n    "a": 1.5\n  }', "[]"), "'metrics' is not an object"),
    ],
)
def test_what_is_no_baseline_is_said(text, said):
    with pytest.raises(NotABaseline, match=said):
        read_baseline(text)


@given(st.dictionaries(st.text(max_size=9), st.floats(allow_nan=False, allow_infinity=False)))
def test_any_finite_values_survive(metrics):
    again = read_baseline(Baseline(metrics=metrics).text())
    assert again.metrics == metrics

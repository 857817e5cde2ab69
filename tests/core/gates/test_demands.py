from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytscope.gates.demands import Demand, demand


@pytest.mark.parametrize(
    ("text", "metric", "op", "factor", "amount", "unit"),
    [
        ("step_ms.median <= 120", "step_ms.median", "<=", None, 120, ""),
        ("step_ms.median<=120ms", "step_ms.median", "<=", None, 120, "ms"),
        ("  data.share   <  20% ", "data.share", "<", None, 20, "%"),
        ("findings.high == 0", "findings.high", "==", None, 0, ""),
        ("mfu >= baseline", "mfu", ">=", 1, 0, ""),
        ("step_ms.median <= 1.1 * baseline", "step_ms.median", "<=", 1.1, 0, ""),
        ("step_ms.median <= baseline*1.1", "step_ms.median", "<=", 1.1, 0, ""),
        ("mfu >= baseline - 0.02", "mfu", ">=", 1, -0.02, ""),
        ("step_ms.p95 <= 2*baseline+5 ms", "step_ms.p95", "<=", 2, 5, "ms"),
        ("scalar.val/loss.last <= 2.5", "scalar.val/loss.last", "<=", None, 2.5, ""),
        ("phase.my own phase.share > 1%", "phase.my own phase.share", ">", None, 1, "%"),
        ("phase.a<b>=c.share <= 1%", "phase.a<b>=c.share", "<=", None, 1, "%"),
        ("phase.h2d->gpu_ms.median < 3", "phase.h2d->gpu_ms.median", "<", None, 3, ""),
        ("phase.1.share <= 1", "phase.1.share", "<=", None, 1, ""),
        ("step_ms.p95 \u2264 1.2e2", "step_ms.p95", "<=", None, 120, ""),
        ("mfu\u226535%", "mfu", ">=", None, 35, "%"),
    ],
)
def test_what_budgets_say(text, metric, op, factor, amount, unit):
    found = demand(text)
    assert (found.metric, found.op, found.factor) == (metric, op, factor)
    assert (found.amount, found.unit, found.optional) == (amount, unit, False)
    assert found.relative is (factor is not None)


def test_if_measured_makes_it_optional():
    found = demand("mfu >= 0.35  if  measured")
    assert found.optional
    assert (found.metric, found.amount) == ("mfu", 0.35)
    assert found.text == "mfu >= 0.35 if measured"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not METRIC"),
        ("step_ms.median", "is not METRIC"),
        ("<= 3", "is not METRIC"),
        ("a <=", "is not METRIC"),
        ("a = 3", "is not METRIC"),
        ("a != 3", "is not METRIC"),
        ("a <== 3", "compares with"),
        ("a <= 1e999", "is not a number"),
        ("a <= 1e999 * baseline", "too large for a number"),
        ("a <= 120\u00d7baseline", "the limit must be"),
        ("a << 3", "compares with '<<'"),
        ("a => 3", "compares with '=>'"),
        ("a =< 3", "compares with '=<'"),
        ("a <> 3", "compares with '<>'"),
        ("a === 3", "compares with '==='"),
        ("a !== 3", "compares with '!=='"),
        ("120 >= step_ms.median", "begins with its limit"),
        ("20% >= data.share", "begins with its limit"),
        ("a <= fast", "'fast' is not a number"),
        ("a <= nan", "is not a number"),
        ("a <= 1 * baseline * 2", "must be 'F"),
        ("a <= baseline / 2", "must be 'F"),
        ("a <= my_baseline", "must be 'F"),
        ("a <= baseline + 10%", "write '1.1 * baseline'"),
        ("a >= baseline - 5%", "write '0.95 * baseline'"),
        ("a <= baseline + 2%", "or 'baseline . 0.02' for percentage points"),
        ("a <= baseline + much", "is not a number"),
    ],
)
def test_what_is_no_budget_is_said(text, said):
    with pytest.raises(ValueError, match=said.replace("*", r"\*")):
        demand(text)


@pytest.mark.parametrize(
    ("op", "below", "equal", "above"),
    [
        ("<=", True, True, False),
        (">=", False, True, True),
        ("<", True, False, False),
        (">", False, False, True),
        ("==", False, True, False),
    ],
)
def test_operators(op, below, equal, above):
    made = Demand(text="", metric="", op=op)
    assert [made.holds(v, 2.0) for v in (1.0, 2.0, 3.0)] == [below, equal, above]
    assert not made.holds(math.nan, 2.0)


@given(st.text(max_size=60))
def test_any_text_is_a_budget_or_refused(text):
    try:
        found = demand(text)
    except ValueError:
        return
    assert found.metric
    assert found.text == " ".join(text.split())

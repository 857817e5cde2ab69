from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from pytscope.builtin.reporters.sparkline import buckets, sparkline
from pytscope.model.panels import Panel, Spark, Status
from tests.core.builtin.reporters.drawn import draw
from tests.core.report_samples import report


@given(st.lists(st.floats(), max_size=300), st.integers(1, 200), st.booleans())
def test_any_series_has_a_line_of_at_most_sixty_cells(values, most, ascii_only):
    drawn = sparkline(values, most, ascii_only=ascii_only)
    assert len(drawn) == min(len(values), most, 60)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_the_highest_value_is_never_lost(values):
    assert max(buckets(values, 60)) == max(values)


def test_a_million_steps_keep_their_one_spike():
    values = [1.0] * 1_000_000
    values[123_456] = 9.0
    drawn = sparkline(values)
    assert len(drawn) == 60
    assert drawn.count("█") == 1
    assert drawn.index("█") == 123_456 * 60 // 1_000_000


def test_low_to_high():
    assert sparkline(range(8)) == "▁▂▃▄▅▆▇█"
    assert sparkline(range(8), ascii_only=True) == "_.:-=+*#"


def test_a_flat_series_is_flat():
    assert sparkline([3.0, 3.0, 3.0]) == "▁▁▁"


def test_what_is_not_finite_stands_out():
    assert sparkline([1, math.nan, 2, math.inf, -math.inf]) == "▁!█!!"
    assert sparkline([math.nan]) == "!"


def test_the_widest_range_of_floats():
    assert sparkline([-1.7e308, 1.7e308]) == "▁█"
    assert sparkline([0.0, 5e-324]) in {"▁▁", "▁█"}


def test_the_caption_says_what_a_cell_is():
    sparks = (Spark("long", range(120), "seen"), Spark("short", (1, 2)), Spark("none", ()))
    text = draw(report(panels=(Panel("p", "P", "x", Status.OK, sparks),)), width=120)
    assert "seen · each cell the largest of its stretch" in text
    assert "  short  ▁█\n" in text
    assert "  none     no values\n" in text

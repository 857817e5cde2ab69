"""The TIMING panel, and what rules ask of a `Timing`."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from pytscope.analyses import Timing
from pytscope.builtin.analyzers import timing
from pytscope.model.panels import Meter, Spark, Status, Text
from pytscope.testing import make_run


def timed(phases, **options) -> Timing:
    made: Timing = timing(make_run(phases, **options))
    return made


SLOW = {"data": 12, "forward": 4, "backward": 6, "optimizer": 1}


def test_the_headline_has_steps_mean_rate_and_then_the_robust_figures():
    headline = timed(SLOW, steps=95).panel().headline
    assert headline == (
        "95 steps · 23.0 ms/step · 43.5 steps/s   (median 23.0 ms · p95 23.0 ms · spread 0.0%)"
    )


def test_logged_samples_and_tokens_join_the_headline():
    headline = timed(SLOW, scalars={"samples": 32, "tokens": 4096}).panel().headline
    assert "· 1,391 samples/s · 178,087 tokens/s" in headline


def test_meters_are_in_canonical_order_and_their_shares_sum_to_one():
    meters = [r for r in timed(SLOW).panel().rows if isinstance(r, Meter)]
    assert [m.label for m in meters] == ["data", "forward", "backward", "optimizer"]
    assert sum(m.share for m in meters) == pytest.approx(1)
    assert {m.group for m in meters} == {"timing"}
    assert meters[0].value == "12.0 ms"


def test_a_phase_that_few_steps_have_says_so():
    run = timed({"forward": 10, "eval": [0] * 9 + [50]})
    (rare,) = [r for r in run.panel().rows if isinstance(r, Meter) and r.label == "eval"]
    assert (rare.value, rare.note) == ("50.0 ms", "in 1 step")


def test_the_amount_of_a_rare_phase_is_that_of_a_step_which_has_it():
    run = timed({"forward": 10, "eval": [50, *[0] * 8, 30], "log": [2, 0] * 5})
    by_name = {r.label: (r.value, r.note) for r in run.panel().rows if isinstance(r, Meter)}
    assert by_name["eval"] == ("40.0 ms", "each, in 2 steps")
    assert by_name["log"] == ("1.00 ms", "in 5 steps")


def test_comm_in_few_steps_is_not_all_the_communication():
    rows = timed({"backward": 10, "comm": [1, *[0] * 9]}, ranks=2).panel().rows
    (comm,) = [row for row in rows if isinstance(row, Meter) and row.label == "comm"]
    assert comm.note == "in 1 step; exchanges inside other phases are not measured"


def test_time_without_a_name_is_not_called_ok():
    assert timed({"forward": 10, "other": 17}).panel().status is Status.WATCH
    assert timed({"forward": 10, "other": 1}).panel().status is Status.OK


def test_several_ranks_are_told_in_the_headline_and_which_checks_look_at_all():
    panel = timed(SLOW, ranks=2).panel()
    assert panel.headline.startswith("rank 0 of 2 · 100 steps")
    (text,) = [row.text for row in panel.rows if isinstance(row, Text)]
    assert "look at this rank alone, but for TIMING.DATALOADER_BOUND" in text


@pytest.mark.parametrize(
    ("data", "status"), [(1, Status.OK), (2, Status.WATCH), (4, Status.BAD), (20, Status.BAD)]
)
def test_the_status_follows_the_share_of_data(data, status):
    assert timed({"data": data, "forward": 13}).panel().status is status


def test_notes_name_the_clock_the_rank_and_what_is_not_wall():
    one = texts(timed(SLOW))
    assert any("host clock" in t for t in one)
    assert not any("rank" in t for t in one)
    several = texts(timed(SLOW, ranks=3))
    assert any("rank 1 of 3 shown" in t for t in several)
    recorded = attrs.evolve(timed(SLOW), has_timeline=False)
    assert any("recorded time, not wall" in t for t in texts(recorded))


def test_the_panel_names_a_lone_very_slow_step():
    run = timed({"forward": [10] * 60 + [900] + [10] * 39}, first_step=100)
    assert any("slowest: step 160, 900 ms, 90 times the median" in t for t in texts(run))
    assert not any("slowest" in t for t in texts(timed({"forward": 10}, noise=0.1)))


def test_a_long_run_gives_the_sparkline_its_maxima():
    walls = np.full(5000, 10.0)
    walls[4321] = 70
    (spark,) = [r for r in timed({"forward": walls.tolist()}).panel().rows if isinstance(r, Spark)]
    assert len(spark.values) == 1200
    assert max(spark.values) == 70
    assert int(np.argmax(spark.values)) == 4321 * 1200 // 5000


def test_an_absent_phase_is_all_zero():
    made = timed(SLOW)
    assert made.share("eval") == 0.0
    absent = made.phase("eval")
    assert (absent.total_ns, absent.steps, len(absent.each)) == (0, 0, 100)


def test_excess_names_the_phase_that_makes_steps_slow():
    gc = [40 if i % 10 == 0 else 0 for i in range(100)]
    made = timed({"data": 2, "forward": 10, "gc": gc, "eval": gc})
    excess = made.excess_ns(made.wall.values > 30e6)
    assert next(iter(excess.items())) == ("gc", 400_000_000)
    assert "eval" not in excess
    assert made.excess_ns(np.ones(100, bool)) == {}


def texts(made: Timing) -> list[str]:
    return [row.text for row in made.panel().rows if isinstance(row, Text)]

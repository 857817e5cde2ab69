"""How the tests of a rule pack may look."""

import pytest
from pytscope_rules_demo import logging_heavy

from pytscope import NotMeasured, Severity
from pytscope.testing import assert_abstains, assert_fires, assert_quiet, make_run


def test_heavy_logging_is_found_with_its_cost() -> None:
    run = make_run({"forward": 30, "log": 10}, steps=50)
    (finding,) = assert_fires(logging_heavy, run)
    assert finding.severity is Severity.HIGH
    assert finding.cost_s.value == pytest.approx(0.5)
    assert finding.title == "Logging takes 25.0% of step time"


def test_light_logging_is_not() -> None:
    assert_quiet(logging_heavy, make_run({"forward": 99, "log": 1}))


def test_the_threshold_decides() -> None:
    run = make_run({"forward": 99, "log": 1})
    assert_fires(logging_heavy, run, min_share=0.01)
    assert_quiet(logging_heavy, run, min_share=0.02)


def test_without_a_log_phase_it_says_what_is_missing() -> None:
    assert "profiler.phase" in assert_abstains(
        logging_heavy, make_run({"forward": 30}), NotMeasured
    )

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from pytscope import (
    Analyzer,
    Finding,
    Inconclusive,
    NotApplicable,
    NotMeasured,
    PluginError,
    Rule,
    Run,
    Severity,
    UsageError,
    rule,
)
from pytscope.analyses import Budget, Coverage, Timing
from pytscope.testing import assert_abstains, assert_fires, assert_quiet, make_run, run_rule


@rule("ACME.SLOW_OPTIMIZER", since="1.0")
def slow_optimizer(timing: Timing, *, min_share: float = 0.30) -> Iterator[Finding]:
    """Detects a slow optimizer."""
    share = timing.share("optimizer")
    if share >= min_share:
        yield Finding(severity=Severity.MEDIUM, title=f"optimizer {share:.0%}", cost_s=1.0)


SLOW = make_run({"forward": 10, "optimizer": 30})
FAST = make_run({"forward": 10, "optimizer": 1})


def raising(error: BaseException) -> Rule:
    def check(timing: Timing) -> Any:
        raise error

    return Rule("ACME.RAISES", check, "1.0")


def test_a_rule_runs_on_the_real_analyses() -> None:
    (finding,) = run_rule(slow_optimizer, SLOW)
    assert finding.rule == "ACME.SLOW_OPTIMIZER"
    assert finding.title == "optimizer 75%"
    assert run_rule(slow_optimizer, FAST) == []


def test_every_analysis_of_core_can_be_needed() -> None:
    def check(run: Run, timing: Timing, budget: Budget, coverage: Coverage | None) -> None:
        assert run is not None
        assert timing.steps == 100
        assert budget is not None
        assert coverage is not None

    assert run_rule(Rule("ACME.ALL", check, "1.0"), SLOW) == []


def test_thresholds_are_given_by_name() -> None:
    assert run_rule(slow_optimizer, SLOW, min_share=0.8) == []
    with pytest.raises(UsageError, match="has no threshold 'min_shar'; did you mean"):
        run_rule(slow_optimizer, SLOW, min_shar=0.8)


def test_firing() -> None:
    assert len(assert_fires(slow_optimizer, SLOW)) == 1
    with pytest.raises(AssertionError, match=r"ACME\.SLOW_OPTIMIZER should fire, but it passed"):
        assert_fires(slow_optimizer, FAST)
    with pytest.raises(AssertionError, match="should fire, but it abstains: NotApplicable: no"):
        assert_fires(raising(NotApplicable("no")), SLOW)


def test_staying_quiet() -> None:
    assert_quiet(slow_optimizer, FAST)
    with pytest.raises(AssertionError, match="should pass, but it says: optimizer 75%"):
        assert_quiet(slow_optimizer, SLOW)
    with pytest.raises(AssertionError, match="should pass, but it abstains: Inconclusive: 3"):
        assert_quiet(raising(Inconclusive("3")), SLOW)


def test_abstaining() -> None:
    clock = raising(NotMeasured("a clock"))
    assert assert_abstains(clock, SLOW) == "a clock"
    assert assert_abstains(clock, SLOW, NotMeasured) == "a clock"
    with pytest.raises(AssertionError, match="should raise NotApplicable, but it raises NotM"):
        assert_abstains(clock, SLOW, NotApplicable)
    with pytest.raises(AssertionError, match="should abstain, but it fires"):
        assert_abstains(slow_optimizer, SLOW)
    with pytest.raises(AssertionError, match="should abstain, but it passed"):
        assert_abstains(slow_optimizer, FAST)


def test_a_failure_is_raised_with_its_cause() -> None:
    with pytest.raises(PluginError, match=r"rule ACME\.RAISES: ValueError: no") as caught:
        run_rule(raising(ValueError("no")), SLOW)
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_rule_that_cannot_be_registered_is_told() -> None:
    def check(timing) -> None: ...  # type: ignore[no-untyped-def]  # the point of the test

    with pytest.raises(PluginError, match="parameter 'timing' has no annotation"):
        run_rule(Rule("ACME.BARE", check, "1.0"), SLOW)


@attrs.frozen
class Steps:
    count: int


def count_steps(timing: Timing) -> Steps:
    return Steps(timing.steps)


def needs_steps(steps: Steps) -> list[Finding]:
    return [Finding(severity=Severity.INFO, title=f"{steps.count} steps")]


def test_analyzers_of_the_pack_are_given() -> None:
    counted = Rule("ACME.COUNTED", needs_steps, "1.0")
    (finding,) = assert_fires(counted, SLOW, analyzers=[Analyzer("steps", count_steps)])
    assert finding.title == "100 steps"


def test_a_need_that_nobody_provides_abstains() -> None:
    counted = Rule("ACME.COUNTED", needs_steps, "1.0")
    assert assert_abstains(counted, SLOW, NotMeasured) == (
        "needs Steps, which no installed plugin provides"
    )

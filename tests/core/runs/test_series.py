"""A name finds what it says: logged values are never mistaken for a phase's seconds."""

from __future__ import annotations

import pytest

from pytscope import Finding, NotMeasured, Run, Severity, rule
from pytscope.testing import assert_abstains, assert_fires, make_run

PHASES = {"forward": 10, "loss": 2}


@rule("ACME.FLAT_LOSS", since="1.0")
def flat_loss(run: Run):
    """The pattern of the guide, without a kind."""
    try:
        _, loss = run.series("loss")
    except KeyError:
        raise NotMeasured("a logged loss") from None
    if loss[-1] >= loss[0]:
        yield Finding(severity=Severity.LOW, title="The loss does not fall")


def test_a_loss_phase_is_no_logged_loss() -> None:
    assert "logged loss" in assert_abstains(flat_loss, make_run(PHASES), NotMeasured)
    run = make_run(PHASES, steps=20, scalars={"loss": [1.0] * 20})
    assert_fires(flat_loss, run)
    assert run.series("loss")[1].tolist() == [1.0] * 20


@pytest.mark.parametrize("name", ["loss", "grad_norm", "lr", "tokens", "samples"])
def test_what_log_knows_is_a_phase_on_demand_alone(name: str) -> None:
    run = make_run({"forward": 10, name: 2}, unit="ms", steps=3, warmup=None)
    with pytest.raises(KeyError, match="for the phase: kind='phase'"):
        run.series(name)
    assert run.series(name, kind="phase")[1].tolist() == [0.002] * 3


@pytest.mark.parametrize("name", ["forward", "queue_depth", "wall"])
def test_logged_is_never_a_phase(name: str) -> None:
    run = make_run({"forward": 10, "queue_depth": 2}, steps=3, warmup=None)
    assert len(run.series(name)[1]) == 3
    with pytest.raises(KeyError):
        run.series(name, kind="logged")
    assert run.series(name, kind="phase")[1].tolist() == run.series(name)[1].tolist()


def test_of_one_name_the_kind_says_which() -> None:
    run = make_run({"forward": 10}, unit="ms", steps=3, warmup=None, scalars={"forward": [7.0] * 3})
    assert run.series("forward")[1].tolist() == [7.0] * 3
    assert run.series("forward", kind="logged")[1].tolist() == [7.0] * 3
    assert run.series("forward", kind="phase")[1].tolist() == [0.01] * 3


def test_a_logged_wall_does_not_hide_the_real_one() -> None:
    run = make_run({"forward": 10}, unit="ms", steps=3, warmup=None, scalars={"wall": [7.0] * 3})
    assert run.series("wall")[1].tolist() == [0.01] * 3
    assert run.series("wall", kind="logged")[1].tolist() == [7.0] * 3


def test_what_is_not_there_is_said() -> None:
    run = make_run({"forward": 10}, steps=3, warmup=None, scalars={"lr": [0.1] * 3})
    with pytest.raises(KeyError, match="kind='logged'"):
        run.series("lr", kind="phase")
    with pytest.raises(KeyError, match="typo"):
        run.series("typo")
    with pytest.raises(ValueError, match="'logged', 'phase' or None"):
        run.series("lr", kind="scalar")  # type: ignore[arg-type]  # what is refused

"""What moments of several axes look like in a report."""

from __future__ import annotations

import attrs
import pytest

from pytscope.analyses import AxisSet, Instability, KnownMoment, Moment
from pytscope.model.panels import Status, Table, Text
from pytscope.signals.spikes import Spike

SPIKE = Spike(70, 71, 72, 3.0, 1.0, 3.0, 25.0, 3, recovered=True, severe=True)
ODD = attrs.evolve(SPIKE, end=70, peak=70, points=1, severe=False)


def moment(*spikes: Spike, spread: int = 0) -> Moment:
    return Moment(
        first=spikes[0].start,
        last=spikes[0].end,
        starts=tuple(spike.start for spike in spikes),
        spikes=spikes,
        spread=spread,
    )


def found(corrected: float, *moments: Moment, by: str = "rates", expected: float = 0.1) -> AxisSet:
    return AxisSet(
        axes=("loss", "grad_norm"),
        onsets=(1, 1),
        points=500,
        number=len(moments),
        moments=moments,
        expected=expected,
        chance=corrected,
        corrected=corrected,
        by=by,
    )


def test_steps_are_said_as_people_say_them():
    assert moment(SPIKE).steps == "steps 70\N{EN DASH}72"
    assert moment(ODD).steps == "step 70"


@pytest.mark.parametrize(
    ("one", "beyond"),
    [
        (found(0.005, moment(SPIKE, SPIKE)), True),
        (found(0.02, moment(SPIKE, SPIKE)), False),
        (found(0.005, moment(SPIKE, ODD)), False),
        (found(0.001, moment(ODD, ODD)), True),
        (found(0.005, moment(ODD, ODD, spread=0), moment(SPIKE, SPIKE, spread=3)), False),
        (found(0.005, *[moment(ODD, ODD)] * 4, by="shifts", expected=1.0), True),
        (found(0.005, *[moment(SPIKE, SPIKE)] * 4, by="shifts", expected=2.0), False),
    ],
)
def test_what_is_beyond_chance(one, beyond):
    assert one.beyond_chance() is beyond


def test_the_lead_is_the_median_in_logged_points():
    late = [attrs.evolve(SPIKE, start=70 + n) for n in (10, 20, 60)]
    one = found(0.001, *[moment(spike, SPIKE) for spike in late])
    assert one.lead("grad_norm", "loss", 10) == 2.0
    assert one.lead("loss", "grad_norm", 10) == -2.0
    assert one.lead("loss", "memory") is None


def test_the_panel_says_what_chance_makes_of_it():
    analysis = Instability(
        axes=("loss", "grad_norm"),
        points=500,
        tested=1,
        sets=(found(0.005, moment(SPIKE, SPIKE)),),
        known=(KnownMoment(40, ("loss", "grad_norm"), "epoch"),),
        known_number=1,
    )
    panel = analysis.panel()
    assert panel is not None
    assert panel.status is Status.WATCH
    assert panel.headline == "loss + grad norm: 1 joint onset · 1 joint onset at known events"
    table, known, _ = panel.rows
    assert isinstance(table, Table)
    assert table.rows == (("loss + grad norm", "1", "0.1", "0.005", "70\N{EN DASH}72"),)
    assert isinstance(known, Text)
    assert known.text == "step 40: the end of an epoch accounts for loss, grad norm"


def test_an_event_accounts_for_its_axes_and_not_for_those_beside():
    known = KnownMoment(40, ("loss", "step_time"), "checkpoint", ("step_time",))
    assert known.text == "step 40: a checkpoint accounts for step time; not for loss beside"


def test_what_is_chance_is_no_alarm():
    analysis = Instability(
        axes=("loss", "grad_norm"), points=500, tested=1, sets=(found(0.4, moment(ODD, ODD)),)
    )
    panel = analysis.panel()
    assert panel is not None
    assert (panel.status, panel.headline) == (
        Status.OK,
        "1 axis set no more often than by chance",
    )


@pytest.mark.parametrize(("chance", "points"), [(0.03, 500), (0.4, 50)])
def test_what_may_be_chance_or_not_is_said_to_be(chance, points):
    analysis = Instability(
        axes=("loss", "grad_norm"),
        points=points,
        tested=1,
        sets=(found(chance, moment(SPIKE, SPIKE)),),
    )
    panel = analysis.panel()
    assert panel is not None
    assert (panel.status, panel.headline) == (
        Status.NOT_MEASURED,
        "loss + grad norm: 1 joint onset, cannot tell whether by chance",
    )


def test_without_joint_onsets_there_is_no_panel():
    assert Instability(axes=("loss",), points=5, tested=0, sets=()).panel() is None

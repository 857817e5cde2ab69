"""What a source opens is checked before the host relies on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from pytscope import Run, RunUnreadable, Source
from pytscope.plugins.guarded import guarded_source
from pytscope.plugins.isolation import Guard, Refusal
from pytscope.plugins.opened import sound
from pytscope.testing import make_run
from tests.core.plugins.made import ACME

RUN = make_run({"data": 1}, steps=3)


class Special(Run):
    pass


def altered(**attributes: Any) -> Run:
    """A run whose only timeline has other attributes."""
    run = make_run({"data": 1}, steps=3)
    for name, value in attributes.items():
        setattr(run.timelines[0], name, value)
    return run


WRONG: dict[str, tuple[Any, str]] = {
    "none": (None, "it returned NoneType, not a Run"),
    "subclass": (object.__new__(Special), "it returned Special, not a Run"),
    "name": (attrs.evolve(RUN, name=3), "run.name must not be a int"),
    "path": (attrs.evolve(RUN, path=Path("x")), f"run.path must not be a {type(Path()).__name__}"),
    "timelines": (attrs.evolve(RUN, timelines=[]), "run.timelines must not be a list"),
    "a timeline": (attrs.evolve(RUN, timelines=(3,)), "run.timelines must be a tuple of Timeline"),
    "notes": (attrs.evolve(RUN, notes=("x",)), "run.notes must be a tuple of ReadNote"),
    "config": (attrs.evolve(RUN, config=None), "run.config must not be a NoneType"),
    "figures": (attrs.evolve(RUN, peak_flops="1e12"), "run.peak_flops must not be a str"),
    "rank": (altered(rank="0"), "the timeline of rank '0' must have a whole number as its rank"),
    "attempts": (altered(attempts=[]), "attempts of the timeline of rank 0 must be a tuple of"),
    "lists": (altered(flags=[0, 0, 0]), "flags of the timeline of rank 0 must be an array with"),
    "lengths": (altered(wall_ns=np.zeros(2, int)), "wall_ns of the timeline of rank 0 must be an"),
    "floats": (altered(wall_ns=np.zeros(3)), "wall_ns of the timeline of rank 0 must be whole num"),
}  # fmt: skip


def test_a_sound_run_passes() -> None:
    assert sound(RUN) is RUN


@pytest.mark.parametrize("name", WRONG)
def test_a_run_that_is_not_is_refused_and_says_where(name: str) -> None:
    opened, said = WRONG[name]
    with pytest.raises(Refusal) as caught:
        sound(opened)
    assert str(caught.value).startswith(said)
    source = guarded_source(Source("s", bool, lambda path, attempt=None: opened), ACME, Guard())
    with pytest.raises(RunUnreadable, match="source s of plugin acme"):
        source.open(Path("x"))


def test_a_guarded_source_is_as_good_as_before() -> None:
    source = guarded_source(Source("s", bool, lambda path, attempt=None: RUN), ACME, Guard())
    assert source.open(Path("x")) is RUN

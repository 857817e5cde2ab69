from __future__ import annotations

import pytest

from pytscope import NothingUsable
from pytscope.runs.usable import must_be_usable, unusable_reason
from pytscope.runs.warmup import with_warmup
from pytscope.testing import make_run


def test_a_run_of_warm_up_alone_is_not_usable():
    run = with_warmup(make_run({"forward": 10}, steps=4), 2)
    assert unusable_reason(run) == ""
    must_be_usable(run)
    warm = with_warmup(run, 10)
    assert unusable_reason(warm) == "no usable step: of 4 steps found, 4 warm-up"
    with pytest.raises(NothingUsable, match="4 warm-up"):
        must_be_usable(warm)


def test_a_run_without_steps_holds_none():
    run = make_run({"forward": 10}, steps=0)
    assert "holds no completed step" in unusable_reason(run)

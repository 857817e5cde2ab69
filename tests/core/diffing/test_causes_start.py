"""Causes at the start that are not what they look like."""

from __future__ import annotations

import pytest

from pytscope.diffing.implied import implied
from pytscope.model.comparison import Difference, Kind, Likelihood
from pytscope.model.comparison_causes import CauseId
from pytscope.model.findings import Confidence
from tests.core.diffing.parting import LOSS, changed, environment, found, made, only

SURE, PERHAPS = Confidence.CONFIRMED, Confidence.SUGGESTIVE


def test_a_frozen_layer_is_no_model_of_another_size():
    there = environment(model={"parameters": 18, "trained": 9, "dtypes": {"float32": 18}})
    here = environment(model={"parameters": 18, "trained": 18, "dtypes": {"float32": 18}})
    cause = only(made(provenance=here), made(loss=changed(LOSS, 1), provenance=there))
    assert (cause.id, cause.confidence) == (CauseId.MODEL, SURE)
    assert "other parts" in cause.detail


@pytest.mark.parametrize("name", ["model.optimizer_bytes", "model.gradient_bytes"])
def test_what_a_frozen_layer_saves_is_no_fact_of_its_own(name):
    frozen = Difference("torch.model.trained", Kind.WEIGHTS, Likelihood.YES, (18, 9))
    assert implied(name, [frozen])


def test_a_switch_of_precision_is_not_sure_where_the_seed_differs():
    there = environment(
        precision={"matmul": "high", "tf32_cudnn": True}, initial_seed=2,
        devices=[{"name": "H200", "capability": "9.0"}],
    )  # fmt: skip
    here = environment(devices=[{"name": "H200", "capability": "9.0"}])
    b = made(loss=changed(LOSS, 0, 0.01), provenance=there)
    causes = {c.id: c.confidence for c in found(made(provenance=here), b).causes}
    assert causes[CauseId.PRECISION] is PERHAPS
    assert causes[CauseId.SEED] is SURE

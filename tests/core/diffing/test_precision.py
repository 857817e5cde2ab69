"""The arithmetic of runs, and what it leaves uncertain."""

from __future__ import annotations

from typing import Any

import pytest

from pytscope.diffing.precision import FULL, HALF, tolerance


@pytest.mark.parametrize(
    "told",
    [
        {"torch.autocast": "cpu bfloat16"},
        {"torch.model.dtypes": "bfloat16, float32"},
        {"config.bf16": True},
        {"config.trainer.precision": "bf16-mixed"},
        {"config.precision": 16},
        {"config.torch_dtype": "torch.float16"},
        {"argv.fp16": True},
        {"argv.mixed_precision": "fp16"},
    ],
)
def test_sixteen_bits_round_coarsely(told: dict[str, Any]):
    assert tolerance({}, told)[0] == HALF


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"torch.autocast": "off", "torch.model.dtypes": "float32"},
        {"config.bf16": False, "config.fp16": "false"},
        {"config.data": "bf16", "packages.fp16": "1"},
        {"config.precision": 32},
    ],
)
def test_others_do_not(told: dict[str, Any]):
    assert tolerance(told, told)[0] == FULL


def test_what_is_assumed_is_said():
    assert tolerance({}, {})[1] == "float32 assumed"
    assert tolerance({"torch.autocast": "off"}, {})[1] == "float32"
    assert tolerance({}, {"torch.autocast": "cuda float16"})[1] == "autocast in float16"

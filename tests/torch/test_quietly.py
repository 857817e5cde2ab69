"""Modes that a program switches on see its own operators, recorded or not."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import pytscope

torch = pytest.importorskip("torch", reason="looks at tensors")
pytest.importorskip("pytscope_torch", reason="pytscope-torch is not installed")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402  # as above
from torch.overrides import TorchFunctionMode  # noqa: E402  # as above
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402  # as above

from pytscope.auto import AutoProfiler  # noqa: E402  # as above
from pytscope_torch.quietly import quietly  # noqa: E402  # as above
from pytscope_torch.states import sampled  # noqa: E402  # as above

EVERYTHING = {"fingerprint_batches": True, "collect_memory": True, "measure_flops": True}


class Functions(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[str] = Counter()

    def __torch_function__(self, function: Any, _kinds: Any, args: Any = (), kwargs: Any = None):
        self.seen[getattr(function, "__name__", str(function))] += 1
        return function(*args, **(kwargs or {}))


class Operators(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[str] = Counter()

    def __torch_dispatch__(self, function: Any, _kinds: Any, args: Any = (), kwargs: Any = None):
        self.seen[str(function)] += 1
        return function(*args, **(kwargs or {}))


def train(folder: Path, mode: Any, options: dict[str, Any] | None) -> None:
    """A few steps with a mode on; recorded, if there are options."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
    optimizer = torch.optim.Adam(net.parameters())
    data = torch.utils.data.TensorDataset(torch.ones(8, 4))
    profiler = AutoProfiler(folder, net, optimizer, **(options or {}))
    if options is not None:
        profiler.start()
    with mode:
        for (x,) in torch.utils.data.DataLoader(data, batch_size=2):
            net(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    profiler.finish()


@pytest.mark.parametrize("options", [{}, EVERYTHING], ids=["plain", "everything"])
@pytest.mark.parametrize("kind", [Functions, Operators])
def test_a_mode_sees_what_it_sees_without_a_recording(
    tmp_path: Path, kind: Any, options: dict[str, Any]
) -> None:
    bare, recorded = kind(), kind()
    train(tmp_path, bare, None)
    train(tmp_path, recorded, options)
    assert sum(bare.seen.values()) > 40
    assert recorded.seen == bare.seen
    told = pytscope.open(tmp_path).environment["torch"]
    assert told["weights"]["parameters"] == 4


def test_a_training_on_fake_tensors_is_left_alone(tmp_path: Path) -> None:
    with FakeTensorMode(), warnings.catch_warnings():
        warnings.simplefilter("error")
        net = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with AutoProfiler(tmp_path, net, optimizer, **EVERYTHING):
            for _ in range(4):
                net(torch.ones(2, 4)).sum().backward()
                optimizer.step()
    timeline = pytscope.open(tmp_path).shown
    assert len(timeline) == 4
    (model,) = (e for e in timeline.attempts[0].events if e["kind"] == "model")
    assert model["parameters"] == 5
    assert sampled(net.weight, 4) is None  # hashing it in a thread would disturb this one


def test_modes_are_on_again_after_it() -> None:
    functions, operators = Functions(), Operators()
    with functions, operators:
        with pytest.raises(ValueError), quietly():
            torch.ones(2).add_(1)
            raise ValueError
        assert not functions.seen + operators.seen
        torch.ones(2)
    assert functions.seen["ones"] == 1
    assert operators.seen["aten.ones.default"] == 1

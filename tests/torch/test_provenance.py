"""What PyTorch was set to, and the fingerprints of weights and batches: told, and untouched."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pytscope

torch = pytest.importorskip("torch", reason="reads what torch is set to")
pytest.importorskip("pytscope_torch", reason="pytscope-torch is not installed")

from pytscope.auto import AutoProfiler  # noqa: E402  # needs what is skipped above
from pytscope_torch import provenance, states  # noqa: E402  # as above
from pytscope_torch.fingerprint import tensors  # noqa: E402  # as above


def train(folder: Path, seed: int = 0, *, given: bool = True, half: bool = False, **options: Any):
    """Some steps of a loop that shuffles and drops; returns the state it ends in."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  # the state that is told
    net = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.Dropout(), torch.nn.Linear(4, 1))
    net[0].bias.requires_grad_(False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    data = torch.utils.data.TensorDataset(torch.randn(10, 6), torch.randn(10))
    profiler = AutoProfiler(folder, *((net, optimizer) if given else ()), **options)
    profiler.start()
    for _ in range(2):
        for x, y in torch.utils.data.DataLoader(data, 2, shuffle=True, drop_last=True):
            with torch.autocast("cpu", torch.bfloat16, enabled=half):
                out = net(x)
            (out.squeeze() - y).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    profiler.finish()
    weights = [p.detach().clone() for p in net.parameters()]
    numpy_state = np.random.get_state()[1].tolist()  # noqa: NPY002  # as above
    return weights, torch.get_rng_state(), random.getstate(), numpy_state


def told(folder: Path) -> Any:
    return pytscope.open(folder).environment["torch"]


def test_what_torch_is_set_to_is_told(tmp_path: Path) -> None:
    train(tmp_path, seed=5, half=True)
    found = told(tmp_path)
    assert found["version"] == torch.__version__
    assert found["initial_seed"] == 5
    assert found["threads"] == torch.get_num_threads()
    assert found["determinism"]["algorithms"] is False
    assert found["precision"]["matmul"] == torch.get_float32_matmul_precision()
    assert found["autocast"] == {"cpu": "bfloat16"}
    assert found["compile"]["modules"] == []
    assert found["parallelism"] is None
    assert found["model"] == {"parameters": 33, "trained": 29, "dtypes": {"float32": 33}}
    (loader,) = found["loaders"]
    expected = {"batch_size": 2, "num_workers": 0, "drop_last": True, "sampler": "RandomSampler"}
    assert expected.items() <= loader.items()
    assert {"python", "numpy", "torch"} <= set(found["random_states"])
    report = pytscope.analyze(tmp_path, warmup=0)
    document = json.loads(report.to_json(reproducible=True))
    assert document["run"]["environment"]["torch"]["weights"] == found["weights"]


def test_equal_runs_have_equal_fingerprints(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(tmp_path / name, seed)
    a, b, c = (told(tmp_path / name) for name in "abc")
    assert a["weights"] == b["weights"]
    assert a["random_states"] == b["random_states"]
    assert a["weights"]["hash"] != c["weights"]["hash"]
    for state in ("python", "numpy", "torch"):
        assert a["random_states"][state] != c["random_states"][state]


def test_a_model_that_was_not_given_is_told_too(tmp_path: Path) -> None:
    train(tmp_path / "found", given=False, half=True)
    train(tmp_path / "given", half=True)
    found, given = told(tmp_path / "found"), told(tmp_path / "given")
    assert found["weights"] == given["weights"]
    assert (found["model"], found["autocast"]) == (given["model"], given["autocast"])


def test_nothing_is_changed_by_looking(tmp_path: Path) -> None:
    plain = AutoProfiler.start
    watched = train(tmp_path / "run", fingerprint_batches=True)
    AutoProfiler.start = lambda self: self  # never started: nothing is recorded
    try:
        alone = train(tmp_path / "none")
    finally:
        AutoProfiler.start = plain
    assert not (tmp_path / "none").exists()
    assert all(torch.equal(a, b) for a, b in zip(watched[0], alone[0], strict=True))
    assert torch.equal(watched[1], alone[1])
    assert watched[2:] == alone[2:]


def test_each_step_has_the_fingerprint_of_its_batch(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(tmp_path / name, seed, fingerprint_batches=True)
    a, b, c = (marks(tmp_path / name) for name in "abc")
    assert a.dtype == np.int64
    assert len(a) == 10
    assert len(set(a[:5])) == 5
    assert a.tolist() == b.tolist()
    assert a.tolist() != c.tolist()
    train(tmp_path / "off")
    assert "batch_fingerprint" not in pytscope.open(tmp_path / "off").shown.scalars


def marks(folder: Path) -> Any:
    return pytscope.open(folder).shown.column("scalar", "batch_fingerprint")[1]


def test_a_run_without_a_step_is_told_all_the_same(tmp_path: Path) -> None:
    with AutoProfiler(tmp_path):
        torch.nn.Linear(2, 2)(torch.ones(2))
    found = told(tmp_path)
    assert found["version"] == torch.__version__
    assert (found["weights"], found["random_states"]) == (None, None)


def test_elements_are_taken_over_all_of_a_tensor() -> None:
    for numel in (1, 15, 16, 17, 1000, 4096):
        part = states.sampled(torch.arange(float(numel)), 16)
        assert part is not None
        assert len(part) == min(16, numel)
        assert float(part[-1]) >= numel // 2 or numel < 3
    assert states.sampled(torch.empty(0), 16) is None
    assert states.sampled(torch.ones(4, device="meta"), 16) is None
    assert states.sampled(torch.eye(3).to_sparse(), 16) is None


def test_the_tensors_of_a_batch_are_found_in_order() -> None:
    a, b, c = (torch.tensor([i]) for i in range(3))
    batch = {"x": [a, (b, "text")], "y": 4, "z": c, "far": torch.ones(1, device="meta")}
    assert [int(t) for t in tensors(batch, 4)] == [0, 1, 2]


def test_compiled_modules_tell_their_backend() -> None:
    module = torch.compile(torch.nn.Linear(2, 2), backend="eager")
    assert provenance.compilation([module], used=False) == {
        "used": True,
        "modules": [{"backend": "eager"}],
    }
    assert not provenance.compilation([torch.nn.Linear(2, 2)], used=False)["used"]


def late_loaders(folder: Path, epochs: int, **given: Any) -> list[dict[str, Any]]:
    """What is told of loaders, a new one an epoch, that come when the rest has been written."""
    net = torch.nn.Linear(6, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    data = torch.utils.data.TensorDataset(torch.ones(8, 6))
    with AutoProfiler(folder, net, optimizer):
        for epoch in range(epochs):
            options = {name: value(epoch) for name, value in given.items()}
            for (x,) in torch.utils.data.DataLoader(data, **options):
                net(x).sum().backward()
                optimizer.step()
    (attempt,) = pytscope.open(folder).shown.attempts
    assert len(told(folder)["loaders"]) == 1
    return [dict(event) for event in attempt.events if event["kind"] == "loader"]


def test_a_loader_that_comes_later_is_told_when_it_does(tmp_path: Path) -> None:
    found = late_loaders(tmp_path, 4, batch_size=lambda epoch: 2 if epoch < 2 else 4)
    assert [(one["after_steps"], one["batch_size"]) for one in found] == [(8, 4)]
    assert found[0].keys() >= told(tmp_path)["loaders"][0].keys()


def test_loaders_of_every_epoch_are_told_up_to_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "MOST_LATE", 4)
    seeded = lambda epoch: torch.Generator().manual_seed(epoch)  # noqa: E731  # one of the options
    found = late_loaders(tmp_path, 9, batch_size=lambda _: 2, generator=seeded)
    assert [one["generator_seed"] for one in found] == [1, 2, 3]
    assert ["last" in one for one in found] == [False, False, True]
    assert late_loaders(tmp_path / "alike", 9, batch_size=lambda _: 2) == []

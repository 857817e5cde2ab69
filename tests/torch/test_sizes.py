"""Bytes of a model: parameters, gradients, optimizer state; each piece of memory once."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="sizes of torch models")
pytest.importorskip("pytscope_torch", reason="pytscope-torch is not installed")

from torch import nn  # noqa: E402  # needs what is skipped above

from pytscope_torch.sizes import model_bytes  # noqa: E402  # needs what is skipped above

NUMBER = 64 * 32 + 32


def trained(model: Any, optimizer: Any) -> None:
    model(torch.ones(2, 64)).sum().backward()
    optimizer.step()


def test_a_model_is_counted_with_its_gradients_and_its_state() -> None:
    model = nn.Linear(64, 32)
    optimizer = torch.optim.AdamW(model.parameters())
    before = model_bytes(model, optimizer)
    assert before == {
        "parameters": NUMBER,
        "parameter_bytes": 4 * NUMBER,
        "gradient_bytes": 0,
        "optimizer_bytes": 0,
    }
    trained(model, optimizer)
    after = model_bytes(model, optimizer)
    assert after["gradient_bytes"] == 4 * NUMBER
    assert after["optimizer_bytes"] == 2 * 4 * NUMBER + 2 * 4  # two moments, two counts of steps
    optimizer.zero_grad()
    assert model_bytes(model, optimizer)["gradient_bytes"] == 0


@pytest.mark.parametrize("options", [{"foreach": True}, {"fused": True}, {"amsgrad": True}])
def test_kinds_of_adam(options: dict[str, bool]) -> None:
    model = nn.Linear(64, 32)
    optimizer = torch.optim.Adam(model.parameters(), **options)
    trained(model, optimizer)
    moments = 3 if "amsgrad" in options else 2
    assert model_bytes(model, optimizer)["optimizer_bytes"] == moments * 4 * NUMBER + 8


def test_state_inside_lists_is_found() -> None:
    model = nn.Linear(64, 32)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (model(torch.ones(2, 64)) ** 2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert model_bytes(model, optimizer)["optimizer_bytes"] >= 3 * 4 * NUMBER


def test_tied_parameters_count_once() -> None:
    first, second = nn.Linear(32, 32, bias=False), nn.Linear(32, 32, bias=False)
    second.weight = first.weight
    assert model_bytes(nn.Sequential(first, second), None)["parameters"] == 1024
    second.weight = nn.Parameter(first.weight.detach())  # another object, the same memory
    sizes = model_bytes(nn.Sequential(first, second), None)
    assert (sizes["parameters"], sizes["parameter_bytes"]) == (1024, 4096)
    assert model_bytes([first, first], None)["parameters"] == 1024


def test_half_precision_and_views_of_one_buffer() -> None:
    buffer = torch.zeros(100, dtype=torch.bfloat16)
    model = nn.ParameterList([nn.Parameter(buffer[:60]), nn.Parameter(buffer[60:])])
    assert model_bytes(model, None)["parameter_bytes"] == 200


def test_meta_and_lazy_parameters_hold_nothing() -> None:
    model = nn.Sequential(nn.Linear(64, 32, device="meta"), nn.LazyLinear(8))
    sizes = model_bytes(model, None)
    assert (sizes["parameters"], sizes["parameter_bytes"]) == (NUMBER, 0)


def test_sparse_gradients_count_what_they_hold() -> None:
    model = nn.Embedding(1000, 8, sparse=True)
    model(torch.tensor([1, 2, 3])).sum().backward()
    assert model_bytes(model, None)["gradient_bytes"] == 3 * 8 + 3 * 8 * 4


def test_without_a_model_its_parameters_are_the_optimizers() -> None:
    model = nn.Linear(64, 32)
    optimizer = torch.optim.SGD(model.parameters())
    assert model_bytes([], optimizer)["parameters"] == NUMBER
    assert model_bytes([], None)["parameters"] == 0
    assert model_bytes([], [optimizer, object()])["parameters"] == NUMBER


def test_of_a_sharded_tensor_the_part_that_is_here(tmp_path: Any) -> None:
    from torch import distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor

    if not dist.is_available():
        pytest.skip("torch was built without torch.distributed")
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        mesh = init_device_mesh("cpu", (1,))
        weight = nn.Parameter(distribute_tensor(torch.zeros(64, 32), mesh, [Shard(0)]))
        model = nn.ParameterList([weight])
        optimizer = torch.optim.AdamW(model.parameters())
        (weight * 2).sum().backward()
        optimizer.step()
        sizes = model_bytes(model, optimizer)
        assert sizes["parameters"] == 64 * 32
        assert sizes["parameter_bytes"] == sizes["gradient_bytes"] == 4 * 64 * 32
        assert sizes["optimizer_bytes"] == 2 * 4 * 64 * 32 + 4
    finally:
        dist.destroy_process_group()


def test_nothing_is_computed_or_changed() -> None:
    model = nn.Linear(64, 32)
    optimizer = torch.optim.AdamW(model.parameters())
    trained(model, optimizer)
    before = [p.detach().clone() for p in model.parameters()]
    versions = [p._version for p in model.parameters()]
    state = torch.get_rng_state()
    model_bytes(model, optimizer)
    assert all(map(torch.equal, before, model.parameters()))
    assert [p._version for p in model.parameters()] == versions
    assert torch.equal(torch.get_rng_state(), state)

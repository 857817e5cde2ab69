"""What training starts from, at a fresh start and at a resume: told, and comparable."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pytscope

torch = pytest.importorskip("torch", reason="reads the states of torch")
pytest.importorskip("pytscope_torch", reason="pytscope-torch is not installed")

from pytscope.auto import AutoProfiler  # noqa: E402  # needs what is skipped above
from pytscope_torch import groups, loading, states  # noqa: E402  # as above


def made(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002  # the state that is told
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1).double())
    return net, torch.optim.AdamW(net.parameters(), lr=0.1, betas=(0.8, 0.9))


def trained(folder: Path, net: Any, optimizer: Any, *, first: int = 0, given: bool = True) -> Any:
    """Three steps; returns what is told of them."""
    handed = (net, optimizer) if given else ()
    with AutoProfiler(folder, *handed).start(first):
        for _ in range(3):
            net[1](net[0](torch.ones(2, 4)).double()).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    return pytscope.open(folder).environment["torch"]


def test_initial_weights_are_those_before_the_first_step(tmp_path: Path) -> None:
    a, b, c = (trained(tmp_path / str(i), *made(seed)) for i, seed in enumerate((1, 1, 2)))
    assert a["initial_weights"] == b["initial_weights"]
    assert a["initial_weights"]["hash"] != c["initial_weights"]["hash"]
    assert a["initial_weights"]["after_step"] == 0
    assert a["initial_weights"]["hash"] != a["weights"]["hash"]
    assert a["weights"]["after_step"] == 1


def test_weights_do_not_depend_on_what_wraps_the_model() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2))
    wrapped = torch.compile(net, backend="eager")
    named = [states.Weights(list(one.named_parameters())).told() for one in (net, wrapped)]
    assert named[0] == named[1]
    assert states.own_name("module._orig_mod.0.weight") == "0.weight"
    assert states.own_name("submodule.bias") == "submodule.bias"


def test_without_a_model_initial_weights_are_not_known(tmp_path: Path) -> None:
    told = trained(tmp_path, *made(), given=False)
    assert told["initial_weights"] is None
    assert told["optimizer"]["state_at_start"] is None
    assert told["optimizer"]["class"] == "AdamW"
    assert told["weights"] is not None


def test_an_optimizer_is_told_with_its_settings(tmp_path: Path) -> None:
    told = trained(tmp_path, *made())
    optimizer = told["optimizer"]
    (group,) = optimizer["groups"]
    expected = {"lr": 0.1, "betas": [0.8, 0.9], "weight_decay": 0.01, "tensors": 4}
    assert expected.items() <= group.items()
    assert (optimizer["class"], optimizer["state_at_start"]) == ("AdamW", 0)
    assert optimizer["steps_after_first"] == 1
    assert told["model"]["dtypes"] == {"float32": 20, "float64": 5}
    assert told["precision"]["default_dtype"] == "float32"


def test_settings_that_cannot_be_written_are_left_out() -> None:
    settings = {
        "params": [1, 2],
        "lr": torch.tensor(0.5),
        "far": torch.ones((), device="meta"),
        "odd": object(),
        "mixed": (1, object()),
        "plain": ("a", None, True),
    }
    assert groups.group_settings(settings) == {"lr": 0.5, "plain": ["a", None, True], "tensors": 2}
    assert groups.optimizer_settings(object()) is None
    assert groups.steps_made(object()) is None


@pytest.mark.parametrize("loaded", [True, False])
def test_a_resume_tells_what_the_optimizer_remembers(tmp_path: Path, *, loaded: bool) -> None:
    net, optimizer = made()
    trained(tmp_path, net, optimizer)
    again = torch.optim.AdamW(net.parameters(), lr=0.1)
    if loaded:
        again.load_state_dict(optimizer.state_dict())
    trained(tmp_path, net, again, first=3)
    attempts = pytscope.open(tmp_path).shown.attempts
    assert [attempt.first_step for attempt in attempts] == [0, 3]
    first, second = (attempt.environment["torch"] for attempt in attempts)
    assert (first["optimizer"]["state_at_start"], first["optimizer"]["steps_after_first"]) == (0, 1)
    found = second["optimizer"]
    assert (found["state_at_start"], found["steps_after_first"]) == ((4, 4) if loaded else (0, 1))
    weights = (first["initial_weights"], second["initial_weights"])
    assert weights[0]["hash"] != weights[1]["hash"]
    assert second["initial_weights"]["after_step"] == 0


def test_random_states_at_the_start_tell_which_are_seeded(tmp_path: Path) -> None:
    found = []
    for seed in (1, 2):
        net, optimizer = made()
        np.random.seed(seed)  # noqa: NPY002  # as above
        found.append(trained(tmp_path / str(seed), net, optimizer)["initial_random_states"])
    assert found[0]["torch"] == found[1]["torch"]
    assert found[0]["python"] == found[1]["python"]
    assert found[0]["numpy"] != found[1]["numpy"]


def test_a_loader_tells_what_its_order_comes_from() -> None:
    data = torch.utils.data.TensorDataset(torch.ones(6, 1))
    seeded = torch.Generator().manual_seed(7)
    before = seeded.get_state()
    told = loading.loader_settings(
        torch.utils.data.DataLoader(data, 2, shuffle=True, generator=seeded)
    )
    assert torch.equal(before, seeded.get_state())
    assert (told["samples"], told["generator_seed"]) == (6, 7)
    assert told["order"] == {"replacement": False, "generator_seed": 7}
    ranks = torch.utils.data.DistributedSampler(data, num_replicas=2, rank=0, seed=5)
    told = loading.loader_settings(torch.utils.data.DataLoader(data, 2, sampler=ranks))
    assert told["order"] == {"shuffle": True, "seed": 5, "num_replicas": 2}
    assert told["generator_seed"] is None


def test_a_data_set_without_a_length_is_told_without_it() -> None:
    class Stream(torch.utils.data.IterableDataset):  # type: ignore[misc]  # torch may be absent
        def __iter__(self) -> Any:
            return iter([1])

    told = loading.loader_settings(torch.utils.data.DataLoader(Stream()))
    assert told["samples"] is None
    assert told["dataset"] == "Stream"

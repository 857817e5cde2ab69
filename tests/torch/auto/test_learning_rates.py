"""The learning rate of each step, as the optimizer was set to when it stepped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pytscope
from tests.torch.auto.made import AutoProfiler, torch  # skips without pytscope-torch


def rates(folder: Path) -> list[float | None]:
    return [record.scalars.get("lr") for record in pytscope.open(folder).rank(0).records()]


def train(
    folder: Path,
    change: Callable[[int, Any], None] = lambda _step, _group: None,
    *,
    steps: int = 6,
    lr: Any = 0.25,
    before: Callable[[Any, int], None] = lambda _prof, _step: None,
    after: Callable[[Any, int], None] = lambda _prof, _step: None,
    make: Callable[..., Any] = torch.optim.SGD,
    **options: Any,
) -> Any:
    """Train; `change` may set the first group after each step, as a scheduler does."""
    net = torch.nn.Linear(2, 1)
    optimizer = make(net.parameters(), lr=lr)
    with AutoProfiler(folder, net, optimizer, **options) as prof:
        for step in range(steps):
            net(torch.ones(1, 2)).sum().backward()
            before(prof, step)
            optimizer.step()
            optimizer.zero_grad()
            after(prof, step)
            change(step, optimizer.param_groups[0])
    return optimizer


def test_a_constant_rate_is_that_of_every_step(tmp_path: Path) -> None:
    train(tmp_path)
    assert rates(tmp_path) == [0.25] * 6


def test_a_schedule_is_followed_to_the_bit(tmp_path: Path) -> None:
    train(tmp_path, lambda step, group: group.update(lr=0.1 / (step + 2)), lr=0.1)
    assert rates(tmp_path) == [0.1 / (step + 1) for step in range(6)]


def test_a_rate_that_was_logged_counts_wherever_it_was(tmp_path: Path) -> None:
    train(tmp_path / "before", before=lambda prof, step: prof.log(lr=float(step)))
    assert rates(tmp_path / "before") == [0, 1, 2, 3, 4, 5]
    train(tmp_path / "after", after=lambda prof, step: prof.log(lr=float(step)))
    assert rates(tmp_path / "after") == [0, 1, 2, 3, 4, 5]
    train(tmp_path / "whole", before=lambda prof, _: prof.log(loss=1.0, lr=3))
    assert rates(tmp_path / "whole") == [3] * 6


def test_steps_without_a_logged_rate_have_their_own(tmp_path: Path) -> None:
    def log(prof: Any, step: int) -> None:
        if step % 3 == 2:
            prof.log(lr=9.0, loss=1.0)
        else:
            prof.log(loss=1.0)

    train(tmp_path, before=log)
    assert rates(tmp_path) == [0.25, 0.25, 9.0] * 2


def test_a_rate_of_another_type(tmp_path: Path) -> None:
    train(tmp_path / "whole", lr=1)
    assert rates(tmp_path / "whole") == [1.0] * 6
    train(tmp_path / "tensor", lr=torch.tensor(0.5))
    assert rates(tmp_path / "tensor") == [None] * 6


class Rateless(torch.optim.Optimizer):  # type: ignore[misc]  # torch may be absent
    """An optimizer without a learning rate."""

    def __init__(self, parameters: Any, lr: float) -> None:
        super().__init__(parameters, {"size": lr})

    def step(self, closure: Any = None) -> None:
        """Do nothing."""


def test_an_optimizer_without_a_rate(tmp_path: Path) -> None:
    train(tmp_path, make=Rateless)
    assert rates(tmp_path) == [None] * 6


def test_rates_with_what_is_sampled(tmp_path: Path) -> None:
    train(tmp_path, lambda step, group: group.update(lr=float(step)), collect_memory=True)
    assert rates(tmp_path) == [0.25, 0, 1, 2, 3, 4]


def test_rates_of_scaled_and_of_nested_steps(tmp_path: Path) -> None:
    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    scaler = torch.amp.GradScaler("cpu")
    with AutoProfiler(tmp_path, net, optimizer):
        for step in range(4):
            factor = float("inf") if step == 2 else 1.0
            scaler.scale(net(torch.ones(1, 2)).sum() * factor).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            optimizer.param_groups[0]["lr"] = 0.5 / (step + 2)
    assert rates(tmp_path) == [0.5 / (step + 1) for step in range(4)]


def test_a_step_in_the_backward_pass_has_a_rate(tmp_path: Path) -> None:
    net = torch.nn.Linear(2, 1, bias=False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    net.weight.register_post_accumulate_grad_hook(lambda _: optimizer.step())
    with AutoProfiler(tmp_path, net, optimizer):
        for _ in range(3):
            net(torch.ones(1, 2)).sum().backward()
            optimizer.zero_grad()
    assert rates(tmp_path) == [0.5] * 3


def test_groups_that_were_loaded_are_followed(tmp_path: Path) -> None:
    def load(step: int, _group: Any) -> None:
        if step == 2:
            state = held[0].state_dict()
            state["param_groups"][0]["lr"] = 0.125
            held[0].load_state_dict(state)

    held: list[Any] = []

    def make(*given: Any, **options: Any) -> Any:
        held.append(torch.optim.SGD(*given, **options))
        return held[0]

    train(tmp_path, load, make=make)
    assert rates(tmp_path) == [0.25] * 3 + [0.125] * 3


@pytest.mark.parametrize("inline", [True, False])
def test_rates_of_many_steps_in_few_blocks(tmp_path: Path, *, inline: bool) -> None:
    def change(step: int, group: Any) -> None:
        if step % 7 == 0:
            group["lr"] = 1.0 / (step + 1)

    train(tmp_path, change, steps=200, inline=inline, flush_every=30)
    expected, rate = [], 0.25
    for step in range(200):
        expected.append(rate)
        rate = 1.0 / (step + 1) if step % 7 == 0 else rate
    assert rates(tmp_path) == expected

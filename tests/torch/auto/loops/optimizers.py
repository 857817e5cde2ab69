"""Optimizers around optimizers, and those that go their own ways."""

from __future__ import annotations

from typing import Any

from tests.torch.auto.loops.registry import loop
from tests.torch.auto.loops.updates import plain
from tests.torch.auto.made import OPTIMIZER, Case, SleepySGD, loader, torch


class Overriding(SleepySGD):
    """An optimizer that goes its own ways around those of its base."""

    def step(self, closure: Any = None) -> Any:
        self.truth.sleep("optimizer", OPTIMIZER / 2)
        return super().step(closure)

    def zero_grad(self, set_to_none: bool = False) -> None:
        super().zero_grad(set_to_none=set_to_none)


@loop
def overridden_step_and_zero_grad(case: Case) -> None:
    case.optimizer = Overriding(case.net.parameters(), case.truth)
    plain(case)


class Accelerated(torch.optim.Optimizer):
    """A wrapper that is an optimizer by name alone, as accelerate's is."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer

    param_groups = property(lambda self: self.optimizer.param_groups)

    def state_dict(self) -> Any:
        return self.optimizer.state_dict()

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.optimizer.zero_grad(set_to_none)

    def step(self, closure: Any = None) -> Any:
        return self.optimizer.step(closure)


@loop
def wrapped_optimizer(case: Case) -> None:
    case.optimizer = Accelerated(case.optimizer)
    plain(case)


class Lookahead(torch.optim.Optimizer):
    """An optimizer in its own right that steps another one."""

    def __init__(self, optimizer: Any) -> None:
        super().__init__(optimizer.param_groups, {})
        self.optimizer = optimizer
        self.slow = [p.detach().clone() for g in self.param_groups for p in g["params"]]

    def step(self, closure: Any = None) -> Any:
        self.optimizer.step(closure)
        with torch.no_grad():
            for slow, p in zip(self.slow, self.param_groups[0]["params"], strict=True):
                slow.add_(0.5 * (p - slow))
                p.copy_(slow)


@loop
def optimizer_around_an_optimizer(case: Case) -> None:
    case.optimizer = Lookahead(case.optimizer)
    plain(case)


class SharpnessAware(torch.optim.Optimizer):
    """An optimizer of two parts, of which neither is called `step`."""

    def __init__(self, parameters: Any, base: Any) -> None:
        super().__init__(parameters, {})
        self.base_optimizer = base
        self.param_groups = base.param_groups

    def ascend(self) -> None:
        with torch.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p]["up"] = 0.01 * p.grad
                    p.add_(self.state[p]["up"])
        self.zero_grad()

    def descend(self) -> None:
        with torch.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    p.sub_(self.state[p]["up"])
        self.base_optimizer.step()
        self.zero_grad()


@loop
def sharpness_aware(case: Case) -> None:
    case.optimizer = SharpnessAware(case.net.parameters(), case.optimizer)
    with case.recording():
        for x, y in loader(case.truth, case.count):
            case.loss(case.net(x), y).backward()
            case.optimizer.ascend()
            case.loss(case.net(x), y).backward()
            case.optimizer.descend()
            case.truth.next_step()

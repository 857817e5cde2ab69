"""Exceptions that the loop catches."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from tests.torch.auto.loops.registry import loop
from tests.torch.auto.made import Case, loader, torch

OUT_OF_MEMORY = torch.OutOfMemoryError


def _in_forward(case: Case, fetched: Any, error: type[Exception]) -> None:
    with case.recording():
        for i, (x, y) in enumerate(fetched):
            if i % 5 == 4:
                case.net.failures.append(error("no room"))
            try:
                with case.truth.failing(error):
                    loss = case.loss(case.net(x), y)
            except error:
                continue
            loss.backward()
            case.step()


@loop
def exception_in_forward(case: Case) -> None:
    _in_forward(case, loader(case.truth, case.count * 5 // 4), ValueError)


@loop
def out_of_memory_in_forward(case: Case) -> None:
    _in_forward(case, loader(case.truth, case.count * 5 // 4), OUT_OF_MEMORY)


class FailingBackward(torch.autograd.Function):
    """Has no room in the backward pass."""

    @staticmethod
    def forward(_ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(_ctx: Any, _grad: Any) -> Any:
        raise OUT_OF_MEMORY("no room")


@loop
def out_of_memory_in_backward(case: Case) -> None:
    with case.recording():
        for i, (x, y) in enumerate(loader(case.truth, case.count * 5 // 4)):
            x.requires_grad_()
            given = FailingBackward.apply(x) if i % 5 == 4 else x
            with suppress(OUT_OF_MEMORY), case.truth.failing(OUT_OF_MEMORY):
                case.loss(case.net(given), y).backward()
                case.step()


def _in_step(case: Case, fetched: Any) -> None:
    with case.recording():
        for i, (x, y) in enumerate(fetched):
            if i % 5 == 4:
                case.optimizer.failures.append(ValueError("no step"))
            with suppress(ValueError), case.truth.failing(ValueError):
                case.train(x, y)


@loop
def exception_in_the_optimizer(case: Case) -> None:
    _in_step(case, loader(case.truth, case.count * 5 // 4))


@loop
def exception_in_the_optimizer_without_a_loader(case: Case) -> None:
    count = case.count * 5 // 4
    _in_step(case, [(torch.ones(1, 4), torch.ones(1, 1)) for _ in range(count)])


@loop
def exception_in_a_closure(case: Case) -> None:
    with case.recording():
        for i, (x, y) in enumerate(loader(case.truth, case.count * 5 // 4)):

            def again(x: Any = x, y: Any = y) -> Any:
                case.optimizer.zero_grad()
                loss = case.loss(case.net(x), y)
                loss.backward()
                return loss

            if i % 5 == 4:
                case.net.failures.append(ValueError("no loss"))
            with suppress(ValueError), case.truth.failing(ValueError):
                case.optimizer.step(again)
                case.truth.next_step()


@loop
def exception_in_the_loader(case: Case) -> None:
    """A sample that cannot be read; the loop goes on with what it has."""
    fetched = loader(case.truth, case.count * 5 // 4)
    read = type(fetched.dataset).__getitem__

    class Broken(type(fetched.dataset)):  # type: ignore[misc]  # a class made here
        def __getitem__(self, index: int) -> Any:
            got = read(self, index)
            if index % 5 == 4:
                raise OSError("unreadable")
            return got

    fetched.dataset.__class__ = Broken
    with case.recording():
        batches = iter(fetched)
        for _ in range(case.count * 5 // 4):
            try:
                x, y = next(batches)
            except OSError:
                continue
            case.train(x, y)

"""How gradients are made: several losses, penalties, recomputation, models called in odd ways."""

from __future__ import annotations

from torch.utils.checkpoint import checkpoint

from tests.torch.auto.loops.registry import loop
from tests.torch.auto.made import Case, Net, loader, torch


@loop
def model_called_by_keyword(case: Case) -> None:
    with case.recording():
        for x, y in loader(case.truth, case.count):
            case.loss(case.net(x=x), y).backward()
            case.step()


@loop
def forward_called_directly(case: Case) -> None:
    """Not the model is called but a method of it: nobody sees a forward pass."""
    case.net.as_phase = "compute"
    with case.recording():
        for x, y in loader(case.truth, case.count):
            ((case.net.forward(x) - y) ** 2).mean().backward()
            case.step()


@loop
def several_losses(case: Case) -> None:
    with case.recording():
        for x, y in loader(case.truth, case.count):
            out = case.net(x)
            case.loss(out, y).backward(retain_graph=True)
            case.loss(out, -y).backward()
            case.step()


@loop
def gradient_penalty(case: Case) -> None:
    with case.recording():
        for x, y in loader(case.truth, case.count):
            x.requires_grad_()
            out = case.net(x)
            (gradient,) = torch.autograd.grad(out.sum(), x, create_graph=True)
            (case.loss(out, y) + (gradient.norm() - 1) ** 2).backward()
            case.step()


@loop
def gradients_by_hand(case: Case) -> None:
    parameters = list(case.net.parameters())
    with case.recording():
        for x, y in loader(case.truth, case.count):
            gradients = torch.autograd.grad(case.loss(case.net(x), y), parameters)
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient
            case.step()


@loop
def recurrence_by_hand(case: Case) -> None:
    with case.recording():
        for x, y in loader(case.truth, case.count):
            state = torch.zeros(1, 1)
            for _ in range(3):
                state = case.net(x + state)
            case.loss(state, y).backward()
            case.step()


@loop
def activation_checkpointing(case: Case) -> None:
    _recomputed(case, reentrant=False)


@loop
def reentrant_activation_checkpointing(case: Case) -> None:
    _recomputed(case, reentrant=True)


def _recomputed(case: Case, *, reentrant: bool) -> None:
    with case.recording():
        for x, y in loader(case.truth, case.count):
            x.requires_grad_()
            case.net.as_phase = "forward"  # reentrant, it runs without gradients at first
            loss = case.loss(checkpoint(case.net, x, use_reentrant=reentrant), y)
            case.net.as_phase = "backward"  # where the forward pass is run again
            loss.backward()
            case.step()


class Blocks(torch.nn.Module):
    """A model that recomputes its inner block."""

    def __init__(self, inner: Net) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: object) -> object:
        return checkpoint(self.inner, x, use_reentrant=True)


@loop
def reentrant_checkpoints_inside_the_model(case: Case) -> None:
    model = Blocks(case.net)
    case.modules.append(model)
    with case.recording(model):
        for x, y in loader(case.truth, case.count):
            x.requires_grad_()
            case.net.as_phase = "forward"
            loss = case.loss(model(x), y)
            case.net.as_phase = "backward"
            loss.backward()
            case.step()


@loop
def frozen_batch_norm(case: Case) -> None:
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 4), case.net)
    model.train()
    model[0].eval()
    case.modules.append(model)
    with case.recording(model):
        for x, y in loader(case.truth, case.count):
            case.loss(model(x), y).backward()
            case.step()

"""Forward passes that do not train."""

from __future__ import annotations

from typing import Any

from tests.torch.auto.loops.registry import loop
from tests.torch.auto.made import Case, loader, torch


def _validate(case: Case, *, gradients: bool, mode: bool = False) -> None:
    case.net.train(mode)
    case.net.as_phase = "eval"
    with torch.set_grad_enabled(gradients), case.truth.block("eval"):
        for x, _ in loader(case.truth, 3, "eval"):
            case.net(x)
            case.truth.sleep("eval", 0.001)
    case.net.as_phase = None
    case.net.train()


def _inside(case: Case, *, gradients: bool) -> None:
    with case.recording():
        for i, (x, y) in enumerate(loader(case.truth, case.count)):
            case.train(x, y)
            if i % 4 == 3:
                _validate(case, gradients=gradients)


def _between(case: Case, *, gradients: bool, mode: bool = False) -> None:
    fetched = loader(case.truth, 5)
    with case.recording():
        for epoch in range(case.count // 5 + 1):
            if epoch:
                _validate(case, gradients=gradients, mode=mode)
            for x, y in fetched:
                case.train(x, y)


@loop
def validation_between_steps(case: Case) -> None:
    _inside(case, gradients=False)


@loop
def validation_with_gradients_between_steps(case: Case) -> None:
    _inside(case, gradients=True)


@loop
def validation_between_epochs(case: Case) -> None:
    _between(case, gradients=False)


@loop
def validation_with_gradients_between_epochs(case: Case) -> None:
    _between(case, gradients=True)


@loop
def validation_in_training_mode_between_epochs(case: Case) -> None:
    _between(case, gradients=True, mode=True)


@loop
def validation_before_training(case: Case) -> None:
    with case.recording():
        _validate(case, gradients=False)
        case.truth.steps[0].clear()  # startup is no part of the first step
        for x, y in loader(case.truth, case.count):
            case.train(x, y)


@loop
def forward_passes_to_look_at(case: Case) -> None:
    """An evaluation without a loader of its own."""
    with case.recording():
        for i, (x, y) in enumerate(loader(case.truth, case.count)):
            case.train(x, y)
            if i % 4 == 3:
                case.net.eval()
                with torch.no_grad(), case.truth.block("eval"):
                    for _ in range(3):
                        case.net(x)
                case.net.train()


@loop
def fine_tuning_in_eval_mode(case: Case) -> None:
    case.net.eval()
    with case.recording():
        for x, y in loader(case.truth, case.count):
            case.train(x, y)


@loop
def rollouts_in_training_mode(case: Case) -> None:
    with case.recording():
        for x, y in loader(case.truth, case.count):
            with torch.no_grad():
                for _ in range(3):
                    case.net(x)
                    case.truth.sleep("other", 0.001)
            case.train(x, y)


@loop
def rollouts_in_eval_mode(case: Case) -> None:
    """No loader at all: what is trained on is made by the model itself."""
    x, y = torch.ones(1, 4), torch.ones(1, 1)
    with case.recording():
        for _ in range(case.count):
            case.net.eval()
            with torch.no_grad():
                case.net(x)
                case.truth.sleep("eval", 0.002)
                case.net(x)
            case.net.train()
            case.train(x, y)


@loop
def validation_through_the_profiler(case: Case) -> None:
    """Loaders wrapped by hand, though they would be seen without it."""

    def told(fetched: Any) -> Any:
        return case.profiler.iter_data(fetched) if case.profiler else fetched

    with case.recording():
        for _ in range(case.count // 5 + 1):
            for x, y in told(loader(case.truth, 5)):
                case.train(x, y)
            case.net.eval()
            with torch.no_grad(), case.truth.block("eval"):
                for x, _ in told(loader(case.truth, 3, "eval")):
                    case.net(x)
            case.net.train()

"""What else happens around steps: checkpoints, copies of the model, other processes."""

from __future__ import annotations

import copy
import io
import os
import pickle
from typing import Any

import pytest

from tests.torch.auto.loops.registry import loop, untimed
from tests.torch.auto.made import Case, Truth, loader, torch


class Slow:
    """Takes its time to be saved."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth

    def __reduce__(self) -> tuple[type[dict[str, int]], tuple[()]]:
        self.truth.sleep("checkpoint", 0.003)
        return dict, ()


@loop
def checkpoints(case: Case) -> None:
    with case.recording():
        for i, (x, y) in enumerate(loader(case.truth, case.count)):
            case.train(x, y)
            if i % 4 == 3:
                torch.save(Slow(case.truth), case.space / "model.pt")


@loop
def work_outside_of_everything(case: Case) -> None:
    with case.recording():
        for x, y in loader(case.truth, case.count):
            case.train(x, y)
            case.truth.sleep("other", 0.004)


@loop
def own_phases(case: Case) -> None:
    with case.recording():
        for x, y in loader(case.truth, case.count):
            case.train(x, y)
            if case.profiler:
                with case.profiler.phase("log"):
                    case.truth.sleep("log", 0.002)
                case.profiler.log(loss=1.0)


class Average(torch.nn.Module):
    """A moving average kept the way of many repositories: every attribute is copied."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model.__new__(type(model))
        self.model.__dict__ = {k: copy.deepcopy(v) for k, v in model.__dict__.items()}
        self.model.__dict__["truth"] = model.truth

    def follow(self, model: Any) -> None:
        with torch.no_grad():
            for own, other in zip(self.model.parameters(), model.parameters(), strict=True):
                own.lerp_(other, 0.5)


@untimed
def averages_of_the_weights(case: Case) -> None:
    with case.recording():
        batches = iter(loader(case.truth, case.count))
        case.train(*next(batches))
        averages = [
            Average(case.net),
            torch.optim.swa_utils.AveragedModel(case.net),
        ]
        shallow = object.__new__(type(case.net))
        shallow.__dict__.update(case.net.__dict__)
        shallow._parameters, shallow._modules = {}, {"linear": torch.nn.Linear(4, 1)}
        shallow._modules["dropout"] = torch.nn.Identity()
        case.modules += [averages[0].model, averages[1], shallow]
        for x, y in batches:
            case.train(x, y)
            averages[0].follow(case.net)
            averages[1].update_parameters(case.net)
            with torch.no_grad():
                case.losses += [averages[0].model(x), averages[1](x), shallow(x)]


@untimed
def copies_of_the_model(case: Case) -> None:
    case.net.truth = None
    model = torch.nn.Linear(4, 1)
    case.modules = [model]
    case.optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with case.recording(model):
        for x, y in loader(case.truth, case.count):
            case.loss(model(x), y).backward()
            case.step()
            saved = io.BytesIO()
            torch.save(model, saved)
            saved.seek(0)
            copied = [
                copy.copy(model),
                copy.deepcopy(model),
                pickle.loads(pickle.dumps(model)),
                torch.load(saved, weights_only=False),
            ]
            case.losses += [one(x).detach() for one in copied]
            case.modules = [model, *copied]


@untimed
def forked_children(case: Case) -> None:
    with case.recording():
        for x, y in loader(case.truth, case.count):
            case.train(x, y)
            child = os.fork()
            if not child:
                code = 1
                try:
                    for a, b in loader(case.truth, 3):
                        case.train(a, b)
                    code = 0
                finally:
                    os._exit(code)
            assert os.waitpid(child, 0)[1] == 0


@loop
def finished_in_a_step(case: Case) -> None:
    with case.recording():
        for i, (x, y) in enumerate(loader(case.truth, case.count + 4)):
            loss = case.loss(case.net(x), y)
            if i == case.count and case.profiler:
                case.profiler.finish()
            loss.backward()
            case.optimizer.step()
            if i < case.count:
                case.truth.next_step()
            case.optimizer.zero_grad()


@loop
def recorded_again(case: Case) -> None:
    """The same profiler, started twice."""
    with case.recording():
        for x, y in loader(case.truth, 4):
            case.train(x, y)
    del case.truth.steps[:-1]
    case.truth.steps[0].clear()
    if case.profiler:
        case.profiler.start()
    for x, y in loader(case.truth, case.count):
        case.train(x, y)
    if case.profiler:
        case.profiler.finish()


@loop
def another_profiler_after_it(case: Case) -> None:
    """A second recording into the same folder, as when a script is run again."""
    with case.recording():
        for x, y in loader(case.truth, 4):
            case.train(x, y)
    del case.truth.steps[:-1]
    case.truth.steps[0].clear()
    with case.recording():
        for x, y in loader(case.truth, case.count):
            case.train(x, y)


@loop
def interrupted(case: Case) -> None:
    with pytest.raises(KeyboardInterrupt), case.recording():
        for i, (x, y) in enumerate(loader(case.truth, case.count + 4)):
            if i == case.count:
                case.net.failures.append(KeyboardInterrupt())
            case.train(x, y)

"""Models, loops and optimizers that are written in unusual ways."""

from __future__ import annotations

import asyncio
import itertools
import signal
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from torch.func import functional_call, grad_and_value
from torch.optim.swa_utils import AveragedModel, update_bn

from tests.torch.auto.loops.registry import loop, untimed
from tests.torch.auto.made import Case, loader, torch


def _trained(case: Case, model: Any, call: Any = None) -> None:
    """Train another model than the case's own."""
    case.modules = [model]
    case.optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with case.recording(model):
        for x, y in loader(case.truth, case.count):
            case.loss((call or model)(x), y).backward()
            case.step()


class Closed(torch.nn.Module):
    """Takes no attribute once it is made, and answers for any other."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 1)
        self.__dict__["closed"] = True

    def __setattr__(self, name: str, value: Any) -> None:
        if "closed" in self.__dict__:
            raise AttributeError(name)
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        for place in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(place, ()):
                return self.__dict__[place][name]
        return None

    def __len__(self) -> int:
        return 0

    def forward(self, x: Any) -> Any:
        return self.linear(x)


@untimed
def module_that_is_closed(case: Case) -> None:
    _trained(case, Closed())


class Doubling(torch.nn.Linear):
    """Has a call of its own around the usual one."""

    __slots__ = ()

    def __call__(self, x: Any) -> Any:
        return 2 * super().__call__(x)


@untimed
def module_with_a_call_of_its_own(case: Case) -> None:
    _trained(case, Doubling(4, 1))


@untimed
def module_that_calls_itself(case: Case) -> None:
    class Nested(torch.nn.Linear):
        def forward(self, x: Any, depth: int = 2) -> Any:
            return self(x, depth - 1) if depth else super().forward(x)

    _trained(case, Nested(4, 1))


@untimed
def module_whose_class_changes(case: Case) -> None:
    class Other(torch.nn.Linear):
        def forward(self, x: Any) -> Any:
            return 3 * super().forward(x)

    model = torch.nn.Linear(4, 1)

    def call(x: Any) -> Any:
        model.__class__ = Other
        return model(x)

    _trained(case, model, call)


@untimed
def script_module(case: Case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        model = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)))
    _trained(case, model)


@untimed
def traced_symbolically(case: Case) -> None:
    _trained(case, torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(4, 1))))


@untimed
def exported_module(case: Case) -> None:
    example = (torch.ones(1, 4),)
    _trained(case, torch.export.export(torch.nn.Linear(4, 1), example).module())


@untimed
def parts_without_a_whole(case: Case) -> None:
    parts = torch.nn.ModuleDict({"body": torch.nn.Linear(4, 4), "head": torch.nn.Linear(4, 1)})
    _trained(case, parts, lambda x: parts["head"](parts["body"](x)))


@untimed
def parameters_made_by_the_first_call(case: Case) -> None:
    model = torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.LazyLinear(1))
    case.modules = [model]
    with case.recording(model, None):
        model(torch.ones(1, 4))
        case.optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for x, y in loader(case.truth, case.count):
            case.loss(model(x), y).backward()
            case.step()


@untimed
def copies_of_the_model_for_other_tools(case: Case) -> None:
    """Traced and exported while it trains."""
    model = torch.nn.Linear(4, 1)
    others: list[Any] = []

    def call(x: Any) -> Any:
        if not others:
            others.append(torch.fx.symbolic_trace(model))
            others.append(torch.export.export(model, (x,)).module())
        case.losses += [other(x).detach() for other in others]
        return model(x)

    _trained(case, model, call)


@loop
def called_by_functional_call(case: Case) -> None:
    parameters = dict(case.net.named_parameters())
    with case.recording():
        for x, y in loader(case.truth, case.count):
            case.loss(functional_call(case.net, parameters, (x,)), y).backward()
            case.step()


@untimed
def gradients_by_torch_func(case: Case) -> None:
    model = torch.nn.Linear(4, 1)
    case.modules = [model]
    case.optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def loss_of(parameters: Any, x: Any, y: Any) -> Any:
        return ((functional_call(model, parameters, (x,)) - y) ** 2).mean()

    with case.recording(model):
        for x, y in loader(case.truth, case.count):
            gradients, loss = grad_and_value(loss_of)(dict(model.named_parameters()), x, y)
            for name, parameter in model.named_parameters():
                parameter.grad = gradients[name].detach()
            case.losses.append(loss.detach())
            case.step()


@untimed
def second_derivatives_between_steps(case: Case) -> None:
    model = torch.nn.Linear(4, 1)

    def call(x: Any) -> Any:
        case.losses += [
            torch.autograd.functional.hessian(lambda z: model(z).square().sum(), x[:1]).sum(),
            torch.func.jacrev(model)(x[0]).detach().sum(),
        ]
        return model(x)

    _trained(case, model, call)


@untimed
def averaged_with_fresh_statistics(case: Case) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), case.net)
    case.optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with case.recording(model):
        averaged = AveragedModel(model)
        case.modules = [model, averaged]
        for x, y in loader(case.truth, 2 * case.count, batch_size=2):
            case.loss(model(x), y).backward()
            case.step()
            averaged.update_parameters(model)
        update_bn((x for x, _ in loader(case.truth, 4, batch_size=2)), averaged)


@untimed
def calls_in_other_threads(case: Case) -> None:
    model = torch.nn.Linear(4, 1)
    with ThreadPoolExecutor(2) as pool:
        _trained(case, model, lambda x: sum(pool.map(model, [x, x])))


@loop
def coroutine(case: Case) -> None:
    async def train() -> None:
        for x, y in loader(case.truth, case.count):
            case.train(x, y)
            await asyncio.sleep(0)

    with case.recording():
        asyncio.run(train())


@loop
def cycled_loader(case: Case) -> None:
    fetched = itertools.chain.from_iterable(itertools.repeat(loader(case.truth, 3)))
    with case.recording():
        for x, y in itertools.islice(fetched, case.count):
            case.train(x, y)


class Ahead:
    """A loader's wrapper that is always a batch ahead."""

    def __init__(self, fetched: Any) -> None:
        self.fetched = fetched

    def __iter__(self) -> Any:
        batches = iter(self.fetched)
        coming = next(batches, None)
        while coming is not None:
            batch, coming = coming, next(batches, None)
            yield batch


@loop
def wrapped_loader(case: Case) -> None:
    with case.recording():
        for x, y in Ahead(loader(case.truth, case.count)):
            case.train(x, y)


class Inner(torch.utils.data.IterableDataset[Any]):
    """A dataset that reads through a loader of its own."""

    def __init__(self, fetched: Any) -> None:
        self.fetched = fetched

    def __iter__(self) -> Any:
        for x, y in self.fetched:
            yield x[0], y[0]


@loop
def loader_in_a_loader(case: Case) -> None:
    outer = torch.utils.data.DataLoader(Inner(loader(case.truth, case.count)))
    with case.recording():
        for x, y in outer:
            case.train(x, y)


@loop
def replaced_step(case: Case) -> None:
    with case.recording():
        step = case.optimizer.step
        case.optimizer.step = lambda closure=None: step(closure)
        for x, y in loader(case.truth, case.count):
            case.train(x, y)
    del case.optimizer.step


@loop
def scaling_by_hand(case: Case) -> None:
    with case.recording():
        for x, y in loader(case.truth, case.count):
            (1024.0 * case.loss(case.net(x), y)).backward()
            for parameter in case.net.parameters():
                parameter.grad.div_(1024.0)
            case.step()


@untimed
def signals_at_any_time(case: Case) -> None:
    """A handler that comes anywhere, and looks at the model."""
    seen: list[int] = []

    def handler(*_: Any) -> None:
        with torch.no_grad():
            seen.append(len(case.net.state_dict()))

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        with case.recording():
            for x, y in loader(case.truth, case.count):
                case.train(x, y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

"""What a step is: accumulation, closures, scaled and skipped updates, several optimizers."""

from __future__ import annotations

import copy
from contextlib import nullcontext
from typing import Any

from tests.torch.auto.loops.registry import loop, untimed
from tests.torch.auto.made import Case, Net, SleepySGD, loader, torch


@loop
def plain(case: Case) -> None:
    with case.recording():
        for x, y in loader(case.truth, case.count):
            case.train(x, y)


@loop
def model_to_be_found(case: Case) -> None:
    with case.recording(model=None):
        for x, y in loader(case.truth, case.count):
            case.train(x, y)


@loop
def optimizer_to_be_found(case: Case) -> None:
    with case.recording(optimizer=None):
        for x, y in loader(case.truth, case.count):
            case.train(x, y)


@loop
def all_to_be_found(case: Case) -> None:
    with case.recording(model=None, optimizer=None):
        for x, y in loader(case.truth, case.count):
            case.train(x, y)


@loop
def accumulation(case: Case) -> None:
    with case.recording():
        for i, (x, y) in enumerate(loader(case.truth, 3 * case.count)):
            case.loss(case.net(x), y).backward()
            if i % 3 == 2:
                case.step()


@loop
def accumulation_of_a_changing_number(case: Case) -> None:
    with case.recording():
        for i, (x, y) in enumerate(loader(case.truth, case.count * 5 // 2)):
            case.loss(case.net(x), y).backward()
            if i % 5 in (1, 4):  # 2, then 3 batches a step
                case.step()


@loop
def accumulation_with_a_rest(case: Case) -> None:
    """The last batches are too few for a step; it is made after the loop."""
    with case.recording():
        for _ in range(case.count // 2):
            for i, (x, y) in enumerate(loader(case.truth, 3)):
                case.loss(case.net(x), y).backward()
                if i == 1:
                    case.step()
            case.step()


@loop
def accumulation_over_parts_of_a_batch(case: Case) -> None:
    with case.recording():
        for x, y in loader(case.truth, 2 * case.count, batch_size=2):
            for a, b in zip(x.split(1), y.split(1), strict=True):
                case.loss(case.net(a), b).backward()
            case.step()


@loop
def scheduler_made_after_the_start(case: Case) -> None:
    with case.recording():
        scheduler = torch.optim.lr_scheduler.StepLR(case.optimizer, 3)
        for x, y in loader(case.truth, case.count):
            case.train(x, y)
            scheduler.step()


@loop
def scaled_steps_of_which_some_are_skipped(case: Case) -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**15)
    with case.recording():
        for i, (x, y) in enumerate(loader(case.truth, case.count)):
            loss = case.loss(case.net(x), y)
            scaler.scale(loss * (float("inf") if i % 4 == 3 else 1.0)).backward()
            with case.truth.block("optimizer"):
                scaler.unscale_(case.optimizer)
                torch.nn.utils.clip_grad_norm_(case.net.parameters(), 1.0)
                scaler.step(case.optimizer)
            case.truth.next_step()
            scaler.update()
            case.optimizer.zero_grad()


@untimed
def fused_steps_of_which_some_are_skipped(case: Case) -> None:
    case.optimizer = torch.optim.AdamW(case.net.parameters(), fused=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**15)
    with case.recording():
        for i, (x, y) in enumerate(loader(case.truth, case.count)):
            loss = case.loss(case.net(x), y)
            scaler.scale(loss * (float("inf") if i % 4 == 3 else 1.0)).backward()
            scaler.step(case.optimizer)
            case.truth.next_step()
            scaler.update()
            case.optimizer.zero_grad()


@loop
def closure(case: Case) -> None:
    with case.recording():
        for x, y in loader(case.truth, case.count):

            def again(x: Any = x, y: Any = y) -> Any:
                case.optimizer.zero_grad()
                loss = case.loss(case.net(x), y)
                loss.backward()
                return loss

            case.optimizer.step(again)
            case.truth.next_step()


@loop
def line_search(case: Case) -> None:
    case.optimizer = torch.optim.LBFGS(case.net.parameters(), lr=0.01, max_iter=2)
    with case.recording():
        for x, y in loader(case.truth, case.count):

            def again(x: Any = x, y: Any = y) -> Any:
                case.optimizer.zero_grad()
                loss = case.loss(case.net(x), y)
                loss.backward()
                return loss

            case.optimizer.step(again)
            case.truth.next_step()


@loop
def closure_over_a_loader(case: Case) -> None:
    """One step sees all the data, which the closure fetches."""
    fetched = loader(case.truth, 2)
    with case.recording():
        for _ in range(case.count):

            def again() -> Any:
                case.optimizer.zero_grad()
                for x, y in fetched:
                    loss = case.loss(case.net(x), y)
                    loss.backward()
                return loss

            case.optimizer.step(again)
            case.truth.next_step()


@loop
def two_players(case: Case) -> None:
    """A generator, whose optimizer owns the steps, and a critic."""
    critic = Net(case.truth, inputs=1)
    case.modules.append(critic)
    other = SleepySGD(critic.parameters(), case.truth)
    with case.recording([case.net, critic]):
        for x, _ in loader(case.truth, case.count):
            critic(case.net(x).detach()).mean().backward()
            other.step()
            other.zero_grad()
            (-critic(case.net(x)).mean()).backward()
            case.step()


@loop
def two_players_with_a_scaler(case: Case) -> None:
    critic = Net(case.truth, inputs=1)
    case.modules.append(critic)
    other = SleepySGD(critic.parameters(), case.truth)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    with case.recording([case.net, critic]):
        for x, _ in loader(case.truth, case.count):
            scaler.scale(critic(case.net(x).detach()).mean()).backward()
            scaler.step(other)
            other.zero_grad()
            scaler.scale(-critic(case.net(x)).mean()).backward()
            scaler.step(case.optimizer)
            case.truth.next_step()
            scaler.update()
            case.optimizer.zero_grad()


@loop
def two_optimizers_given(case: Case) -> None:
    head = Net(case.truth, inputs=1)
    case.modules.append(head)
    second = SleepySGD(head.parameters(), case.truth)
    with case.recording([case.net, head], [case.optimizer, second]):
        for x, y in loader(case.truth, case.count):
            case.loss(head(case.net(x)), y).backward()
            second.step()
            second.zero_grad()
            case.step()


@loop
def another_optimizer_of_the_same_steps(case: Case) -> None:
    """The optimizer that is passed is not the one the loop uses, but trains what that trains."""
    unused = SleepySGD(case.net.parameters(), case.truth)
    with case.recording(optimizer=unused):
        for x, y in loader(case.truth, case.count):
            case.train(x, y)


@loop
def optimizer_replaced_midway(case: Case) -> None:
    first = case.optimizer
    with case.recording():
        for i, (x, y) in enumerate(loader(case.truth, case.count)):
            if i == case.count // 2:
                case.optimizer = SleepySGD(case.net.parameters(), case.truth)
            case.train(x, y)
    del first


@loop
def folds(case: Case) -> None:
    """One model after the other; the earlier ones are kept, and 7 steps of each are one."""
    kept = []
    with case.recording(model=None):
        for _ in range(2):
            for i, (x, y) in enumerate(loader(case.truth, 15)):
                case.loss(case.net(x), y).backward()
                case.optimizer.step()
                if not kept or i >= 7:  # see above
                    case.truth.next_step()
                case.optimizer.zero_grad()
            if kept:
                case.truth.steps[15].clear()  # its model is not known yet
            kept.append((case.net, case.optimizer))
            case.net = Net(case.truth)
            case.modules.append(case.net)
            case.optimizer = SleepySGD(case.net.parameters(), case.truth)


@loop
def other_optimizer_steps(case: Case) -> None:
    """The optimizer that is passed trains something else and never steps: not so for long."""
    unused = SleepySGD(torch.nn.Linear(1, 1).parameters(), case.truth)
    with case.recording(optimizer=unused):
        for i, (x, y) in enumerate(loader(case.truth, case.count + 8)):
            case.loss(case.net(x), y).backward()
            case.optimizer.step()
            if i >= 7:
                case.truth.next_step()
            case.optimizer.zero_grad()


@untimed
def steps_inside_the_backward_pass(case: Case) -> None:
    own = {p: torch.optim.SGD([p], lr=0.01) for p in case.net.parameters()}

    def step(parameter: Any) -> None:
        own[parameter].step()
        own[parameter].zero_grad()

    for parameter in own:
        parameter.register_post_accumulate_grad_hook(step)
    with case.recording(optimizer=list(own.values())):
        for x, y in loader(case.truth, case.count):
            case.loss(case.net(x), y).backward()
            case.truth.next_step()


@loop
def steps_told_by_hand_as_well(case: Case) -> None:
    """A loop written for `Profiler`; the optimizer's steps are not counted twice."""
    with case.recording():
        for x, y in loader(case.truth, case.count):
            with case.profiler.step() if case.profiler else nullcontext():
                case.train(x, y)


@loop
def learning_rate_finder(case: Case) -> None:
    """Some steps with a rising rate, after which everything is put back, then training."""
    with case.recording():
        kept = copy.deepcopy((case.net.state_dict(), case.optimizer.state_dict()))
        for group in case.optimizer.param_groups:
            group["lr"] = 1e-6
        for x, y in loader(case.truth, case.count // 4):
            case.train(x, y)
            for group in case.optimizer.param_groups:
                group["lr"] *= 2
        case.net.load_state_dict(kept[0])
        case.optimizer.load_state_dict(kept[1])
        for x, y in loader(case.truth, case.count):
            case.train(x, y)


@loop
def no_optimizer_but_steps_told_by_hand(case: Case) -> None:
    with case.recording(optimizer=None):
        for x, y in loader(case.truth, case.count):
            with case.profiler.step() if case.profiler else nullcontext():
                case.loss(case.net(x), y).backward()
                with torch.no_grad():
                    for parameter in case.net.parameters():
                        parameter.sub_(0.01 * parameter.grad)
                        parameter.grad = None
            case.truth.next_step()


@untimed
def no_optimizer_at_all(case: Case) -> None:
    with case.recording(optimizer=None):
        for x, y in loader(case.truth, case.count):
            case.loss(case.net(x), y).backward()
            with torch.no_grad():
                for parameter in case.net.parameters():
                    parameter.sub_(0.01 * parameter.grad)
                    parameter.grad = None

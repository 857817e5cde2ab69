"""Seams that this machine has no use for, called directly; and what wrappers leave behind."""

from __future__ import annotations

import copy
import gc
import pickle
import time
from pathlib import Path
from typing import Any

import pytest

from tests.torch.auto.made import (
    Case,
    SleepySGD,
    check_times,
    loader,
    torch,
)  # skips without pytscope-torch

from pytscope.recording.keys import CLOSE, Open  # isort: skip
from pytscope_torch import seams  # isort: skip
from pytscope_torch.given import wrapped  # isort: skip
from pytscope_torch.seams.blocks import transfers  # isort: skip
from pytscope_torch.seams.modules import SLOT_NAME  # isort: skip
from tests.torch.auto.loops.optimizers import Accelerated, Lookahead  # isort: skip
from tests.torch.auto.loops.surroundings import Average  # isort: skip


def test_copies_of_host_tensors_to_a_device_are_h2d(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device is the one without memory; moving there is made slow."""
    move = torch.Tensor.to

    def slowly(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        moved = move(tensor, *args, **kwargs)
        if moved.device.type != tensor.device.type:
            case.truth.sleep("h2d", 0.003)
        return moved

    case = Case(tmp_path)
    monkeypatch.setattr(torch.Tensor, "to", slowly)
    with case.recording():
        undo = transfers(case.profiler._stamps)
        for x, y in loader(case.truth, case.count):
            x.to("meta")
            x.to(device="meta", dtype=torch.float16)
            x.to(torch.float64)  # stays on the host
            case.train(x, y)
        undo()
    assert torch.Tensor.to is slowly
    check_times(case)


def test_what_comes_from_a_device_or_inside_a_pass_is_no_transfer(tmp_path: Path) -> None:
    def moving(_: Any, args: Any) -> None:
        args[0].to("meta")

    case = Case(tmp_path, pace=0, count=5)
    case.net.register_forward_pre_hook(moving)
    with case.recording():
        undo = transfers(case.profiler._stamps)
        for x, y in loader(case.truth, case.count):
            torch.empty(2, device="meta").to(torch.float64)
            case.loss(case.net(x), y).backward()
            case.step()
        undo()
    assert "h2d" not in case.timeline().phases


class Place:
    """A class of which attributes are wrapped."""

    def told(self) -> str:
        return "base"


class Lower(Place):
    """One that inherits them."""


def test_an_attribute_that_was_inherited_is_inherited_again() -> None:
    undo = seams.put(Lower, "told", lambda _: "ours")
    assert Lower().told() == "ours"
    undo()
    assert "told" not in vars(Lower)
    assert Lower().told() == "base"


def test_wrappers_over_wrappers_leave_the_original_whoever_goes_first() -> None:
    original = vars(Place)["told"]
    undo = [seams.put(Place, "told", lambda _, i=i: str(i)) for i in range(3)]
    for one in (0, 1, 2):
        undo[one]()
    assert vars(Place)["told"] is original


def test_an_undoing_that_fails_does_not_keep_the_others_from_theirs() -> None:
    done: list[str] = []

    def fails() -> None:
        raise RuntimeError("gone")

    seams.together([lambda: done.append("first"), fails, lambda: done.append("last")])()
    assert done == ["last", "first"]


def test_what_is_undone_twice_is_undone_once() -> None:
    done: list[str] = []
    undo = seams.together([lambda: done.append("first")])
    undo()
    undo()
    assert done == ["first"]


class Keeping(torch.nn.Linear):
    """A module that pickles and copies its attributes as they are."""

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        made = self.__class__.__new__(self.__class__)
        made.__dict__ = copy.deepcopy(self.__dict__, memo)
        return made


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_of_a_module_that_keeps_its_slot_are_on_their_own(
    tmp_path: Path, copied: Any
) -> None:
    model = Keeping(4, 1)
    case = Case(tmp_path, pace=0)
    with case.recording(model):
        model(torch.ones(1, 4))
        made = copied(model)
        assert made.__dict__.get(SLOT_NAME) is None
        with torch.no_grad():
            made.weight.zero_()
            made.bias.zero_()
            assert made(torch.ones(1, 4)).item() == 0
        assert SLOT_NAME in model.__dict__
    assert SLOT_NAME not in model.__dict__


def test_a_replica_made_of_a_modules_attributes_computes_with_its_own(tmp_path: Path) -> None:
    """What data parallelism over several devices does."""
    case = Case(tmp_path, pace=0)
    model = torch.nn.Linear(4, 1)
    with case.recording(model):
        replica = model._replicate_for_data_parallel()
        replica._parameters = {"weight": torch.zeros(1, 4), "bias": torch.full((1,), 7.0)}
        assert replica(torch.ones(1, 4)).item() == 7
        average = Average(case.net)
        assert SLOT_NAME not in average.model.__dict__


def test_the_optimizers_inside_of_wrappers(tmp_path: Path) -> None:
    case = Case(tmp_path, pace=0)
    inner = case.optimizer

    class Plain:
        optimizer = inner

    class Endless:
        optimizer: Any = None

    Endless.optimizer = Endless
    assert wrapped(None) == []
    assert wrapped(inner) == wrapped(Plain()) == [inner]
    assert wrapped(Endless) == []
    accelerated, looking = Accelerated(inner), Lookahead(inner)
    assert wrapped(accelerated) == [accelerated, inner]
    assert wrapped(looking) == [looking, inner]


def test_an_owner_that_is_gone_is_followed_by_the_next_that_steps(tmp_path: Path) -> None:
    case = Case(tmp_path, pace=0, count=5)
    with case.recording(optimizer=None):
        for _ in range(3):
            case.optimizer = SleepySGD(case.net.parameters(), case.truth)
            for x, y in loader(case.truth, case.count):
                case.train(x, y)
    assert len(case.timeline()) == 15


def test_blocks_are_balanced_when_an_interrupt_comes_into_a_stamp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever call of the clock an interrupt comes in, recording goes on after it.

    Not one in a callback of the garbage collector, which nothing ever leaves.
    """
    monkeypatch.setattr(gc, "callbacks", [])
    calls, at = [0], [10**9]

    def clock() -> int:
        calls[0] += 1
        if calls[0] == at[0]:
            at[0] = 10**9
            raise KeyboardInterrupt
        return time.perf_counter_ns()

    case = Case(tmp_path, pace=0)
    batch = torch.ones(1, 4), torch.ones(1, 1)
    trained = 0
    with case.recording():
        case.profiler._stamps._clock = case.profiler._stamps.reading = clock
        for place in range(1, 25):
            calls[0], at[0] = 0, place
            try:
                case.train(*batch)
            except KeyboardInterrupt:
                case.optimizer.zero_grad()
            at[0] = 10**9
            case.train(*batch)
            trained += 1
    records = list(case.timeline().records())
    assert len(records) >= trained
    for record in records[-1:]:
        assert {"forward", "backward", "optimizer"} <= set(record.phases_ns)


def test_keys_of_a_transfer_close_what_they_open(tmp_path: Path) -> None:
    case = Case(tmp_path, pace=0)
    with case.recording():
        stamps = case.profiler._stamps
        since = stamps.now()
        stamps.block(Open("h2d"), since)
        assert case.profiler._events[-2] is CLOSE
        stamps.block(Open("h2d"), since)  # something was stamped meanwhile
        assert case.profiler._events[-4::2][0] is not CLOSE or len(case.profiler._events) == 4


def test_wrapped_functions_are_found_by_name_in_another_process(tmp_path: Path) -> None:
    """As the target of a process that is spawned, say, to save in the background."""
    case = Case(tmp_path, pace=0)
    with case.recording():
        for function in (torch.save, torch.distributed.all_reduce, torch.autograd.backward):
            assert pickle.loads(pickle.dumps(function)) is function
        named = pickle.dumps(torch.save)
    assert pickle.loads(named) is torch.save


def test_a_long_evaluation_stays_one_when_it_is_written_in_parts(tmp_path: Path) -> None:
    case = Case(tmp_path, pace=0)
    x, y = torch.ones(1, 4), torch.ones(1, 1)
    with case.recording(inline=True):
        for _ in range(3):
            case.train(x, y)
        case.profiler._writer.flush()
        for part in (9000, 500):
            case.net.eval()
            kept = torch.utils.data.TensorDataset(torch.ones(part, 4))
            for (a,) in torch.utils.data.DataLoader(kept):  # with gradients, as many forget
                case.net(a)
            case.net.train()
            stamped = len(case.profiler._events)
            case.profiler._writer.flush()
            assert part < 1000 or len(case.profiler._events) < stamped
        case.train(x, y)
    phases = list(case.timeline().records())[-1].phases_ns  # writing is in it, as `other` and `gc`
    assert phases["forward"] + phases.get("data", 0) < 0.05 * phases["eval"]

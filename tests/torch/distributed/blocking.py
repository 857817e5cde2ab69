"""Every call of torch.distributed that blocks, while the other rank is late; what was stamped.

python -m tests.torch.distributed.blocking RANK RANKS FOLDER
"""

from __future__ import annotations

import inspect
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import all_reduce as imported_before
from torch.distributed import distributed_c10d as c10d

import pytscope
from pytscope.auto import AutoProfiler

RANK, FOLDER = int(sys.argv[1]), Path(sys.argv[3])  # of two
LATE_S = 0.02
"""The second rank comes so much later to each call."""
OTHER = 1 - RANK


def some(count: int = 2) -> Any:
    return torch.ones(count)


def pair() -> Any:
    return [some(), some()]


def only(rank: int, value: Any) -> Any:
    return value if rank == RANK else None


ARGUMENTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "all_gather": lambda: (pair(), some()),
    "all_gather_coalesced": lambda: ([[some()], [some()]], [some()]),
    "all_gather_into_tensor": lambda: (some(4), some()),
    "all_gather_single": lambda: (some(4), some()),
    "all_reduce": lambda: (some(),),
    "all_reduce_coalesced": lambda: ([some()],),
    "all_to_all": lambda: (pair(), pair()),
    "all_to_all_single": lambda: (some(), some()),
    "barrier": tuple,
    "broadcast": lambda: (some(), 1),
    "gather": lambda: (some(), only(0, pair()), 0),
    "reduce": lambda: (some(), 0),
    "reduce_scatter": lambda: (some(), pair()),
    "reduce_scatter_single": lambda: (some(), some(4)),
    "reduce_scatter_tensor": lambda: (some(), some(4)),
    "scatter": lambda: (some(), only(1, pair()), 1),
}
"""Of each collective that may be only started, its first arguments."""


def forms() -> Iterator[tuple[str, Callable[[], Any], bool]]:
    """Each collective, waited for and only started, told by name and by position."""
    for name, made in ARGUMENTS.items():
        function = getattr(dist, name, None)
        if function is None:
            continue
        parameters = inspect.signature(function).parameters
        place = [*parameters].index("async_op")
        defaults = [parameter.default for parameter in parameters.values()]

        def placed(started: bool, made: Any = made, rest: Any = defaults[:place]) -> Any:
            given = made()
            return (*given, *rest[len(given) :], started)

        def call(*args: Any, name: str = name, **words: Any) -> Any:
            return getattr(dist, name)(*args, **words)  # the one that is there by now

        yield name, lambda call=call, made=made: call(*made()), False
        yield f"{name} told", lambda call=call, made=made: call(*made(), async_op=False), False
        yield f"{name} placed", lambda call=call, placed=placed: call(*placed(False)), False
        yield f"{name} started", lambda call=call, made=made: call(*made(), async_op=True), True
        yield f"{name} started by place", lambda call=call, p=placed: call(*p(True)), True


def sent(sending: Callable[..., Any], receiving: Callable[..., Any], **words: Any) -> Any:
    """From the late rank to the other one."""
    value = [7] if words.pop("objects", False) else some()
    return sending(value, OTHER, **words) if RANK else receiving(value, OTHER, **words)


def batch() -> Any:
    """One work that is not waited for would be cancelled."""
    operation = dist.P2POp(dist.isend if RANK else dist.irecv, some(), OTHER)
    return dist.batch_isend_irecv([operation])[0]


def coalesced() -> None:
    with c10d._coalescing_manager():
        for _ in range(2):
            dist.all_reduce(some())


def of_functions(name: str, *args: Any) -> Any:
    """A differentiable collective, forward and backward."""
    import torch.distributed.nn.functional as nn_functional

    return getattr(nn_functional, name)(some().requires_grad_(), *args)


def functional() -> Any:
    from torch.distributed import _functional_collectives as collectives

    return collectives.all_reduce(some(), "sum", dist.group.WORLD)


def waited_for() -> None:
    from torch.distributed import _functional_collectives as collectives

    collectives.wait_tensor(functional())


def of_dtensor() -> None:
    from torch.distributed.tensor import DTensor, Partial

    DTensor.from_local(some(), mesh(), [Partial()]).full_tensor()


@cache
def mesh() -> Any:
    return dist.init_device_mesh("cpu", (2,))


ALONE: dict[str, Callable[[], Any]] = {
    "all_gather_object": lambda: dist.all_gather_object([None, None], RANK),
    "broadcast_object_list": lambda: dist.broadcast_object_list([RANK], 1),
    "gather_object": lambda: dist.gather_object(RANK, only(0, [None, None]), 0),
    "scatter_object_list": lambda: dist.scatter_object_list([None], only(1, [3, 4]), 1),
    "send_object_list": lambda: sent(dist.send_object_list, dist.recv_object_list, objects=True),
    "monitored_barrier": lambda: dist.monitored_barrier(None),
    "send": lambda: sent(dist.send, dist.recv),
    "new_group": lambda: dist.new_group([0, 1]),
    "new_subgroups": lambda: dist.new_subgroups(2),
    "new_subgroups_by_enumeration": lambda: dist.new_subgroups_by_enumeration([[0, 1]]),
    "init_device_mesh": lambda: dist.init_device_mesh("cpu", (2, 1)),
    "coalesced": coalesced,
    "imported before": lambda: imported_before(some()),
    "of the group": lambda: dist.group.WORLD.allreduce([some()]).wait(),
    "nn.functional.all_gather": lambda: of_functions("all_gather"),
    "nn.functional.all_reduce": lambda: of_functions("all_reduce"),
    "nn.functional.broadcast": lambda: of_functions("broadcast", 1),
    "functional, used": lambda: functional() + 1,
    "functional, waited for": waited_for,
    "DTensor": of_dtensor,
}
STARTED: dict[str, Callable[[], Any]] = {
    "isend": lambda: sent(dist.isend, dist.irecv),
    "batch_isend_irecv": batch,
    "functional": functional,
}


def cases() -> Iterator[tuple[str, Callable[[], Any], bool]]:
    yield from forms()
    for name, call in ALONE.items():
        if hasattr(dist, name) or not name.isidentifier() or name in ("coalesced", "DTensor"):
            yield name, call, False
    yield from ((name, call, True) for name, call in STARTED.items())


def tried(profiler: Any, call: Callable[[], Any], *, starts: bool) -> int | str:
    """One call, the second rank late; what is started is waited for behind a phase of its own.

    Nanoseconds of what blocks, or why it cannot be done.
    """
    if RANK:
        time.sleep(LATE_S)
    began = time.perf_counter_ns()
    try:
        work = call()
    except (RuntimeError, ValueError, NotImplementedError) as error:  # gloo has it not
        return str(error).splitlines()[0]
    if starts:
        with profiler.phase("between"):
            time.sleep(0.001)
        began = time.perf_counter_ns()
        work.wait()
    return time.perf_counter_ns() - began


def met() -> Any:
    """A store that tells at once; the first rank has it."""
    told = FOLDER / "port"
    if RANK == 0:
        store = dist.TCPStore("localhost", 0, 2, is_master=True, wait_for_workers=False)
        told.with_suffix(".new").write_text(str(store.port))
        told.with_suffix(".new").rename(told)
        return store
    while not told.exists():
        time.sleep(0.01)
    return dist.TCPStore("localhost", int(told.read_text()), 2, is_master=False)


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", FutureWarning)  # some of them are deprecated
    warnings.simplefilter("ignore", UserWarning)
    store = met()
    dist.init_process_group("gloo", store=store, rank=RANK, world_size=2)
    mesh()
    parameter = torch.nn.Parameter(torch.ones(1))
    parameter.grad = torch.ones(1)
    optimizer = torch.optim.SGD([parameter], 0.1)
    starting, took = {}, {}
    profiler = AutoProfiler(FOLDER / "run", None, optimizer, distributed=True, warmup=0).start()
    for _ in range(3):
        optimizer.step()
    for name, call, starts in cases():
        starting[name] = starts
        store.set(f"{name} {RANK}", "here")
        store.wait([f"{name} {OTHER}"])
        took[name] = tried(profiler, call, starts=starts)
        optimizer.step()
    profiler.finish()
    store.set(f"over {RANK}", "here")
    store.wait([f"over {OTHER}"])
    records = list(pytscope.open(FOLDER / "run").rank(RANK).records())[3:]
    steps = {name: record.segments for name, record in zip(took, records, strict=True)}
    dist.destroy_process_group()
    seen = {"steps": steps, "starts": starting, "took": took, "late": LATE_S * 1e9}
    (FOLDER / f"{RANK}.json").write_text(json.dumps(seen))


if __name__ == "__main__":
    main()

"""Where a rank waits for others: collectives, `Work.wait`, DDP's broadcast of its buffers."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from pytscope.recording.keys import CLOSE
from pytscope_torch.seams import Undo, put, together
from pytscope_torch.seams.frames import pass_over
from pytscope_torch.seams.interruptions import compiled_code
from pytscope_torch.seams.late import Late
from pytscope_torch.seams.reductions import reductions
from pytscope_torch.stamps import COMM, Stamps

Unless = Callable[..., bool] | None
"""Told a call's arguments, whether it does not block; None: it does."""
COLLECTIVES = (
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "gather_object",
    "monitored_barrier",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
)
"""What blocks until others come; `isend` and `irecv` start something, and are compared by name."""
GROUPS = (
    "init_device_mesh",
    "init_process_group",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "split_group",
)
"""What makes groups: each of their ranks waits until all others are there."""
BROADCAST = "_broadcast_coalesced"
"""What DDP sends its buffers with, in a forward pass."""
ASYNC = "async_op"
FUNCTIONAL = "torch.distributed._functional_collectives"
"""The module whose results are waited for when they are used, once there is one."""
RESULT = "AsyncCollectiveTensor"
"""The class of such results."""


def waits(stamps: Stamps, late: Late) -> Undo:
    """Stamp what blocks a rank until others come, wherever it is called, as `comm`."""
    if not torch.distributed.is_available():
        return together([])
    from torch.distributed import Work, distributed_c10d  # there only where it is available

    package, future = torch.distributed, torch._C.Future  # noqa: SLF001  # what `Work.get_future` gives
    coalescing = partial(deferred, getattr(distributed_c10d, "_world", None))
    found: list[tuple[Any, str, Unless]] = [
        *((package, name, coalescing) for name in COLLECTIVES if hasattr(package, name)),
        *((package, name, None) for name in (BROADCAST, *GROUPS) if hasattr(package, name)),
        *((Work, name, None) for name in ("wait", "synchronize")),
        (future, "wait", of_the_program),
    ]
    undo = [
        put(owner, name, waiting(stamps, getattr(owner, name), unless))
        for owner, name, unless in found
    ]
    late.want(FUNCTIONAL, ("wait_tensor", RESULT), partial(functional_waits, stamps))
    return together([*undo, reductions(stamps)])


def functional_waits(stamps: Stamps, module: Any) -> Undo:
    """Stamp what blocks a rank when it uses the result of a functional collective.

    Compiled code that calls `wait_tensor` is compiled again when that is another one than
    before. So where there is some, it stays, and what calls it in other code is stamped.
    """
    owner, names = module, ["wait_tensor"]
    if compiled_code():
        owner, names = getattr(module, RESULT), ["trigger_wait", "wait"]
    over = partial(waits_for_nothing, stamps)
    return together([put(owner, n, waiting(stamps, getattr(owner, n), over)) for n in names])


def waiting(
    stamps: Stamps, function: Callable[..., Any], unless: Unless = None
) -> Callable[..., Any]:
    """A function that blocks until others come.

    One that is told `async_op` only starts something.

    Args:
        stamps: Where to.
        function: The function.
        unless: Tells from a call's positional arguments that it does not block; or None.
    """
    compiling = torch.compiler.is_dynamo_compiling
    place = place_of(function)

    @functools.wraps(function)
    def stamped(*args: Any, **kwargs: Any) -> Any:
        if (
            compiling()
            or stamps.waiting
            or kwargs.get(ASYNC)
            or (len(args) > place and args[place])
            or not stamps.here()
            or (unless is not None and unless(*args))
        ):
            return function(*args, **kwargs)
        inside, stamps.inside = stamps.inside, True
        reading, events = stamps.reading, stamps.events
        try:
            stamps.waiting = True
            now = reading()
            events.append(COMM)
            events.append(now)
            if stamps.device is not None:
                stamps.device.open()
            return function(*args, **kwargs)
        finally:
            if stamps.device is not None:
                stamps.device.close()
            now = reading()
            events.append(CLOSE)
            events.append(now)
            stamps.waiting = False
            stamps.inside = inside

    pass_over(stamped)
    return stamped


def deferred(world: Any, *_: Any) -> bool:
    """Whether collectives are put off to the end of a block, in which they are coalesced."""
    return bool(getattr(world, "pg_coalesce_state", None))


def of_the_program(future: Any, *_: Any) -> bool:
    """Whether a future is one that the program made, and not what a collective gave it."""
    plain = type(future) is torch._C.Future  # noqa: SLF001  # as above
    return not plain or not torch.distributed.is_initialized()


def waits_for_nothing(stamps: Stamps, result: Any = None, *_: Any) -> bool:
    """Whether a result has been waited for, or a compiler only has a tensor stand for it."""
    return stamps.compiling or getattr(result, "completed", False) is True


def place_of(function: Callable[..., Any]) -> int:
    """How many arguments come before `async_op`; more than any call has where there is none."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code is not None else ()
    return names.index(ASYNC) if ASYNC in names else sys.maxsize

"""Forward passes: the call of the module the loop calls, and of no other.

A module's call goes through its `_compiled_call_impl` when it has one, which is
how `Module.compile()` works. Putting a wrapper there gives both edges of the
call, also when it raises; it is no hook, so it does not slow the call down, is
not seen by Dynamo's tracer and is left behind by `copy` and `pickle`. The
wrapper's own frame is passed over by Dynamo, so that nothing is compiled that
was not before, and no graph is cut.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable
from sys import getrefcount
from typing import Any

import torch
from torch import nn

from pytscope.recording.keys import CLOSE
from pytscope_torch.seams.frames import keep_out, pass_over
from pytscope_torch.seams.living import kinds_of, living
from pytscope_torch.seams.references import ALONE, NEVER, SLOT_NAME
from pytscope_torch.stamps import EVALUATE, FORWARD, NO_GRAD, Stamps

gradients = torch.is_grad_enabled


class Modules:
    """The modules whose calls are stamped as forward passes.

    Args:
        stamps: Where to.
        modules: The modules given; none, and they are found.
        stepping: Called before a call that comes in an optimizer's step.

    Attributes:
        seen: Whether a call of one has been stamped.
        called: Called before the first call that is stamped, or None.
    """

    def __init__(
        self, stamps: Stamps, modules: Iterable[nn.Module], stepping: Callable[[], None]
    ) -> None:
        self.stepping = stepping
        self._stamps = stamps
        self._given = tuple(modules)
        self._attached: dict[int, Attached] = {}
        self.seen = False
        self.called: Callable[[], None] | None = None

    @property
    def modules(self) -> list[nn.Module]:
        """Those whose calls are stamped, outside first where one is part of another."""
        found = [attached.module for attached in self._attached.values()]
        inner = {id(part) for module in found for part in module.modules() if part is not module}
        return [module for module in found if id(module) not in inner]

    def attach(self) -> None:
        """Stamp the calls of the modules given.

        With several processes, a parallel wrapper that exists already is
        stamped instead of what it wraps: it communicates around the call.
        """
        parallel = torch.distributed.is_available() and torch.distributed.is_initialized()
        for module in self._given:
            self._attach(outermost(module) if parallel else module)

    def see(self, module: nn.Module) -> None:
        """Stamp the calls of one more module, which is known to be called."""
        self._attach(module)

    def look(self, optimizer: Any) -> None:
        """Find the module whose parameters an optimizer steps, if no call was seen."""
        if self.seen:
            return
        for module in self._given:
            self._attach(outermost(module))
        self.look_again(optimizer)

    def look_again(self, optimizer: Any) -> None:
        """Find the module of another optimizer than before, if none was given."""
        if not self._given and isinstance(optimizer, torch.optim.Optimizer):
            owner = owner_of(optimizer)
            if owner is not None:
                self._attach(owner)

    def before_a_call(self) -> None:
        """The first call that is stamped, or one in an optimizer's step, comes."""
        if not self.seen and self.called is not None:
            self.called()
        self.seen = True
        if self._stamps.stepping:
            self.stepping()

    def keep(self) -> None:
        """Stamp a module again whose slot something else has taken: it was compiled in place."""
        for attached in self._attached.values():
            if attached.slots.get(SLOT_NAME) is not attached and not attached.there:
                self._attach(attached.module)
                return

    def undo(self) -> None:
        """Take every stamp out again."""
        for attached in self._attached.values():
            attached.undo()
        self._attached.clear()

    def _attach(self, module: nn.Module) -> None:
        known = self._attached.get(id(module))
        if known is None or not known.there:  # `Module.compile()` takes its place
            if known is not None:
                known.disown()
            self._attached[id(module)] = Attached(self, self._stamps, module)


def owner_of(optimizer: torch.optim.Optimizer) -> nn.Module | None:
    """The outermost module that holds an optimizer's first parameter."""
    parameter = next((p for group in optimizer.param_groups for p in group["params"]), None)
    modules: list[nn.Module] = living(kinds_of(nn.Module))
    holder = next((m for m in modules if holds(m, "_parameters", parameter)), None)
    seen: set[int] = set()
    while holder is not None and id(holder) not in seen:
        seen.add(id(holder))
        above = next((m for m in modules if holds(m, "_modules", holder)), None)
        if above is None:
            return holder
        holder = above
    return holder


def outermost(module: nn.Module) -> nn.Module:
    """The module that wraps a module for the loop to call: compiled or parallel.

    Only modules that already exist are found.
    """
    kinds = wrapping_types()
    wrappers: list[nn.Module] = living(kinds) if kinds else []
    for _ in wrappers:
        above = next(
            (m for m in wrappers if m is not module and holds(m, "_modules", module)), None
        )
        if above is None:
            break
        module = above
    return module


def holds(module: nn.Module, where: str, wanted: object) -> bool:
    """Whether a module has an object among its own parameters or submodules."""
    held = getattr(module, "__dict__", {}).get(where)
    return wanted is not None and isinstance(held, dict) and any(v is wanted for v in held.values())


def wrapping_types() -> set[type]:
    """Types whose instances stand in front of a module, of the packages loaded so far."""
    names = (
        ("torch._dynamo.eval_frame", "OptimizedModule"),
        ("torch.nn.parallel.distributed", "DistributedDataParallel"),
        ("torch.nn.parallel.data_parallel", "DataParallel"),
    )
    loaded = ((sys.modules.get(module), name) for module, name in names)
    return {kind for module, name in loaded if (kind := getattr(module, name, None)) is not None}


class Attached:
    """A stamping wrapper in a module's call slot.

    Copies of a module's attributes, which averaged weights and data-parallel
    replicas are made of, take the slot along: copied deeply or pickled it turns
    into what was in it before, and a call that comes from a shallow copy goes to
    that copy.

    Args:
        found: Told that a call was seen.
        stamps: Where to.
        module: The module.

    Attributes:
        module: As given.
        slots: Its attributes.
        before: What was in the slot: a compiled call, another recording's wrapper, or None.
        plain: Whether nothing compiled is under it.
        over: Whether it is out of use.
    """

    __slots__ = (
        *("_alone", "_call", "_found", "_shared", "_stamps"),
        *("before", "module", "over", "plain", "slots"),
    )

    def __init__(self, found: Modules, stamps: Stamps, module: nn.Module) -> None:
        self._found = found
        self._stamps = stamps
        self.module = module
        self.slots = module.__dict__
        self.before = before = self.slots.get(SLOT_NAME)
        self._call = module._call_impl if before is None else before  # noqa: SLF001  # see the module docstring
        self.plain: bool = before.plain if isinstance(before, Attached) else before is None
        self.over = False
        self._alone = ALONE.wrapper + 1  # the registry's
        self._shared = ALONE.slots
        self.slots[SLOT_NAME] = self

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The module's call, stamped."""
        slots = self.slots
        if (
            getrefcount(self) + (not kwargs) != self._alone
            or getrefcount(slots) != self._shared
            or slots.get(SLOT_NAME) is not self
        ) and self.plain:
            caller = sys._getframe(1).f_locals.get("self")  # noqa: SLF001  # whose slot it is called from
            if (
                caller is not self.module
                and isinstance(caller, nn.Module)
                and caller.__dict__.get(SLOT_NAME) is self
            ):
                return caller._call_impl(*args, **kwargs)  # noqa: SLF001  # as above
        stamps = self._stamps
        if stamps.inside or not stamps.here():
            return self._call(*args, **kwargs)
        if stamps.stepping or not self._found.seen:
            self._found.before_a_call()
        stamps.inside = stamps.passed = True
        reading, events = stamps.reading, stamps.events
        try:
            if gradients() or wanted(args) or wanted(kwargs.values()):
                key = FORWARD
            else:
                key = NO_GRAD if self.module.training else EVALUATE
            now = reading()
            events.append(key)
            events.append(now)
            out = self._call(*args, **kwargs)
        except BaseException:
            stamps.broke()
            raise
        else:
            now = reading()
            events.append(CLOSE)
            events.append(now)
        finally:
            stamps.inside = False
        return out

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """What was in the slot before."""
        return copy.deepcopy(self.before, memo)

    def __reduce__(self) -> tuple[Any, ...]:
        """What was in the slot before, for a pickled module that keeps its slot."""
        return (type(None), ()) if self.before is None else (_itself, (self.before,))

    @property
    def there(self) -> bool:
        """Whether the wrapper is still in the slot, or under that of another recording."""
        found = self.slots.get(SLOT_NAME)
        while isinstance(found, Attached) and found is not self:
            found = found.before
        return found is self

    def disown(self) -> None:
        """The registry holds it no more: references tell nothing from here on."""
        self._alone = NEVER.wrapper

    def undo(self) -> None:
        """Put back what was there, unless something else is by now."""
        self.over = True
        self.disown()
        if self.slots.get(SLOT_NAME) is not self:
            return
        before = self.before
        while isinstance(before, Attached) and before.over:
            before = before.before
        if before is None:
            del self.slots[SLOT_NAME]
        else:
            self.slots[SLOT_NAME] = before


def is_compiled(module: nn.Module) -> bool:
    """Whether a module, or a part of it, runs compiled code when it is called."""
    for part in module.modules():
        slot = part.__dict__.get(SLOT_NAME)
        plain = slot.plain if isinstance(slot, Attached) else slot is None
        if not plain or type(part).__name__ == "OptimizedModule":
            return True
    return False


def wanted(values: Iterable[Any]) -> bool:
    """Whether one of the values is a tensor whose gradient is wanted.

    A forward pass that is given one with gradients off is to be run again in
    the backward pass: reentrant activation checkpointing.
    """
    for value in values:
        if isinstance(value, torch.Tensor):
            if value.requires_grad:
                return True
        elif isinstance(value, (tuple, list)):
            if wanted(value):
                return True
        elif isinstance(value, dict) and wanted(value.values()):
            return True
    return False


def _itself(value: Any) -> Any:
    return value


pass_over(Attached.__call__)
keep_out(wanted, Modules.before_a_call)

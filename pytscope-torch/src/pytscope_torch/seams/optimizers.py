"""Optimizer steps, and which of them ends a training step.

The owner of the steps is the optimizer passed, else the first that stepped;
its last event ends the step: the end of `step()`, or of `GradScaler.step`
around it, which also knows that an update was skipped.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from pytscope.recording.keys import CLOSE
from pytscope_torch.seams import Undo, put, together
from pytscope_torch.seams.frames import pass_over
from pytscope_torch.stamps import OPTIMIZER, TIDYING, Stamps

HOOKED = Optimizer.profile_hook_step(Optimizer.step).__code__
"""Code of the frame that calls an optimizer's hooks around its step."""
PATIENCE = 8
"""So many times the steps that others made between two of the owner's, and it is given up."""


class Owner:
    """The optimizer whose steps are the run's steps.

    Args:
        optimizers: The one passed, outside first if it wraps another, or none.
        say: Takes a sentence worth a warning.
        steps: Tells how many steps have ended.

    Attributes:
        changed: Whether it is another one than before, until somebody has seen that.
    """

    def __init__(
        self, optimizers: Iterable[Any], say: Callable[[str], None], steps: Callable[[], int]
    ) -> None:
        self._found = self._given = [weakref.ref(optimizer) for optimizer in optimizers]
        self._steps = steps
        self._ended = 0
        self._strangers = 0
        self._most = 1
        self._say = say
        self.changed = False

    @property
    def found(self) -> Any:
        """The optimizer, the innermost of a wrapped one; or None."""
        return self._found[-1]() if self._found else None

    def is_(self, optimizers: Sequence[Any]) -> bool:
        """Whether a step of these optimizers, one inside the other, is one of the run's."""
        if among(self._found, optimizers):
            return True
        ended = self._steps()
        if among(self._given, optimizers):  # it was given up too early
            self._most = max(self._most, ended - self._ended)
            self._found, self._ended, self._strangers = self._given, ended, 0
            return True
        if ended != self._ended:  # the owner has stepped since
            self._most = max(self._most, self._strangers)
            self._ended, self._strangers = ended, 0
        self._strangers += 1
        owner = self.found
        if owner is not None and not takes_over(optimizers[0], owner):
            if self._strangers < PATIENCE * self._most:
                return False
            self._say(given_up(ended, optimizers[0]))
        self.changed = bool(self._found)
        self._found, self._strangers = [weakref.ref(one) for one in optimizers], 0
        return True


def among(owners: list[Any], optimizers: Sequence[Any]) -> bool:
    """Whether one of some optimizers is an owner, or steps by one; then it is one from here on."""
    for ref in tuple(owners):
        owner = ref()
        for optimizer in optimizers:
            if owner is optimizer:
                return True
            if owner is not None and twins(owner, optimizer):
                owners.append(weakref.ref(optimizer))
                return True
    return False


def given_up(ended: int, other: Any) -> str:
    """That an optimizer does not step, and whose steps count instead."""
    who = (
        f"the optimizer of the first {ended} steps has stepped no more"
        if ended
        else "the optimizer passed to AutoProfiler has not stepped"
    )
    return f"{who}; from there on steps are those of the {type(other).__name__} that does"


def twins(one: Any, other: Any) -> bool:
    """Whether two optimizers hold the very same groups of parameters: one steps by the other."""
    first, second = (
        getattr(optimizer, "param_groups", None) or [None] for optimizer in (one, other)
    )
    return first[0] is not None and first[0] is second[0]


def takes_over(one: Any, other: Any) -> bool:
    """Whether an optimizer holds a parameter of another one: it trains in that one's place."""
    own, others = (
        {id(p) for group in getattr(optimizer, "param_groups", ()) for p in group["params"]}
        for optimizer in (one, other)
    )
    return not own.isdisjoint(others)


class Steps:
    """Turns optimizer events into blocks and step ends.

    Args:
        stamps: Where to.
        owner: Whose steps count.

    Attributes:
        elsewhere: Whether an optimizer has stepped in another thread.
    """

    def __init__(self, stamps: Stamps, owner: Owner) -> None:
        self._stamps = stamps
        self._owner = owner
        self._nest: list[Any] = []
        self._told = True
        self._scaling = False
        self._alone = False
        self._known: Callable[[], Any] = _nobody
        self.elsewhere = False

    @property
    def owner(self) -> Any:
        """The optimizer whose steps are the run's steps, once it is known."""
        return self._owner.found

    def before(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        """An optimizer's step begins."""
        stamps = self._stamps
        if stamps.inside or not stamps.here():
            return
        if stamps.stepping or self._scaling or self._known() is not optimizer:
            self._begin(optimizer)
            return
        reading, events = stamps.reading, stamps.events
        now = reading()
        events.append(OPTIMIZER)
        events.append(now)
        stamps.stepping = 1
        self._alone = True

    def _begin(self, optimizer: Any) -> None:
        """The step of an optimizer not known yet, or inside of another's."""
        stamps = self._stamps
        if self._alone:  # and now there is another one
            self._alone, self._told = False, True
            self._nest[:] = [known for known in (self._known(),) if known is not None]
        if stamps.stepping:
            self.abandoned()
        if not stamps.stepping and not self._scaling:
            stamps.open(OPTIMIZER)
            self._nest.clear()
            self._told = True
        stamps.stepping += 1
        self._nest.append(optimizer)
        if self._told and self._known() is not optimizer:
            self._told = sys._getframe(2).f_code is HOOKED  # noqa: SLF001  # see `abandoned`

    def after(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        """An optimizer's step is over."""
        stamps = self._stamps
        if not stamps.here():
            self.elsewhere = True
            return
        if self._alone and stamps.stepping and not stamps.inside:
            self._alone = False
            stamps.stepping = 0
            stamps.end_step(closing=True, optimizer=optimizer)
            return
        if stamps.inside:  # it stepped in the backward pass
            stamps.owed = stamps.owed or self._owner.is_((optimizer,))
            return
        if not stamps.stepping:
            return
        stamps.stepping -= 1
        if stamps.stepping or self._scaling:
            return
        owned = self._owned()
        self._nest.clear()
        if owned:
            stamps.end_step(closing=True, optimizer=self._owner.found)
        else:
            stamps.close()

    def _owned(self) -> bool:
        """Whether the steps just over, one inside the other, are one of the run's."""
        owned = self._owner.is_(self._nest)
        if owned:
            single = self._told and len(self._nest) == 1
            self._known = weakref.ref(self._nest[0]) if single else _nobody
        return owned

    def after_backward(self) -> None:
        """A backward pass is over; an optimizer may have stepped inside of it."""
        if self._stamps.owed:
            self._stamps.owed = False
            self._stamps.end_step(closing=False, optimizer=self._owner.found)

    def abandoned(self) -> None:
        """Leave the optimizer steps that an exception has ended.

        No hook tells of one, but the frame that calls the hooks is gone.
        """
        stamps = self._stamps
        going = stepping_frames() if self._told or self._alone else 0
        if going < stamps.stepping:
            stamps.stepping = going
            if not going and not self._scaling:
                self._alone = False
                self._nest.clear()
                stamps.broke()

    def scaled(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """`GradScaler.step`, stamped."""

        @functools.wraps(step)
        def stamped(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            stamps = self._stamps
            if torch.compiler.is_dynamo_compiling() or self._scaling or not stamps.here():
                return step(scaler, optimizer, *args, **kwargs)
            if stamps.stepping:
                self.abandoned()
            self._scaling, self._told, self._alone = True, True, False
            self._nest.clear()
            try:
                stamps.open(OPTIMIZER)
                out = step(scaler, optimizer, *args, **kwargs)
            except BaseException:
                stamps.stepping = 0
                stamps.broke()
                raise
            finally:
                self._scaling = False
            if self._owner.is_([*self._nest, optimizer]):
                skipped = not self._nest or overflowed(scaler, optimizer)
                owner = self._owner.found
                stamps.end_step(closing=True, skipped=skipped, optimizer=owner)
            else:
                stamps.close()
            self._nest.clear()
            return out

        pass_over(stamped)
        return stamped


def _nobody() -> None:
    """No optimizer."""


def stepping_frames() -> int:
    """How many optimizer steps the calling thread is in."""
    count = 0
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  # there is no public way
    while frame is not None:
        count += frame.f_code is HOOKED
        frame = frame.f_back
    return count


def overflowed(scaler: Any, optimizer: Any) -> bool:
    """Whether an optimizer that checks gradients by itself left the parameters alone.

    Read where that waits for nothing: on the host.
    """
    if not getattr(optimizer, "_step_supports_amp_scaling", False):
        return False
    found = scaler._found_inf_per_device(optimizer)  # noqa: SLF001  # there is no public way
    return any(bool(flag) for flag in found.values() if flag.device.type == "cpu")


def optimizer_steps(stamps: Stamps, steps: Steps) -> Undo:
    """Stamp optimizer steps, and what clears, unscales or clips gradients."""
    hooks = [
        register_optimizer_step_pre_hook(steps.before),
        register_optimizer_step_post_hook(steps.after),
    ]
    scaler = torch.amp.GradScaler
    undo = [hook.remove for hook in hooks]
    undo.append(put(scaler, "step", steps.scaled(scaler.step)))
    undo += [
        put(owner, name, tidying(stamps, getattr(owner, name)))
        for owner, name in ((scaler, "unscale_"), (Optimizer, "zero_grad"), *_clipping())
    ]

    return together(undo)


def _clipping() -> list[tuple[Any, str]]:
    """What clipping is made of, looked up by name by the functions users have imported."""
    from torch.nn.utils import clip_grad

    names = ("_get_total_norm", "_clip_grads_with_norm_")
    found = [(clip_grad, name) for name in names if hasattr(clip_grad, name)]
    return found or [(torch.nn.utils, "clip_grad_norm_")]


def tidying(stamps: Stamps, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that clears, unscales or clips gradients, as part of phase `optimizer`."""
    compiling = torch.compiler.is_dynamo_compiling

    @functools.wraps(function)
    def stamped(*args: Any, **kwargs: Any) -> Any:
        if compiling() or stamps.inside or not stamps.here():
            return function(*args, **kwargs)
        reading, events = stamps.reading, stamps.events
        try:
            now = reading()
            events.append(TIDYING)
            events.append(now)
            return function(*args, **kwargs)
        finally:
            now = reading()
            events.append(CLOSE)
            events.append(now)

    pass_over(stamped)
    return stamped

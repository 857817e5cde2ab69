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

from pytscope_torch.seams import Undo, put, together
from pytscope_torch.seams.frames import pass_over
from pytscope_torch.stamps import OPTIMIZER, TIDYING, Stamps

HOOKED = Optimizer.profile_hook_step(Optimizer.step).__code__
"""Code of the frame that calls an optimizer's hooks around its step."""
PATIENCE = 8
"""Steps of other optimizers after which an owner that never stepped is given up."""


class Owner:
    """The optimizer whose steps are the run's steps.

    Args:
        optimizers: The one passed, outside first if it wraps another, or none.
        say: Takes a sentence worth a warning.
    """

    def __init__(self, optimizers: Iterable[Any], say: Callable[[str], None]) -> None:
        self._found = [weakref.ref(optimizer) for optimizer in optimizers]
        self._stepped = False
        self._strangers = 0
        self._say = say

    @property
    def found(self) -> Any:
        """The optimizer, the innermost of a wrapped one; or None."""
        return self._found[-1]() if self._found else None

    def is_(self, optimizers: Sequence[Any]) -> bool:
        """Whether a step of these optimizers, one inside the other, is one of the run's."""
        for ref in self._found:
            owner = ref()
            for optimizer in optimizers:
                if owner is optimizer:
                    self._stepped = True
                    return True
                if owner is not None and twins(owner, optimizer):
                    self._found.append(weakref.ref(optimizer))
                    self._stepped = True
                    return True
        if self._stepped and self.found is not None:
            return False
        if self._found and not self._stepped:
            self._strangers += 1
            if self._strangers < PATIENCE:
                return False
            self._say(
                "the optimizer passed to AutoProfiler never stepped; "
                f"steps are those of the {type(optimizers[0]).__name__} that does"
            )
        self._found, self._stepped = [weakref.ref(one) for one in optimizers], True
        return True


def twins(one: Any, other: Any) -> bool:
    """Whether two optimizers hold the very same groups of parameters: one steps by the other."""
    first, second = (
        getattr(optimizer, "param_groups", None) or [None] for optimizer in (one, other)
    )
    return first[0] is not None and first[0] is second[0]


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
        self._known: Callable[[], Any] = _nobody
        self.elsewhere = False

    @property
    def owner(self) -> Any:
        """The optimizer whose steps are the run's steps, once it is known."""
        return self._owner.found

    def before(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        """An optimizer's step begins; an overridden `step` may call its base's."""
        stamps = self._stamps
        if stamps.inside or not stamps.here():
            return
        if stamps.stepping:
            self.abandoned()
        if not stamps.stepping and not self._scaling:
            stamps.open(OPTIMIZER)
            self._nest.clear()
            self._told = True
        stamps.stepping += 1
        self._nest.append(optimizer)
        if self._told and self._known() is not optimizer:
            self._told = sys._getframe(1).f_code is HOOKED  # noqa: SLF001  # see `abandoned`

    def after(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        """An optimizer's step is over."""
        stamps = self._stamps
        if not stamps.here():
            self.elsewhere = True
            return
        if stamps.inside:  # it stepped in the backward pass
            stamps.owed = stamps.owed or self._owner.is_((optimizer,))
            return
        if not stamps.stepping:
            return
        stamps.stepping -= 1
        if stamps.stepping or self._scaling:
            return
        owned = (len(self._nest) == 1 and self._known() is optimizer) or self._owned()
        self._nest.clear()
        if owned:
            stamps.end_step(closing=True)
        else:
            stamps.close()

    def _owned(self) -> bool:
        """Whether the steps just over, one inside the other, are one of the run's."""
        owned = self._owner.is_(self._nest)
        if owned and self._told and len(self._nest) == 1:
            self._known = weakref.ref(self._nest[0])
        return owned

    def after_backward(self) -> None:
        """A backward pass is over; an optimizer may have stepped inside of it."""
        if self._stamps.owed:
            self._stamps.owed = False
            self._stamps.end_step(closing=False)

    def abandoned(self) -> None:
        """Leave the optimizer steps that an exception has ended.

        No hook tells of one, but the frame that calls the hooks is gone.
        """
        stamps = self._stamps
        going = stepping_frames() if self._told else 0
        if going < stamps.stepping:
            stamps.stepping = going
            if not going and not self._scaling:
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
            self._scaling, self._told = True, True
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
                stamps.end_step(closing=True, skipped=skipped)
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
        try:
            stamps.open(TIDYING)
            return function(*args, **kwargs)
        finally:
            stamps.close()

    pass_over(stamped)
    return stamped

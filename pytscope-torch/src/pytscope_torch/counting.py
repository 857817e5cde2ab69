"""The FLOPs of a run: one step counted, the device's peak looked up, both as an event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from pytscope.recording.keys import PROFILED
from pytscope.recording.spending import Spent
from pytscope_torch.flops import StepFlops
from pytscope_torch.peaks import device_name, effective_peak, peak_of, rate_of, tf32_allowed


class Counting:
    """Counts the FLOPs of one step and writes the event `flops`.

    The step that is counted takes longer than others, so it is flagged; rates
    leave it out.

    Args:
        events: The recording's event list.
        clock: Its clock, in nanoseconds.
        note: Takes an event: its kind and its values.
        say: Takes a sentence worth a warning.
        device: Gives the device that the model is on, once it is known.
        compiled: Whether compiled code has run.
        spent: Told what counting takes of the training thread.
        first: Number of the recording's first step.
    """

    def __init__(
        self,
        events: list[Any],
        clock: Callable[[], int],
        *,
        note: Callable[[str, dict[str, Any]], None],
        say: Callable[[str], None],
        device: Callable[[], torch.device | None],
        compiled: Callable[[], bool],
        spent: Spent,
        first: int,
    ) -> None:
        self._events = events
        self._clock = clock
        self._note = note
        self._say = say
        self._device = device
        self._spent = spent
        self._first = first
        self._steps = 0
        self._flops = StepFlops(compiled=compiled, done=self._done, give_up=say)

    @property
    def over(self) -> bool:
        """Whether there is nothing more to do."""
        return self._flops.over

    def step_ended(self, steps: int) -> None:
        """A step is over.

        Args:
            steps: How many are.
        """
        self._steps = steps
        self._flops.step_ended(steps)
        self._spent.once_ns += self._flops.took_ns
        self._flops.took_ns = 0
        if self._flops.counting:
            self._events.append(PROFILED)
            self._events.append(self._clock())

    def stop(self) -> None:
        """The recording ends: say so if nothing was counted."""
        self._flops.stop()

    def leave(self) -> None:
        """Count no more: something else goes on in this process."""
        self._flops.leave()

    def _done(self, by_dtype: Mapping[str, int], unknown: Mapping[str, int]) -> None:
        total = sum(by_dtype.values())
        device = self._device()
        found = {
            "step": self._first + self._steps - 1,
            "flops_per_step": total or None,
            "by_dtype": dict(by_dtype),
            "unknown_ops": dict(unknown),
            **peak(device, by_dtype),
        }
        self._note("flops", found)
        if unknown:
            named = ", ".join(f"{name} ({count}x)" for name, count in sorted(unknown.items()))
            self._say(f"FLOPs of operators without a formula are not counted: {named}")
        if not total:
            self._say("no FLOPs were counted: the step ran no operator with a formula")
        elif found["peak_flops"] is None and device is not None and device.type != "cpu":
            self._say(f"the peak of {found['device']} is not known: pass peak_flops=, in FLOP/s")


def peak(device: torch.device | None, by_dtype: Mapping[str, int]) -> dict[str, Any]:
    """The peak for a mixture of element types on a device, and where it is from."""
    name = None if device is None else device_name(device)
    row = None if name is None else peak_of(name)
    if row is None:
        return {"device": name, "peak_flops": None, "peak_source": None}
    tf32 = tf32_allowed()
    rates = {dtype: rate_of(row, dtype, tf32=tf32) for dtype in by_dtype}
    return {
        "device": name,
        "peak_flops": effective_peak(row, by_dtype, tf32=tf32),
        "peak_source": {"name": row.name, "grade": row.grade, "tf32": tf32, "rates": rates},
    }

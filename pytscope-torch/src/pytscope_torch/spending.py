"""Work of ours on the training thread, measured, for what the report says recording took."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from pytscope.recording.spending import Spent
from pytscope_torch.seams.frames import keep_out


def once(spent: Spent, call: Callable[..., None]) -> Callable[..., None]:
    """A function that is called now and then, its time counted apart from what steps take."""

    def counted(*args: Any) -> None:
        since = perf_counter_ns()
        try:
            call(*args)
        finally:
            spent.once_ns += perf_counter_ns() - since

    keep_out(counted)
    return counted


def sampled(spent: Spent, call: Callable[..., None]) -> Callable[..., None]:
    """A function that is called in every step, its time counted as part of what those take."""

    def counted(*args: Any) -> None:
        since = perf_counter_ns()
        try:
            call(*args)
        finally:
            spent.samples_ns += perf_counter_ns() - since

    keep_out(counted)
    return counted

"""FLOPs of one real training step, counted as it runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from time import perf_counter_ns
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

HEAVY = re.compile(
    r"(?<![a-z])(?!comm)[a-z0-9]*mm(?![a-z])|matmul|conv(?:olution|[0-9]|(?![a-z]))|"
    r"attention|(?<![a-z])attn|lstm|(?<![a-z])gru|(?<![a-z])rnn|"
    r"(?<![a-z])(?:bi|tri)?linear(?![a-z0-9])|einsum|(?<![a-z])fft_(?![a-z]*(?:freq|shift))|"
    r"(?<![a-z])(?:cdist|pdist|cholesky|svd|eig|lstsq|geqrf|orgqr|ormqr|householder)|(?<!re)solve|"
    r"(?<![a-z])(?:qr|mv|addmv)(?![a-z])|"
    r"linalg_(?:lu|ldl|inv|pinv|det|slogdet|matrix_(?:exp|power)|multi_dot|tensor)"
)
"""Names of operators whose FLOPs are worth knowing: products, transforms, factorisations.

Norms, sums and what else touches each element a few times are none, whatever their family.
"""
LIGHT_NAMESPACES = frozenset(("aten", "prim", "prims", "c10d", "_c10d_functional", "profiler"))
"""Namespaces whose operators are light unless their names say otherwise."""
COUNTED_STEP = 1
"""The step that is counted, from 0: the first one warms libraries up."""
PATIENCE = 8
"""Steps that are waited for a mode of the program's own to be switched off."""


class StepCount(FlopCounterMode):  # type: ignore[misc]  # torch is Any to the checker
    """Counts operators by the type of their operands, without looking at modules.

    Attributes:
        by_dtype: FLOPs by the element type of the first tensor operand.
        unknown: Heavy operators without a formula, and how often they ran.
        took_ns: Time that the formulas took; the detours of operators to here come on top.
    """

    def __init__(self) -> None:
        super().__init__(display=False)
        self.took_ns = 0
        self.mod_tracker = _NoModules()  # its hooks on every module are not wanted
        self.by_dtype: Counter[str] = Counter()
        self.unknown: Counter[str] = Counter()

    def _count_flops(self, func_packet: Any, out: Any, args: Any, kwargs: Any) -> Any:
        since = perf_counter_ns()
        before = self.get_total_flops()
        result = super()._count_flops(func_packet, out, args, kwargs)
        more = self.get_total_flops() - before
        if more:
            self.by_dtype[_dtype(args)] += more
        elif func_packet not in self.flop_registry and is_heavy(str(func_packet)):
            self.unknown[str(func_packet)] += 1
        self.took_ns += perf_counter_ns() - since
        return result


class _NoModules:
    """Stands where `FlopCounterMode` keeps its module tracker."""

    parents = frozenset(("Global",))

    def __enter__(self) -> None:
        """Track nothing."""

    def __exit__(self, *_: object) -> None:
        """Track nothing."""


def is_heavy(operator: str) -> bool:
    """Whether an operator, as `namespace.name`, does work that a FLOP count should have."""
    namespace, _, name = operator.rpartition(".")
    return bool(HEAVY.search(name)) or namespace.split(".")[0] not in LIGHT_NAMESPACES


def _dtype(args: Any) -> str:
    kinds = (str(arg.dtype).removeprefix("torch.") for arg in args if isinstance(arg, torch.Tensor))
    return next(kinds, "unknown")


class StepFlops:
    """Counts one step of a recording, between two step ends.

    Args:
        compiled: Whether compiled code has run, whose FLOPs nobody sees.
        done: Takes FLOPs by element type and the heavy operators without formula.
        give_up: Takes a sentence on why nothing was counted.

    Attributes:
        over: Whether there is nothing more to do.
        took_ns: Time that counting took so far, as far as it is known.
    """

    def __init__(
        self,
        *,
        compiled: Callable[[], bool],
        done: Callable[[Mapping[str, int], Mapping[str, int]], None],
        give_up: Callable[[str], None],
    ) -> None:
        self._compiled = compiled
        self._done = done
        self._give_up = give_up
        self._counting: StepCount | None = None
        self._covered = ""
        self.over = False
        self.took_ns = 0

    @property
    def counting(self) -> bool:
        """Whether a step is being counted."""
        return self._counting is not None

    def step_ended(self, steps: int) -> None:
        """A step has ended.

        Args:
            steps: How many have.
        """
        if self._counting is not None:
            self._finish()
        elif not self.over and steps >= COUNTED_STEP:
            mode = current_mode()
            if self._compiled():
                self._stop("FLOPs were not counted: the model runs compiled code")
            elif mode is None:
                self._counting = StepCount()
                self._counting.__enter__()
            elif steps >= COUNTED_STEP + PATIENCE:  # left in the step, it would leave ours instead
                self._stop(mode_on(type(mode).__name__))

    def stop(self) -> None:
        """Stop counting, if that is still going on, and say that nothing was counted."""
        if self.over:
            return
        begun = self.counting
        self.leave()
        before = "its second step did" if begun else "a step could be counted"
        self._give_up(f"FLOPs were not counted: the run ended before {before}")

    def leave(self) -> None:
        """Stop counting without a word."""
        counting, self._counting = self._counting, None
        self.over = True
        if counting is not None and current_mode() is counting.mode:
            counting.__exit__(None, None, None)
            self.took_ns += counting.took_ns

    def _finish(self) -> None:
        counting, mode = self._counting, current_mode()
        if counting is None or mode is not counting.mode:
            self._covered = type(mode).__name__
            return  # a mode of the program's own is still on; it goes first
        counting.__exit__(None, None, None)
        self.took_ns += counting.took_ns
        self._counting = None
        if self._covered:  # more than a step was counted
            self._stop(mode_on(self._covered))
            return
        if self._compiled():
            self._stop("FLOPs were not counted: the model runs compiled code")
            return
        self.over = True
        self._done(dict(counting.by_dtype), dict(counting.unknown))

    def _stop(self, why: str) -> None:
        if not self.over:
            self.over = True
            self._give_up(why)


def mode_on(kind: str) -> str:
    """Why nothing was counted, where the program has switched on a mode of a kind."""
    return f"FLOPs were not counted: the program had a mode on, {kind}"


def current_mode() -> TorchDispatchMode | None:
    """The dispatch mode on top."""
    from torch.utils._python_dispatch import _get_current_dispatch_mode

    mode: TorchDispatchMode | None = _get_current_dispatch_mode()
    return mode

"""Frames that Dynamo runs as they are.

What `torch._dynamo` does for its own wrappers, without loading it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def pass_over(*functions: Callable[..., Any]) -> None:
    """Have Dynamo run these functions' own frames as they are, and go on with those they call."""
    _set(functions, recursive=False)


def keep_out(*functions: Callable[..., Any]) -> None:
    """Have Dynamo run these functions, and everything they call, as they are."""
    _set(functions, recursive=True)


def _set(functions: tuple[Callable[..., Any], ...], *, recursive: bool) -> None:
    from torch._C import _dynamo

    frames: Any = _dynamo.eval_frame
    for code in (function.__code__ for function in functions):
        if hasattr(frames, "set_code_exec_strategy"):
            action = frames._FrameAction  # noqa: SLF001  # there is no public way
            below = action.SKIP if recursive else action.DEFAULT
            strategy = frames._FrameExecStrategy(action.SKIP, below)  # noqa: SLF001  # as above
            frames.set_code_exec_strategy(code, strategy)
        elif hasattr(frames, "skip_code"):
            frames.skip_code(code)

"""What pytscope knows about PyTorch.

`AutoProfiler` records an untouched loop, `run_script` an untouched script
(`pytscope run`). `adapter` waits for the accelerator and reads the process group
on behalf of `pytscope.Profiler`; `memory` and `host` sample memory.
"""

from __future__ import annotations

from typing import Any

__all__ = ["AutoProfiler", "run_script"]  # found by __getattr__


def __getattr__(name: str) -> Any:
    if name == "run_script":  # torch is for the script to import
        from pytscope_torch.running import run_script

        return run_script
    if name != "AutoProfiler":
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from pytscope_torch.auto import AutoProfiler

    return AutoProfiler

"""What to do about a recoverable line of the budget."""

from __future__ import annotations

from pytscope.analyses import Interruptions

_FIXES = {
    "data_stall": (
        "data_stall: more num_workers, up to the number of CPUs, persistent_workers=True and a "
        "deeper prefetch_factor{pinned}."
    ),
    "h2d": "h2d: pin the loader's memory, copy with non_blocking=True, copy the next batch early.",
    "communication": (
        "communication: overlap it with backward (DDP buckets, no_sync() while accumulating), "
        "send fewer bytes (bf16), or compute more per step."
    ),
    "straggler_wait": "straggler_wait: find the slow rank and what is different about it.",
    "pipeline_bubble": "pipeline_bubble: more micro-batches, or an interleaved schedule.",
    "compute_overhead": (
        "compute_overhead: larger batches{cores}, torch.compile, a fused optimizer, and no "
        ".item() or print of tensors in the step."
    ),
    "gc": "gc: gc.freeze() once set up, then collect on a schedule of your own.",
    "compile": "compile: keep shapes fixed or mark them dynamic, and keep the compiler's cache.",
    "log": "log: log less often, and leave device values on the device until then.",
    "redone": "redone: checkpoint more often, so that a restart repeats fewer steps.",
    "checkpoint": (
        "checkpoint: save asynchronously, shard it over ranks, write to local disk first, or "
        "save less often."
    ),
}


_OF_DEVICES = {
    True: {"{pinned}": ", with pin_memory=True", "{cores}": ", bf16 with tensor cores"},
    None: {
        "{pinned}": ", on a GPU with pin_memory=True",
        "{cores}": ", on a GPU bf16 with tensor cores",
    },
    False: {"{pinned}": "", "{cores}": ""},
}
"""What helps with an accelerator; where nothing tells whether there is one; without one."""


def device(interruptions: Interruptions | None) -> bool | None:
    """Whether the run has an accelerator; None where nothing tells."""
    seen = interruptions.accelerator if interruptions is not None else None
    return None if seen is None else bool(seen)


def fix_for(line: str, accelerator: bool | None = None) -> str:
    """A sentence on a line that can be won back.

    Args:
        line: Name of the line.
        accelerator: Whether the run has one; None where nothing tells.
    """
    said = _FIXES.get(line, f"{line}.")
    for place, words in _OF_DEVICES[accelerator].items():
        said = said.replace(place, words)
    return f"Start with {said}"

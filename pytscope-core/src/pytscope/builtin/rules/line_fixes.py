"""What to do about a recoverable line of the budget."""

from __future__ import annotations

_FIXES = {
    "data_stall": (
        "data_stall: raise num_workers, with persistent_workers=True, pin_memory=True and a "
        "deeper prefetch_factor."
    ),
    "h2d": "h2d: pin the loader's memory, copy with non_blocking=True, copy the next batch early.",
    "communication": (
        "communication: overlap it with backward (DDP buckets, no_sync() while accumulating), "
        "send fewer bytes (bf16), or compute more per step."
    ),
    "straggler_wait": "straggler_wait: find the slow rank and what is different about it.",
    "pipeline_bubble": "pipeline_bubble: more micro-batches, or an interleaved schedule.",
    "compute_overhead": (
        "compute_overhead: larger batches, bf16 with tensor cores, torch.compile, a fused "
        "optimizer, and no .item() or print of device values in the step."
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


def fix_for(line: str) -> str:
    """A sentence on a line that can be won back."""
    return "Start with " + _FIXES.get(line, f"{line}.")

"""Useful compute out of a ledger, and the parts that other analyzers move in it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import attrs

from pytscope.analyses.budget import BudgetPart, Impossible
from pytscope.analyses.units import duration, percent
from pytscope.builtin.analyzers.ledger import Ledger
from pytscope.runs.run import Run

_NO_WALL = "the wall of the steps, of which this run has only recorded durations"
_SPLIT = ("useful_compute", "recompute", "compute_overhead")


@attrs.frozen
class Figures:
    """FLOPs and peak, where both can be used.

    Attributes:
        flops_per_step: FLOPs of one step on one rank, or None.
        peak_flops: FLOP/s, or None.
        missing: What is not known, or why it cannot be used; empty when both can.
        impossible: Figures that no machine has.
        has_timeline: Whether the wall of the steps was measured; without it
            there is compute to compare with, but no MFU.
    """

    flops_per_step: float | None
    peak_flops: float | None
    missing: str = ""
    impossible: tuple[Impossible, ...] = ()
    has_timeline: bool = True

    @property
    def reason(self) -> str:
        """What is missing to tell the MFU; empty when nothing is."""
        return self.missing or ("" if self.has_timeline else _NO_WALL)

    def useful_s(self, steps: int) -> float | None:
        """Seconds the FLOPs of some steps take at peak, or None without both figures."""
        if self.missing or self.flops_per_step is None or self.peak_flops is None:
            return None
        return steps * (self.flops_per_step / self.peak_flops)


def figures(run: Run) -> Figures:
    """The run's FLOPs per step and peak, checked."""
    flops, peak = run.flops_per_step, run.peak_flops
    needs = {
        "FLOPs per step (--flops-per-step, or recorded as flops_per_step)": flops,
        "peak FLOP/s (--peak-tflops, or recorded as peak_flops)": peak,
    }
    absent = " and ".join(need for need, value in needs.items() if value is None)
    odd = [
        Impossible("figures", f"{name} of {value!r} cannot be.", f"the {name} given")
        for name, value in (("FLOPs per step", flops), ("peak FLOP/s", peak))
        if value is not None and not (math.isfinite(value) and value > 0)
    ]
    if not odd and flops is not None and peak is not None and not math.isfinite(flops / peak):
        odd = [Impossible("figures", f"{flops:g} FLOPs at {peak:g} FLOP/s never end.", "the peak")]
    missing = absent or ("possible FLOPs and peak" if odd else "")
    return Figures(flops, peak, missing, tuple(odd), run.has_timeline)


def move(
    lines: Ledger, parts: Iterable[BudgetPart], rank: int, *, shown: bool
) -> Iterator[Impossible]:
    """Apply parts to a rank's lines in place; yield those that take more than there is."""
    for part in parts:
        ns = part.by_rank.get(rank, part.ns if shown else 0)
        if not ns:
            continue
        source = part.take_from
        if source in _SPLIT and "useful_compute" not in lines:
            source = "compute"
        there = lines.get(source, 0)
        lines[source] = there - ns
        lines[part.give_to] = lines.get(part.give_to, 0) + ns
        if ns < 0 or ns > there:
            yield Impossible(
                "part",
                f"The part {part.give_to} takes {duration(ns)} from {source}, which holds "
                f"{duration(there)}.",
                f"{type(part).__name__} ({part.why})",
                (rank,),
            )


def split(
    lines: Ledger, useful_s: float, rank: int, *, has_timeline: bool = True
) -> Iterator[Impossible]:
    """Split a rank's compute line in place; yield when the useful part is larger than it.

    A rank without a compute line keeps its lines: its steps name no phase of
    compute, so only the ratio to the wall can be told.

    Args:
        lines: The rank's lines.
        useful_s: Seconds its FLOPs take at peak.
        rank: The rank.
        has_timeline: Whether the lines sum to a wall that was measured.
    """
    wall_ns = sum(lines.values())
    useful_ns = round(useful_s * 1e9)
    compute_ns = lines.pop("compute", None)
    if compute_ns is not None:
        lines["useful_compute"] = useful_ns
        lines["compute_overhead"] = compute_ns - useful_ns
    if has_timeline and useful_ns > wall_ns:
        yield Impossible(
            "mfu",
            f"MFU of {percent(useful_ns / wall_ns) if wall_ns else 'infinity'}: the FLOPs of the "
            f"counted steps take {duration(useful_ns)} at peak, the wall is {duration(wall_ns)}.",
            "the FLOPs per step (per rank, not per job?) or the peak (dense, of the dtype in use?)",
            (rank,),
        )
    elif compute_ns is not None and useful_ns > compute_ns:
        yield Impossible(
            "compute",
            f"The FLOPs of the counted steps take {duration(useful_ns)} at peak, but compute "
            f"was measured at {duration(compute_ns)}.",
            "the FLOPs per step, the peak, or compute that ends in another phase (a device timed "
            "by the host clock without sync=True, or a phase of the user's own)",
            (rank,),
        )

"""Peak rates of devices, by their exact names."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import attrs
import torch

TERA = 1e12
VARIANT = re.compile(r"\b(D|Laptop|Max-Q|Mobile|SUPER|Super|Ti|MIG)\b")
"""Words in a device's name that make it another, slower or sliced, device."""
RATES = ("bfloat16", "float16", "tf32", "float32", "float8")


@attrs.frozen
class Peak:
    """One device's dense peak rates.

    Attributes:
        name: The device.
        pattern: What its name as torch reports it must contain.
        rates: FLOP/s by element type; a type the device has no known rate for is absent.
        grade: How well the figures are known.
    """

    name: str
    pattern: re.Pattern[str]
    rates: Mapping[str, float]
    grade: str


@cache
def table() -> tuple[Peak, ...]:
    """All known devices."""
    text = files("pytscope_torch").joinpath("peaks.csv").read_text("utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return tuple(
        Peak(
            row["name"],
            re.compile(row["pattern"]),
            {kind: float(row[kind]) * TERA for kind in RATES if row[kind]},
            row["grade"],
        )
        for row in rows
    )


def peak_of(device: str) -> Peak | None:
    """The row of a device, by its name; None when no row or no single row is about it.

    A name that several rows match is that of the row with the longest match,
    as `GH200` contains `H200`; a tie is nobody's, and so is a variant.
    """
    if VARIANT.search(device):
        return None
    found = [(row.pattern.search(device), row) for row in table()]
    matches = sorted(
        ((len(m.group()), row) for m, row in found if m is not None), key=lambda pair: -pair[0]
    )
    if not matches or (len(matches) > 1 and matches[0][0] == matches[1][0]):
        return None
    return matches[0][1]


def rate_of(peak: Peak, dtype: str, *, tf32: bool) -> float | None:
    """A device's rate for matrix products of an element type, in FLOP/s.

    Args:
        peak: The device.
        dtype: Element type of the operands.
        tf32: Whether float32 products may run on tensor cores.
    """
    if dtype == "float32" and tf32:
        return peak.rates.get("tf32") or peak.rates.get("float32")
    if dtype.startswith("float8"):
        return peak.rates.get("float8")
    return peak.rates.get(dtype)


def effective_peak(peak: Peak, flops: Mapping[str, int], *, tf32: bool) -> float | None:
    """The rate at which a mixture of element types would run at peak, in FLOP/s.

    Total FLOPs over the time they take at each type's rate; None when a type's
    rate is not known.
    """
    seconds = 0.0
    for dtype, count in flops.items():
        rate = rate_of(peak, dtype, tf32=tf32)
        if rate is None:
            return None
        seconds += count / rate
    return sum(flops.values()) / seconds if seconds else None


def device_name(device: torch.device) -> str | None:
    """Name of an accelerator, as torch reports it; None for a host or one without names."""
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    if device.type == "xpu":
        return str(torch.xpu.get_device_name(device))
    return None


def tf32_allowed() -> bool:
    """Whether float32 matrix products on a CUDA device may run on tensor cores."""
    products = torch.backends.cuda.matmul
    newer = getattr(products, "fp32_precision", "none")
    if newer != "none":
        return bool(newer == "tf32")
    try:
        return bool(products.allow_tf32)
    except RuntimeError:  # both of torch's ways to set it were used
        return False

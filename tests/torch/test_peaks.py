"""Peaks by exact device names: the right row, or none."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="looks up torch devices")
peaks = pytest.importorskip("pytscope_torch.peaks", reason="pytscope-torch is not installed")

KNOWN = {
    "NVIDIA L40S": ("L40S", 362.05),
    "NVIDIA L4": ("L4", 121),
    "NVIDIA L40": ("L40", 181.05),
    "NVIDIA H100 PCIe": ("H100 PCIe", 756.5),
    "NVIDIA H100 80GB HBM3": ("H100 SXM", 989.4),
    "NVIDIA H100 NVL": ("H100 NVL", 835.5),
    "NVIDIA H200": ("H200", 989.4),
    "NVIDIA GH200 480GB": ("GH200", 989.4),
    "NVIDIA GB200": ("GB200", 2500),
    "NVIDIA B200": ("B200", 2250),
    "NVIDIA A100-SXM4-80GB": ("A100", 312),
    "NVIDIA A100 80GB PCIe": ("A100", 312),
    "NVIDIA A40": ("A40", 149.7),
    "NVIDIA A10G": ("A10G", 70),
    "NVIDIA RTX A6000": ("RTX A6000", 154.8),
    "NVIDIA GeForce RTX 4090": ("RTX 4090", 165.2),
    "AMD Instinct MI300X": ("MI300X", 1307.4),
}
UNKNOWN = [
    "NVIDIA RTX A1000",
    "NVIDIA T400",
    "NVIDIA T1000 8GB",
    "NVIDIA GeForce RTX 4090 D",
    "NVIDIA GeForce RTX 4090 Laptop GPU",
    "NVIDIA GeForce RTX 3090 Ti",
    "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
    "NVIDIA A100X",
    "NVIDIA A2",
    "NVIDIA GeForce GTX 1080",
    "Some GPU of tomorrow",
    "",
]


@pytest.mark.parametrize("device", KNOWN)
def test_a_device_is_known_by_its_exact_name(device: str) -> None:
    peak = peaks.peak_of(device)
    assert peak is not None
    assert (peak.name, peak.rates["bfloat16"] / 1e12) == pytest.approx(KNOWN[device])


@pytest.mark.parametrize("device", UNKNOWN)
def test_what_is_not_known_stays_unknown(device: str) -> None:
    assert peaks.peak_of(device) is None


def test_the_rate_is_that_of_the_operands() -> None:
    h100 = peaks.peak_of("NVIDIA H100 80GB HBM3")
    rates = [peaks.rate_of(h100, "float32", tf32=tf32) / 1e12 for tf32 in (False, True)]
    assert rates == pytest.approx([66.9, 494.7])
    assert peaks.rate_of(h100, "float8_e4m3fn", tf32=False) / 1e12 == pytest.approx(1978.9)
    assert peaks.rate_of(h100, "float64", tf32=False) is None
    volta = peaks.peak_of("Tesla V100-SXM2-16GB")
    assert peaks.rate_of(volta, "bfloat16", tf32=False) is None


def test_a_mixture_runs_at_the_time_of_its_parts() -> None:
    h100 = peaks.peak_of("NVIDIA H100 80GB HBM3")
    mixed = {"bfloat16": 3_000, "float32": 1_000}
    seconds = 3_000 / 989.4e12 + 1_000 / 66.9e12
    assert peaks.effective_peak(h100, mixed, tf32=False) == pytest.approx(4_000 / seconds)
    assert peaks.effective_peak(h100, {**mixed, "float64": 1}, tf32=False) is None
    assert peaks.effective_peak(h100, {}, tf32=False) is None


def test_each_row_has_a_name_a_pattern_and_a_grade() -> None:
    rows = peaks.table()
    assert len({row.name for row in rows}) == len(rows) > 30
    assert all(row.grade and row.rates and row.pattern.pattern for row in rows)

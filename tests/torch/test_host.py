"""The host memory collector: real processes, real workers, nothing left behind."""

from __future__ import annotations

import mmap
import multiprocessing
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import pytscope
from pytscope import Profiler

pytest.importorskip("torch", reason="tests a collector of pytscope-torch")
host = pytest.importorskip("pytscope_torch.host", reason="pytscope-torch is not installed")

from pytscope_torch import footprint, room  # noqa: E402  # needs what is skipped above

MIB = 1 << 20
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def started(**options: Any) -> tuple[Any, list[str], list[Any]]:
    noted: list[Any] = []
    collector = host.HostMemory(**options)
    columns = collector.start({"note": lambda *event: noted.append(event)})
    return collector, list(columns), noted


def detail(collector: Any, columns: list[str]) -> dict[str, int | None]:
    """Sample until the thread's reading is there."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        row = dict(zip(columns, collector.sample(), strict=True))
        if row["uss"] is not None:
            return row
        time.sleep(0.002)
    raise AssertionError("no reading in 20 s")


def test_resident_memory_is_read_every_time_and_as_psutil_reads_it() -> None:
    collector, columns, _ = started()
    try:
        first = collector.sample()
        kept = np.ones(64 * MIB, dtype=np.uint8)
        second = collector.sample()
        assert columns[0] == "rss"
        assert abs(second[0] - psutil.Process().memory_info().rss) < 16 * MIB
        assert second[0] - first[0] > 56 * MIB
        assert len(kept) == 64 * MIB
    finally:
        collector.stop()


@linux
def test_anonymous_memory_leaves_mapped_files_out(tmp_path: Path) -> None:
    collector, columns, _ = started()
    path = tmp_path / "data"
    path.write_bytes(bytes(64 * MIB))
    before = dict(zip(columns, collector.sample(), strict=True))
    mapped = np.memmap(path, dtype=np.uint8, mode="r")
    assert int(mapped.sum()) == 0
    after = dict(zip(columns, collector.sample(), strict=True))
    collector.stop()
    assert after["rss"] - before["rss"] > 56 * MIB
    assert after["anonymous"] - before["anonymous"] < 16 * MIB


@linux
def test_what_walks_page_tables_comes_now_and_then_from_a_thread() -> None:
    collector, columns, _ = started(every=5)
    try:
        row = detail(collector, columns)
        assert 0 < row["uss"] <= row["rss"] + MIB
        assert row["uss"] <= row["pss"] + MIB
        assert (row["workers_uss"], row["workers_pss"]) == (None, None)
        later = [collector.sample()[columns.index("uss")] for _ in range(4)]
        assert later == [None] * 4
    finally:
        collector.stop()


def hold(mib: int, ready: Any, done: Any) -> None:
    kept = np.ones(mib * MIB, dtype=np.uint8)
    ready.set()
    done.wait()
    assert len(kept)


@linux
def test_workers_are_those_that_multiprocessing_runs() -> None:
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    worker = context.Process(target=hold, args=(50, ready, done), daemon=True)
    worker.start()
    collector, columns, _ = started()
    try:
        assert ready.wait(60)
        row = detail(collector, columns)
        assert row["workers_uss"] > 50 * MIB
        assert row["workers_pss"] >= row["workers_uss"]
    finally:
        done.set()
        worker.join()
        collector.stop()
    assert worker.exitcode == 0


@linux
def test_a_process_that_is_gone_has_no_footprint() -> None:
    assert footprint.rollup(2**22 + 1) == (None, None)
    assert footprint.rollup(os.getpid())[0] > 0


def test_what_psutil_tells_elsewhere_is_much_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    real = footprint.footprint(os.getpid())
    monkeypatch.setattr(footprint, "LINUX", False)
    uss, _ = footprint.footprint(os.getpid())
    assert abs(uss - real[0]) < 16 * MIB
    read, _, columns = host.resident()
    assert columns == ("rss",)
    assert abs(read()[0] - psutil.Process().memory_info().rss) < 16 * MIB


def test_capacity_is_noted_at_both_ends() -> None:
    collector, _, noted = started()
    collector.stop()
    collector.stop()
    assert [kind for kind, _ in noted] == ["capacity", "capacity"]
    for _, values in noted:
        assert values["where"] == "host"
        assert 0 < values["available_bytes"] <= psutil.virtual_memory().total
        assert values["rss_bytes"] > 0


@linux
def test_nothing_is_left_behind() -> None:
    def open_files() -> set[str]:
        return {str(p.readlink()) for p in Path("/proc/self/fd").iterdir() if p.is_symlink()}

    threads, files = set(threading.enumerate()), open_files()
    collector, columns, _ = started()
    detail(collector, columns)
    assert len(set(threading.enumerate()) - threads) == 1
    collector.stop()
    assert set(threading.enumerate()) <= threads
    assert not any("statm" in name for name in open_files() - files)


def test_a_recorded_run_has_the_columns_and_the_analysis(tmp_path: Path) -> None:
    kept = []
    with Profiler(tmp_path, collectors=[host.HostMemory()], inline=True) as prof:
        for _ in range(120):
            with prof.step():
                kept.append(
                    mmap.mmap(-1, MIB // 2, mmap.MAP_PRIVATE)
                )  # memory that nobody has freed before
                kept[-1].write(bytes(MIB // 2))
    steps, rss = pytscope.open(tmp_path).series("rss")
    assert len(steps) == 120
    assert rss[-1] - rss[20] == pytest.approx(99 * MIB / 2, rel=0.2)
    findings = pytscope.analyze(tmp_path).findings
    assert "MEMORY.GROWTH" in [f.rule for f in findings]


def test_a_fast_loop_is_not_held_up_by_a_reading_after_each_step(tmp_path: Path) -> None:
    readings = iter(range(10**15, 10**18, 100_000))
    with Profiler(tmp_path, collect_memory=True, inline=True, clock=lambda: next(readings)) as prof:
        for _ in range(host.DENSE + 1_000):
            with prof.step():
                pass
    steps, rss = pytscope.open(tmp_path).series("rss")
    ends = np.cumsum(pytscope.open(tmp_path).shown.wall_ns)
    assert steps[: host.DENSE].tolist() == list(range(host.DENSE))
    later = ends[steps[host.DENSE :]]
    assert 10 < len(later) < 100
    assert np.diff(later).min() >= host.PAUSE_NS
    assert np.all(rss > 0)


def test_control_groups_leave_the_least_of_their_rooms(tmp_path: Path) -> None:
    mount, own = tmp_path / "cgroup", tmp_path / "own"
    inner = mount / "job" / "step"
    inner.mkdir(parents=True)
    (mount / "job" / "memory.max").write_text("1000\n")
    (mount / "job" / "memory.current").write_text("900\n")
    (mount / "job" / "memory.stat").write_text("anon 1\ninactive_file 300\n")
    (inner / "memory.max").write_text("max\n")
    (inner / "memory.current").write_text("500\n")
    own.write_text("1:cpu:/x\n0::/job/step\n")
    assert room.group_rooms(own, mount) == [400]
    old = mount / "memory" / "slurm"
    old.mkdir(parents=True)
    (old / "memory.limit_in_bytes").write_text("2000")
    (old / "memory.usage_in_bytes").write_text("500")
    (mount / "memory" / "memory.limit_in_bytes").write_text(str(2**63 - 4096))
    (mount / "memory" / "memory.usage_in_bytes").write_text("9")
    own.write_text("4:memory:/slurm\n")
    assert room.group_rooms(own, mount) == [1500]
    assert room.group_rooms(tmp_path / "none", mount) == []
    own.write_text("nonsense\n0::/../..\n")
    assert room.group_rooms(own, mount) == []

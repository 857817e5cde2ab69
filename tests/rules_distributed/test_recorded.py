"""The columns and the event can be written by a plain collector, and come back from disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import pytscope
from pytscope import Profiler
from tests.rules_distributed.made import MS, analysed, said

OWN_MS = {0: 20, 1: 20, 2: 26, 3: 20}
TRANSFER_MS = 2


class Clock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.ns = 10**9

    def __call__(self) -> int:
        return self.ns


class Collectives:
    """Brings the stamps of the step that just ended."""

    name = "collectives"

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.wait = 0

    def start(self, info: Mapping[str, Any]) -> Mapping[str, str]:
        where = {"host": f"n{self.rank // 2}", "dp": self.rank, "world": 4}
        info["note"]("topology", where)
        names = ("ready", "release", "blocked", "in.backward")
        return {f"dist.{name}_ns": "x" for name in names}

    def sample(self) -> tuple[int, ...]:
        ready = (OWN_MS[self.rank] - 1) * MS
        return ready, ready + self.wait, 0, self.wait

    def stop(self) -> None:
        pass


def record(folder: Path, rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setenv("WORLD_SIZE", "4")
    clock, stamps = Clock(), Collectives(rank)
    prof = Profiler(
        folder, clock=clock, distributed=True, collectors=[stamps], inline=True, warmup=0
    )
    prof.start()
    for _ in range(60):
        prof.begin_step()
        clock.ns += (OWN_MS[rank] - 1) * MS
        stamps.wait = (max(OWN_MS.values()) - OWN_MS[rank] + TRANSFER_MS) * MS
        clock.ns += stamps.wait
        prof.mark("backward")
        clock.ns += 1 * MS
        prof.mark("optimizer")
        prof.end_step()
    prof.finish()


def test_what_was_stamped_is_read_and_analysed(tmp_path, monkeypatch):
    for rank in range(4):
        record(tmp_path / "run", rank, monkeypatch)
    run = pytscope.open(tmp_path / "run")
    assert "dist.ready_ns" in run.rank(2).extras
    report = analysed(run)
    ranks = report.analyses["ranks"]
    assert ranks.told
    assert [host.name for host in ranks.hosts] == ["n0", "n1"]
    assert (ranks.own[2] == 26 * MS).all()
    assert (ranks.own[0] == 20 * MS).all()
    (finding,) = said(report, "DIST.STRAGGLER")
    assert finding.title == "Rank 2 holds the others up: 30.0% slower, mostly in backward"
    budget = report.analyses["budget"]
    for each in budget.ranks:
        lines = {line.name: line.ns for line in each.lines}
        assert sum(lines.values()) == each.wall_ns
        assert lines.get("straggler_wait", 0) == (0 if each.rank == 2 else 6 * MS * 59)
        assert lines["communication"] == TRANSFER_MS * MS * 59

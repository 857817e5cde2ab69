"""AutoProfiler samples memory at the end of each step, and the step stays exact."""

from __future__ import annotations

import gc
import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pytscope
from tests.torch.auto.made import AutoProfiler, loader, torch

pytest.importorskip("psutil", reason="host memory is read by psutil where /proc is not")


def recorded(folder: Path, steps: int = 60, leak: int = 0, **options: Any) -> Any:
    torch.manual_seed(0)
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    kept = []
    prof = AutoProfiler(folder, net, optimizer, **options).start()
    for x, y in loader(None, steps):
        ((net(x) - y) ** 2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if leak:
            kept.append(
                mmap.mmap(-1, leak, mmap.MAP_PRIVATE)
            )  # memory that nobody has freed before
            kept[-1].write(bytes(leak))
    prof.finish()
    return pytscope.open(folder).shown, [p.detach().clone() for p in net.parameters()]


def test_every_step_has_its_sample_and_the_wall_is_tiled(tmp_path: Path) -> None:
    timeline, _ = recorded(tmp_path, collect_memory=True)
    rows, rss = timeline.column("memory", "rss")
    assert len(timeline) == 60
    assert rows.tolist() == list(range(60))
    assert np.all(rss > 0)
    assert np.array_equal(timeline.wall_ns, sum(timeline.phase_ns(n) for n in timeline.phases))
    assert timeline.phase_ns("log")[1:].min() > 0  # sampling is the next step's, by its name


def test_collections_in_the_middle_of_a_sample_keep_the_clock_straight(tmp_path: Path) -> None:
    class Collects:
        name = "collects"

        def start(self, _info: Any) -> dict[str, str]:
            return {"collected": "i"}

        def sample(self) -> tuple[int]:
            return (gc.collect(0),)

        def stop(self) -> None:
            pass

    timeline, _ = recorded(tmp_path, collectors=[Collects()])
    assert len(timeline.column("scalar", "collected")[0]) == 60
    assert np.array_equal(timeline.wall_ns, sum(timeline.phase_ns(n) for n in timeline.phases))
    assert not [n for n in pytscope.open(tmp_path).notes if n.kind == "clock_back"]
    assert all(timeline.phase_ns(n).min() >= 0 for n in timeline.phases)


def test_training_is_bit_identical(tmp_path: Path) -> None:
    _, plain = recorded(tmp_path / "without")
    _, sampled = recorded(tmp_path / "with", collect_memory=True)
    assert all(map(torch.equal, plain, sampled))


def test_a_leak_on_a_cpu_is_found_and_a_healthy_loop_is_quiet(tmp_path: Path) -> None:
    recorded(tmp_path / "leak", steps=100, leak=1 << 20, collect_memory=True)
    (finding,) = [
        f for f in pytscope.analyze(tmp_path / "leak").findings if f.rule == "MEMORY.GROWTH"
    ]
    assert finding.title.startswith("Host memory of the process grows by")
    rate = next(e for e in finding.evidence if e.metric.endswith("growth a step"))
    assert rate.value == pytest.approx(1024, rel=0.1)
    recorded(tmp_path / "healthy", steps=100, collect_memory=True)
    report = pytscope.analyze(tmp_path / "healthy")
    assert "MEMORY.GROWTH" not in [f.rule for f in report.findings]


def test_the_models_sizes_are_noted_once(tmp_path: Path) -> None:
    timeline, _ = recorded(tmp_path)
    (event,) = (e for e in timeline.attempts[0].events if e["kind"] == "model")
    assert (event["parameters"], event["parameter_bytes"]) == (5, 20)
    assert event["gradient_bytes"] == 20
    assert event["optimizer_bytes"] == 0  # plain SGD keeps nothing

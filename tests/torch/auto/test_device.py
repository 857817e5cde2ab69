"""AutoProfiler on a CUDA device: copies, waiting, skipped updates, graphs, and nothing changed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pytscope
from pytscope.model.records import Flag
from tests.torch.auto.made import AutoProfiler, torch

pytestmark = pytest.mark.gpu
STEPS = 12
CYCLES = 20_000_000
"""Of the device's clock: milliseconds that only waiting for the device sees."""


class Net(torch.nn.Module):
    """Keeps the device busy in its forward pass, for as long as its events tell."""

    def __init__(self, cycles: int = 0) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(16, 1)
        self.dropout = torch.nn.Dropout(0.25)
        self.cycles = cycles
        self.events: list[tuple[Any, Any]] = []

    def forward(self, x: Any) -> Any:
        edges = (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
        edges[0].record()
        if self.cycles:
            torch.cuda._sleep(self.cycles)
        out = self.linear(self.dropout(x))
        edges[1].record()
        self.events.append(edges)
        return out


def train(folder: Path, *, recorded: bool = True, cycles: int = 0, **options: Any) -> Any:
    """Train from host memory on the device; returns the model and the optimizer."""
    torch.manual_seed(0)
    net = Net(cycles).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cuda", init_scale=8.0)
    data = torch.utils.data.TensorDataset(torch.ones(4 * STEPS, 16), torch.ones(4 * STEPS, 1))
    profiler = AutoProfiler(folder, net, optimizer, **options)
    if recorded:
        profiler.start()
    loader = torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True)
    for index, (x, y) in enumerate(loader):
        out = net(x.to("cuda", non_blocking=True))
        loss = (out - y.cuda()).square().mean()
        scaler.scale(loss * (float("inf") if index % 4 == 3 else 1.0)).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    profiler.finish()
    torch.cuda.synchronize()
    return net, optimizer


def test_copies_to_the_device_and_skipped_updates_are_told(tmp_path: Path) -> None:
    train(tmp_path)
    timeline = pytscope.open(tmp_path).shown
    assert len(timeline) == STEPS
    assert np.all(timeline.phase_ns("h2d") > 0)
    skipped = [bool(record.flags & Flag.SKIPPED) for record in timeline.records()]
    assert skipped == [index % 4 == 3 for index in range(STEPS)]


def test_with_sync_a_pass_lasts_as_long_as_on_the_device(tmp_path: Path) -> None:
    net, _ = train(tmp_path / "waiting", cycles=CYCLES, sync=True)
    forward = pytscope.open(tmp_path / "waiting").shown.phase_ns("forward")[1:]
    real = np.array([began.elapsed_time(over) * 1e6 for began, over in net.events])[1:]
    assert np.all(forward >= 0.95 * real)
    net, _ = train(tmp_path / "launching", cycles=CYCLES)
    forward = pytscope.open(tmp_path / "launching").shown.phase_ns("forward")[1:]
    assert np.median(forward) < 0.5 * np.median(real)


def test_losses_states_and_statistics_are_those_of_the_run_without_it(tmp_path: Path) -> None:
    found = []
    for recorded in (False, True):
        torch.cuda.manual_seed(0)
        torch.cuda.reset_peak_memory_stats()
        options = {"collect_memory": True, "measure_flops": True}
        net, optimizer = train(tmp_path, recorded=recorded, **options)
        weights = [parameter.tolist() for parameter in net.parameters()]
        states = [torch.cuda.get_rng_state().tolist(), torch.get_rng_state().tolist()]
        found.append((weights, states, str(optimizer.state_dict())))
    assert found[0] == found[1]
    assert torch.cuda.max_memory_allocated() > torch.cuda.memory_allocated()
    run = pytscope.open(tmp_path)
    assert {"allocated", "reserved", "peak"} <= set(run.shown.memory)
    (event,) = (e for e in run.shown.attempts[0].events if e["kind"] == "flops")
    assert event["device"] == torch.cuda.get_device_name()


def test_a_graph_is_captured_and_replayed_in_a_recording(tmp_path: Path) -> None:
    net = torch.nn.Linear(16, 1).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    x = torch.ones(4, 16, device="cuda")
    with AutoProfiler(tmp_path, net, optimizer, sync=True):
        graphed = torch.cuda.make_graphed_callables(net, (x,))
        for _ in range(STEPS):
            graphed(x).sum().backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
    assert len(pytscope.open(tmp_path).shown) == STEPS


UNTOUCHED = """
import sys, torch
from pytscope.auto import AutoProfiler
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
with AutoProfiler(sys.argv[1], net, optimizer, collect_memory=True, measure_flops=True):
    for _ in range(5):
        net(torch.ones(2, 4)).sum().backward()
        optimizer.step()
print(torch.cuda.is_initialized())
"""


def test_training_on_the_host_initialises_no_device(tmp_path: Path) -> None:
    words = [sys.executable, "-c", UNTOUCHED, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr

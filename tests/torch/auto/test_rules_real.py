"""Rules on interruptions, on real loops that AutoProfiler recorded: garbage, new shapes, none."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pytscope
from tests.torch.auto.made import AutoProfiler, torch

STEPS = 60
INTERRUPTING = ("TIMING.GC_PAUSES", "TIMING.RECOMPILATION", "TIMING.H2D_BOUND", "TIMING.HOST_SYNC")


class Samples(torch.utils.data.Dataset[Any]):
    """Rows, or batches of rows, that are all alike."""

    def __init__(self, shape: Callable[[int], tuple[int, ...]]) -> None:
        self.shape = shape

    def __len__(self) -> int:
        return STEPS

    def __getitem__(self, index: int) -> Any:
        return torch.ones(self.shape(index))


def model() -> Any:
    parts = [part for _ in range(4) for part in (torch.nn.Linear(64, 64), torch.nn.ReLU())]
    return torch.nn.Sequential(*parts, torch.nn.Linear(64, 1))


def train(
    folder: Path,
    *,
    called: Callable[[Any], Any] = lambda net: net,
    rows: Callable[[int], int] = lambda _index: 256,
    after: Callable[[int], None] = lambda _index: None,
    **options: Any,
) -> Any:
    """Train for a while, do something after each step, and analyse the record."""
    torch.manual_seed(0)
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    run = called(net)
    batches = torch.utils.data.DataLoader(Samples(lambda i: (rows(i), 64)), batch_size=None)
    with AutoProfiler(folder, net, optimizer, warmup=5, **options) as profiler:
        for index, x in enumerate(batches):
            run(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            profiler.log(samples=len(x))
            after(index)
    return pytscope.analyze(folder)


def outcomes(report: Any) -> dict[str, str]:
    return {c.rule: c.outcome.value for c in report.checks if c.rule in INTERRUPTING}


def found(report: Any, rule: str) -> Any:
    (finding,) = (f for f in report.findings if f.rule == rule)
    return finding


@pytest.fixture
def fresh_compiler() -> Iterator[None]:
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def litter(count: int) -> None:
    """Cyclic garbage, that only the collector gets rid of."""
    for _ in range(count):
        cycle: list[Any] = []
        cycle.append(cycle)


def test_a_loop_that_collects_garbage_is_told(tmp_path: Path) -> None:
    def after(index: int) -> None:
        litter(20_000)
        if index % 3 == 0:
            gc.collect()

    report = train(tmp_path, after=after)
    finding = found(report, "TIMING.GC_PAUSES")
    assert finding.cost_s.value > 0
    assert "gc.freeze()" in finding.fix
    assert outcomes(report)["TIMING.GC_PAUSES"] == "finding"


def test_shapes_that_keep_changing_are_told(tmp_path: Path, fresh_compiler: None) -> None:
    def compiled(net: Any) -> Any:
        return torch.compile(net, backend="aot_eager", dynamic=False)

    def rows(index: int) -> int:
        return 256 + max(0, index - 14) // 8  # six other shapes: the limit is eight

    report = train(tmp_path, called=compiled, rows=rows)
    finding = found(report, "TIMING.RECOMPILATION")
    assert [first for first, _ in finding.steps] == [22, 30, 38, 46, 54]
    assert "one in every 8" in finding.title
    assert "at every new shape" in finding.detail
    assert finding.cost_s.value > 0


def test_a_model_compiled_once_is_not_told_of(tmp_path: Path, fresh_compiler: None) -> None:
    report = train(tmp_path, called=lambda net: torch.compile(net, backend="aot_eager"))
    assert outcomes(report)["TIMING.RECOMPILATION"] == "passed"


def test_a_healthy_loop_has_none_and_says_what_did_not_happen(tmp_path: Path) -> None:
    gc.collect()
    gc.disable()
    try:
        report = train(tmp_path)
    finally:
        gc.enable()
    assert not {f.rule for f in report.findings} & set(INTERRUPTING)
    said = outcomes(report)
    assert said["TIMING.GC_PAUSES"] == "passed"
    assert said["TIMING.RECOMPILATION"] == "not_applicable"
    if not torch.accelerator.is_available():
        assert said["TIMING.H2D_BOUND"] == said["TIMING.HOST_SYNC"] == "not_applicable"


@pytest.mark.parametrize("sync", [False, True])
def test_the_record_says_what_was_looked_for_and_whether_stamps_waited(
    tmp_path: Path, sync: bool
) -> None:
    train(tmp_path, sync=sync)
    said: dict[str, Any] = {}
    for event in pytscope.open(tmp_path).shown.attempts[0].events:
        if event["kind"] == "instrumentation":
            said |= event
    assert {"gc", "compile", "forward", "data"} <= set(said["seams"])
    assert said["sync"] is sync
    assert ("h2d" in said["seams"]) == torch.accelerator.is_available() == bool(said["accelerator"])


def test_a_recorder_without_instrumentation_says_only_that_it_waited(tmp_path: Path) -> None:
    for sync in (False, True):
        with pytscope.Profiler(tmp_path / str(sync), sync=sync) as profiler:
            for _ in profiler.steps(range(3)):
                profiler.mark("forward")
        events = pytscope.open(tmp_path / str(sync)).shown.attempts[0].events
        said = [e.get("sync") for e in events if e["kind"] == "instrumentation"]
        assert said == [True] * sync

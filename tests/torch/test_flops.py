"""FLOPs of one real step, counted as it runs: exact, of the whole step, without a trace."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pytscope
from pytscope.model.records import Flag

torch = pytest.importorskip("torch", reason="counts FLOPs of torch operators")
pytest.importorskip("pytscope_torch", reason="pytscope-torch is not installed")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402  # as above

from pytscope.auto import AutoProfiler  # noqa: E402  # needs what is skipped above

ROWS, WIDTH = 5, 16
ONE_PASS = 2 * ROWS * WIDTH * WIDTH
"""FLOPs of one product of a batch with a square weight."""
TWO_LAYERS = 5 * ONE_PASS
"""Forward 2, backward 3: nobody wants the gradient of the input."""


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(WIDTH, WIDTH)
        self.second = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, *, inputs: Any) -> Any:
        return self.second(torch.relu(self.first(inputs)))


def by_keyword(net: Any, x: Any) -> Any:
    return net(inputs=x)


def steps(
    folder: Path,
    net: Any,
    call: Callable[[Any, Any], Any] = by_keyword,
    *,
    accumulate: int = 1,
    count: int = 4,
    measure: bool = True,
) -> Any:
    """Train for some steps; returns the losses."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(1)
    losses = []
    options = {"measure_flops": True} if measure else {}
    with AutoProfiler(folder, net, optimizer, **options):
        for _ in range(count):
            for _ in range(accumulate):
                loss = call(net, torch.randn(ROWS, WIDTH, generator=generator)).square().mean()
                loss.backward()
                losses.append(loss.item())
            optimizer.step()
            optimizer.zero_grad()
    return losses


def events(folder: Path, kind: str) -> list[Any]:
    found = pytscope.open(folder).shown.attempts[0].events
    return [event for event in found if event["kind"] == kind]


def warnings(folder: Path) -> str:
    return "\n".join(event["message"] for event in events(folder, "warning"))


def test_a_step_of_a_model_called_by_keyword_is_counted_exactly(tmp_path: Path) -> None:
    net = Net()
    steps(tmp_path, net)
    (event,) = events(tmp_path, "flops")
    assert (event["flops_per_step"], event["step"]) == (TWO_LAYERS, 1)
    assert event["by_dtype"] == {"float32": TWO_LAYERS}
    assert event["unknown_ops"] == {}
    assert (event["device"], event["peak_flops"], event["peak_source"]) == (None, None, None)
    assert net.training
    assert pytscope.open(tmp_path).flops_per_step == TWO_LAYERS


def test_the_counted_step_stands_apart(tmp_path: Path) -> None:
    steps(tmp_path, Net(), count=30)
    run = pytscope.open(tmp_path)
    flagged = [record.step for record in run.shown.records() if record.flags & Flag.PROFILED]
    assert flagged == [1]
    report = pytscope.analyze(tmp_path, warmup=0, peak_flops=1e12)
    assert report.analyses["timing"].steps == 29
    budget = report.analyses["budget"]
    assert sum(line.ns for line in budget.lines) == budget.wall_ns
    (line,) = (line for line in budget.lines if line.name == "profiled")
    assert line.ns == run.shown.wall_ns[1]
    assert budget.mfu == pytest.approx(29 * TWO_LAYERS / 1e12 / (budget.wall_ns / 1e9))


def test_the_steps_of_an_accumulation_count_as_one(tmp_path: Path) -> None:
    steps(tmp_path, Net(), accumulate=4)
    assert pytscope.open(tmp_path).flops_per_step == 4 * TWO_LAYERS


def test_counting_changes_nothing(tmp_path: Path) -> None:
    found = []
    for measure in (False, True):
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Linear(WIDTH, WIDTH), torch.nn.Dropout(), torch.nn.BatchNorm1d(WIDTH)
        )
        net[2].eval()  # frozen
        losses = steps(
            tmp_path / str(measure), net, lambda n, x: n(x), measure=measure, accumulate=2
        )
        assert not net[2].training
        assert net[0].training
        assert not net[2].num_batches_tracked.item()
        values = [tensor.clone() for tensor in net.state_dict().values()]
        found.append((losses, values, torch.get_rng_state()))
    (losses, values, state), (losses_2, values_2, state_2) = found
    assert losses == losses_2
    assert all(torch.equal(a, b) for a, b in zip(values, values_2, strict=True))
    assert torch.equal(state, state_2)
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None


def test_types_of_operands_are_kept_apart(tmp_path: Path) -> None:
    def half_of_it(net: Any, x: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            hidden = net[0](x)
        return net[1](hidden.float())

    net = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, WIDTH))
    steps(tmp_path, net, half_of_it)
    (event,) = events(tmp_path, "flops")
    assert event["by_dtype"] == {"bfloat16": 2 * ONE_PASS, "float32": 3 * ONE_PASS}


def test_operators_without_a_formula_are_named(tmp_path: Path) -> None:
    net = torch.nn.LSTM(WIDTH, WIDTH)
    steps(tmp_path, net, lambda n, x: n(x)[0])
    (event,) = events(tmp_path, "flops")
    assert any("rnn" in name or "lstm" in name for name in event["unknown_ops"])
    assert "FLOPs of operators without a formula are not counted" in warnings(tmp_path)


def test_compiled_code_is_not_counted_and_said_not_to_be(tmp_path: Path) -> None:
    net = torch.nn.Linear(WIDTH, WIDTH)
    net.compile(backend="eager")
    steps(tmp_path, net, lambda n, x: n(x))
    assert "FLOPs were not counted: the model runs compiled code" in warnings(tmp_path)
    assert pytscope.open(tmp_path).flops_per_step is None
    torch._dynamo.reset()


def test_a_run_of_one_step_says_that_it_was_too_short(tmp_path: Path) -> None:
    steps(tmp_path, Net(), count=1)
    assert "the run ended before its second step did" in warnings(tmp_path)
    assert events(tmp_path, "flops") == []


def test_a_forked_child_counts_no_more(tmp_path: Path) -> None:
    net = torch.nn.Linear(WIDTH, WIDTH)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    profiler = AutoProfiler(tmp_path, net, optimizer, measure_flops=True).start()
    mode = torch.utils._python_dispatch._get_current_dispatch_mode
    for _ in range(3):
        if mode() is not None:  # in the counted step, where a loader may start workers
            child = os.fork()
            if child == 0:
                os._exit(mode() is not None)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        net(torch.ones(ROWS, WIDTH)).sum().backward()
        optimizer.step()
    profiler.finish()
    assert pytscope.open(tmp_path).flops_per_step == 2 * ONE_PASS


class Counting(TorchDispatchMode):
    """A mode of the program's own."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def __torch_dispatch__(self, function: Any, _kinds: Any, args: Any = (), kwargs: Any = None):
        self.seen += 1
        return function(*args, **(kwargs or {}))


def with_a_mode(folder: Path, on: range, *, measure: bool = True) -> int:
    """Train with a mode that is on from the middle of one step to that of another."""
    mode = Counting()
    calls = iter(range(100))

    def call(net: Any, x: Any) -> Any:
        index = next(calls)
        if index == on.start:
            mode.__enter__()
        if index == on.stop:
            mode.__exit__(None, None, None)
        return net(x)

    steps(folder, torch.nn.Linear(WIDTH, WIDTH), call, count=14, measure=measure)
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None
    return mode.seen


@pytest.mark.parametrize(
    ("on", "counted"),
    [
        (range(1), 2),
        (range(2), 3),
        (range(1, 2), None),
        (range(1, 4), None),
        (range(3, 9), 1),
        (range(13), None),
    ],
)
def test_a_mode_of_the_programs_own_is_left_on_as_long_as_it_wants(
    tmp_path: Path, on: range, counted: int | None
) -> None:
    """Whichever of the two modes is entered first, neither leaves the other."""
    assert with_a_mode(tmp_path / "on", on) == with_a_mode(tmp_path / "off", on, measure=False)
    found = events(tmp_path / "on", "flops")
    assert [event["step"] for event in found] == ([] if counted is None else [counted])
    assert all(event["flops_per_step"] == 2 * ONE_PASS for event in found)
    if counted is None:
        assert "the program had a mode on, Counting" in warnings(tmp_path / "on")


def test_a_step_that_runs_nothing_known_has_no_flops(tmp_path: Path) -> None:
    steps(tmp_path, torch.nn.PReLU(WIDTH), lambda n, x: n(x))
    assert "no FLOPs were counted" in warnings(tmp_path)
    assert pytscope.open(tmp_path).flops_per_step is None


@pytest.fixture(autouse=True)
def _nothing_compiled() -> None:
    """Other tests of the process may have compiled."""
    utils = sys.modules.get("torch._dynamo.utils")
    if utils is not None:
        utils.counters.clear()


def test_norms_and_elementwise_operators_are_not_heavy():
    from pytscope_torch.flops import is_heavy

    light = "linalg_vector_norm _weight_norm lgamma cummax upsample_bilinear2d resolve_conj"
    assert not [name for name in light.split() if is_heavy(f"aten.{name}")]
    heavy = "mm addmm _scaled_mm convolution conv2d linear _trilinear _fft_c2c linalg_solve_ex "
    heavy += "_linalg_svd cholesky _flash_attention_forward _thnn_fused_lstm_cell matmul mv"
    assert not [name for name in heavy.split() if not is_heavy(f"aten.{name}")]

"""Faults that profilers of PyTorch loops are known for, each absent here."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pytscope
from pytscope.model.records import Flag
from tests.torch.auto.loops import LOOPS
from tests.torch.auto.made import DATA, AutoProfiler, Case, check_times, loader, torch


def played(folder: Path, name: str, *, pace: float = 1.0, **options: Any) -> Any:
    case = Case(folder, pace=pace, **options)
    LOOPS[name](case)
    return case


def found(case: Any) -> set[str]:
    """Rules with a finding that costs time."""
    findings = pytscope.analyze(case.folder).findings
    return {finding.rule for finding in findings if finding.rule.startswith("TIMING.")}


def shares(case: Any, skip: int = 1) -> dict[str, float]:
    timeline = case.timeline()
    wall = timeline.wall_ns[skip:].sum()
    return {name: timeline.phase_ns(name)[skip:].sum() / wall for name in timeline.phases}


# --- TraceML's ------------------------------------------------------------------


def test_time_between_steps_is_part_of_the_steps(tmp_path: Path) -> None:
    case = played(tmp_path, "work_outside_of_everything")
    real = np.array([sum(step.values()) for step in case.truth.steps[:-1]])
    assert np.all(case.timeline().wall_ns >= real)
    check_times(case)


def test_making_the_iterator_is_waiting_for_data(tmp_path: Path) -> None:
    case = played(tmp_path, "iterator_made_anew_every_step")
    assert np.median(case.timeline().phase_ns("data")[1:]) >= 2.8 * DATA * 1e9
    assert "TIMING.DATALOADER_BOUND" in found(case)


def test_validation_fetches_are_not_charged_to_training(tmp_path: Path) -> None:
    case = Case(tmp_path)
    kept = [(torch.ones(1, 4), torch.ones(1, 1))] * 24
    with case.recording():
        for i, (x, y) in enumerate(kept):
            case.train(x, y)
            if i % 4 == 3:
                case.net.eval()
                with torch.no_grad(), case.truth.block("eval"):
                    for a, _ in loader(case.truth, 6, "eval"):
                        case.net(a)
                case.net.train()
    assert "data" not in case.timeline().phases
    assert "TIMING.DATALOADER_BOUND" not in found(case)
    check_times(case)


def test_a_loss_outside_the_model_has_its_phase(tmp_path: Path) -> None:
    case = Case(tmp_path)
    with case.recording():
        for x, y in loader(None, case.count):
            out = case.net(x)
            case.truth.sleep("loss", 0.01)
            ((out - y) ** 2).mean().backward()
            torch.nn.utils.clip_grad_norm_(case.net.parameters(), 1.0)
            case.step()
    check_times(case)
    assert shares(case)["other"] < 0.1
    report = pytscope.analyze(case.folder)
    assert "COVERAGE.UNATTRIBUTED" not in {finding.rule for finding in report.findings}


def test_a_slow_first_step_does_not_hide_what_the_others_wait_for(tmp_path: Path) -> None:
    case = Case(tmp_path, count=40)
    with case.recording():
        for i, (x, y) in enumerate(loader(case.truth, case.count)):
            case.truth.sleep("data", 0.008)
            if not i:
                case.truth.sleep("other", 0.5)
            if case.profiler:
                case.profiler.mark("data")
            out = torch.nn.Module.__call__(case.net, x)
            case.loss(out, y).backward()
            case.step()
    report = pytscope.analyze(case.folder)
    timing = report.to_json()
    assert "TIMING.DATALOADER_BOUND" in timing
    assert case.timeline().wall_ns[0] > 5 * np.median(case.timeline().wall_ns)
    (finding,) = [f for f in report.findings if f.rule == "TIMING.DATALOADER_BOUND"]
    share = {e.metric: e.value for e in finding.evidence}
    assert any(0.3 < value < 0.7 for value in share.values() if isinstance(value, float)), share


def test_short_steps_are_all_kept(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    x = torch.ones(1, 1)
    with AutoProfiler(tmp_path / "run", model, optimizer) as profiler:
        for _ in range(4000):
            with profiler.phase("data"):
                pass
            model(x).sum().backward()
            optimizer.step()
    timeline = pytscope.open(tmp_path / "run").rank(0)
    assert len(timeline) == 4000
    assert timeline.attempts[0].dropped_steps == 0
    assert len(capfd.readouterr().err.splitlines()) <= 1


KILLED = """
import os, signal, sys, time, torch
from pytscope.auto import AutoProfiler
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
AutoProfiler(sys.argv[1], model, optimizer).start()
for step in range(200):
    model(torch.ones(1, 4)).sum().backward()
    optimizer.step()
    if step == 99:
        time.sleep(2.5)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_process_loses_its_last_second_at_most(tmp_path: Path) -> None:
    words = [sys.executable, "-c", KILLED, str(tmp_path / "run")]
    done = subprocess.run(words, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    timeline = pytscope.open(tmp_path / "run").rank(0)
    assert 100 <= len(timeline) <= 200
    assert not timeline.attempts[0].finished
    report = pytscope.analyze(tmp_path / "run")
    assert "COVERAGE.NOT_FINISHED" in {finding.rule for finding in report.findings}


def calls_of_a_step(folder: Path, parts: int, *, recorded: bool) -> int:
    """Python functions entered in one training step."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), *[torch.nn.Identity()] * parts)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    profiler = AutoProfiler(folder, model, optimizer)
    if recorded:
        profiler.start()
    calls = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    gc.disable()  # what test tools call in a collection is none of the step's
    for step in range(6):
        if step == 5:
            sys.setprofile(count)
        model(torch.ones(1, 4)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    sys.setprofile(None)
    gc.enable()
    if recorded:
        profiler.finish()
    return calls


def test_what_recording_costs_does_not_grow_with_the_modules(tmp_path: Path) -> None:
    added = [
        calls_of_a_step(tmp_path / str(parts), parts, recorded=True)
        - calls_of_a_step(tmp_path / str(parts), parts, recorded=False)
        for parts in (1, 300)
    ]
    assert added[0] == added[1] < 40


# --- those of pytscope 0.2.1 ------------------------------------------------------


def test_checkpoints_and_validation_are_not_the_input_pipeline(tmp_path: Path) -> None:
    case = Case(tmp_path)
    with case.recording():
        for i, (x, y) in enumerate(loader(None, 24)):
            case.train(x, y)
            if i % 4 == 3:
                torch.save(torch.zeros(1_000_000), tmp_path / "model.pt")
                case.net.eval()
                with torch.no_grad():
                    for a, _ in loader(case.truth, 3, "eval"):
                        case.net(a)
                case.net.train()
    assert {"checkpoint", "eval"} <= set(case.timeline().phases)
    check_times(case)
    assert "TIMING.DATALOADER_BOUND" not in found(case)


def test_evaluation_forwards_make_no_step(tmp_path: Path) -> None:
    case = played(tmp_path, "forward_passes_to_look_at", pace=0)
    assert len(case.timeline()) == case.count


def test_all_fetches_of_an_accumulated_step_are_data(tmp_path: Path) -> None:
    case = played(tmp_path, "accumulation")
    assert np.median(case.timeline().phase_ns("data")[1:]) >= 2.9 * DATA * 1e9


def test_a_step_of_a_wrapped_optimizer_is_an_optimizer_step(tmp_path: Path) -> None:
    case = Case(tmp_path, pace=0, count=10)
    inner = case.optimizer
    case.optimizer = LOOPS["wrapped_optimizer"].__globals__["Accelerated"](inner)
    with case.recording():
        for i, (x, y) in enumerate(loader(case.truth, 40)):
            case.loss(case.net(x), y).backward()
            if i % 4 == 3:
                case.step()
    assert len(case.timeline()) == 10


def test_metrics_after_the_optimizer_are_not_data(tmp_path: Path) -> None:
    case = Case(tmp_path)
    with case.recording():
        for x, y in loader(None, case.count):
            case.train(x, y)
            case.truth.sleep("other", 0.015)
    check_times(case)
    assert "TIMING.DATALOADER_BOUND" not in found(case)


@pytest.mark.parametrize("name", ["two_players", "line_search"])
def test_work_of_other_optimizers_and_closures_is_not_backward(tmp_path: Path, name: str) -> None:
    case = played(tmp_path, name)
    timeline = case.timeline()
    assert len(timeline) == case.count
    check_times(case)
    assert np.all(timeline.phase_ns("optimizer") > 0)


def test_running_a_script_again_is_not_one_long_run(tmp_path: Path) -> None:
    for _ in range(2):
        case = played(tmp_path, "plain", pace=0, count=10)
    assert len(case.timeline()) == 10
    assert case.timeline().step.tolist() == list(range(10))


def test_going_on_from_a_step_resumes_the_run(tmp_path: Path) -> None:
    for first in (0, 10):
        case = Case(tmp_path, pace=0, count=10)
        case.made().start(step=first)
        for x, y in loader(case.truth, case.count):
            case.train(x, y)
        case.profiler.finish()
    assert case.timeline().step.tolist() == list(range(20))


def test_steps_before_an_exception_are_on_disk_at_once(tmp_path: Path) -> None:
    case = Case(tmp_path, pace=0, count=10)
    with pytest.raises(ValueError), case.recording():
        for i, (x, y) in enumerate(loader(case.truth, 20)):
            if i == case.count:
                raise ValueError
            case.train(x, y)
    assert len(case.timeline()) == case.count


def test_a_second_recording_of_one_profiler_is_kept(tmp_path: Path) -> None:
    case = played(tmp_path, "recorded_again", pace=0, count=10)
    assert len(case.timeline()) == 10
    assert case.timeline().attempts[-1].finished


RANKS = """
import multiprocessing, os, sys, torch
from pytscope.auto import AutoProfiler
def work(rank, profiler, model, optimizer):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2")
    with profiler:
        for _ in range(5):
            model(torch.ones(1, 4)).sum().backward()
            optimizer.step()
if __name__ == "__main__":
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    profiler = AutoProfiler(sys.argv[1], model, optimizer, distributed=True)
    context = multiprocessing.get_context(sys.argv[2])
    ranks = [context.Process(target=work, args=(r, profiler, model, optimizer)) for r in range(2)]
    for rank in ranks: rank.start()
    for rank in ranks: rank.join()
    sys.exit(max(rank.exitcode for rank in ranks))
"""


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_every_process_of_a_launch_has_its_own_file(tmp_path: Path, method: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(RANKS)
    words = [sys.executable, str(script), str(tmp_path / "run"), method]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    run = pytscope.open(tmp_path / "run")
    assert [len(run.rank(rank)) for rank in (0, 1)] == [5, 5]


def test_a_scheduler_made_after_the_start_does_not_end_training(tmp_path: Path) -> None:
    case = played(tmp_path, "scheduler_made_after_the_start", pace=0)
    assert len(case.timeline()) == case.count


@pytest.mark.parametrize(
    "value", [torch.ones(3), "high", object(), torch.ones(2, 2, requires_grad=True), [1.0]]
)
def test_odd_values_that_are_logged_do_not_end_training(tmp_path: Path, value: Any) -> None:
    case = Case(tmp_path, pace=0, count=5)
    with case.recording():
        for x, y in loader(case.truth, case.count):
            case.train(x, y)
            case.profiler.log(loss=value)
    assert len(case.timeline()) == case.count


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full disk")
def test_a_full_disk_does_not_end_training(tmp_path: Path) -> None:
    case = Case(tmp_path, pace=0, count=5)
    case.folder.mkdir()
    (case.folder / "rank00000.pts").symlink_to("/dev/full")
    LOOPS["plain"](case)
    assert len(case.losses) == case.count


def test_counting_flops_changes_no_mode(tmp_path: Path) -> None:
    states = []
    for name in ("model_called_by_keyword", "frozen_batch_norm"):
        case = played(tmp_path / name, name, pace=0, count=10, measure_flops=True)
        states.append([part.training for part in case.modules[-1].modules()])
    assert all(states[0])
    assert states[1].count(False) == 1


def test_flops_are_those_of_all_batches_of_a_step(tmp_path: Path) -> None:
    counted = {}
    for batches in (1, 4):
        model = torch.nn.Linear(64, 64)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        folder = tmp_path / str(batches)
        with AutoProfiler(folder, model, optimizer, measure_flops=True):
            for i in range(6 * batches):
                model(torch.ones(8, 64)).sum().backward()
                if i % batches == batches - 1:
                    optimizer.step()
        events = pytscope.open(folder).rank(0).attempts[0].events
        (counted[batches],) = [e["flops_per_step"] for e in events if e["kind"] == "flops"]
    assert counted[1] == 2 * 2 * 8 * 64 * 64  # forward, and the gradient of the weight
    assert counted[4] == 4 * counted[1]


def test_a_step_that_raised_is_not_stored_as_a_good_one(tmp_path: Path) -> None:
    case = played(tmp_path, "exception_in_forward", pace=0)
    flags = case.timeline().flags
    assert np.count_nonzero(flags & int(Flag.FAILED)) == case.count // 4


def test_an_optimizer_that_raised_steps_again(tmp_path: Path) -> None:
    """Its step was left open; a warning, as of this test, would raise into the next one."""
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def closure(out: bool = False) -> Any:
        if out:
            raise StopIteration
        model(torch.ones(1, 2)).sum().backward()

    with AutoProfiler(tmp_path, model, optimizer):
        optimizer.step(closure)
        for out in (False, True, False, True, False, False):
            try:
                optimizer.step(lambda out=out: closure(out))
            except StopIteration:
                continue
    assert len(pytscope.open(tmp_path).rank(0)) == 5

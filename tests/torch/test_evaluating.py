"""Evaluations outside of training, as frameworks have them recorded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pytscope

torch = pytest.importorskip("torch", reason="records what torch trains")
pytest.importorskip("pytscope_torch", reason="pytscope-torch is not installed")

from pytscope.auto import AutoProfiler  # noqa: E402  # as above
from pytscope.recording.profiler import Profiler  # noqa: E402  # as above
from pytscope_torch import evaluating  # noqa: E402  # as above
from pytscope_torch.evaluating import Evaluating  # noqa: E402  # as above
from pytscope_torch.framework import EVAL, LOGGING  # noqa: E402  # as above


def trained(folder: Path, steps: int = 3, first: int = 0) -> None:
    profiler = Profiler(folder).start(first)
    for _ in range(steps):
        with profiler.step():
            pass
    profiler.finish()


def evaluated(folder: Path, step: int, error: BaseException | None = None, **values: Any) -> bool:
    one = Evaluating(folder, "test", {"name": "exp", "measure_flops": True, "config": {"a": 1}})
    if not one.start(step):
        return False
    one.enter(LOGGING)
    one.found(values)
    one.leave(LOGGING)
    one.finish(error)
    return True


def test_all_of_it_is_eval_but_for_what_is_told(tmp_path: Path) -> None:
    trained(tmp_path)
    assert evaluated(tmp_path, 3, accuracy=torch.tensor(0.5))
    run = pytscope.open(tmp_path)
    (one,) = run.evaluations
    assert (one.kind, one.step, one.finished) == ("test", 3, True)
    assert {name for name, _ in one.segments} == {"eval", "log", "other"}
    assert dict(one.values) == {"accuracy": 0.5}
    assert run.series("accuracy")[0].tolist() == [2]
    assert [event for event in one.events if event["kind"] not in ("log", "startup")] == []


def test_a_phase_that_an_exception_leaves_is_closed(tmp_path: Path) -> None:
    trained(tmp_path)
    one = Evaluating(tmp_path, "test", {})
    assert one.start(3)
    one.enter(EVAL)
    one.finish(ValueError("no"))
    (found,) = pytscope.open(tmp_path).evaluations
    assert [e["type"] for e in found.events if e["kind"] == "exception"] == ["ValueError"]
    assert found.finished


def test_a_training_goes_on_after_it(tmp_path: Path) -> None:
    trained(tmp_path)
    evaluated(tmp_path, 3)
    trained(tmp_path, 2, first=3)
    run = pytscope.open(tmp_path)
    assert run.shown.step.tolist() == [0, 1, 2, 3, 4]
    assert [(a.number, a.first_step) for a in run.shown.attempts] == [(0, 0), (1, 3)]
    assert (run.other_attempts, run.notes) == ((), ())


def test_what_is_being_recorded_is_left_alone(tmp_path: Path) -> None:
    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with AutoProfiler(tmp_path, net, optimizer):
        for step in range(4):
            net(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            assert not evaluated(tmp_path, step)
    run = pytscope.open(tmp_path)
    assert (len(run.shown), run.evaluations, run.shown.attempts[0].ended_well) == (4, (), True)
    assert [path.name for path in tmp_path.iterdir()] == ["rank00000.pts"]


def test_so_is_what_another_process_records(tmp_path: Path) -> None:
    words = "import sys, pytscope; p = pytscope.Profiler(sys.argv[1]).start(); print(1, flush=True)"
    other = subprocess.Popen(
        [sys.executable, "-c", f"{words}; sys.stdin.read(); p.finish()", str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with other:
        assert other.stdout is not None
        other.stdout.readline()
        assert not evaluated(tmp_path, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["rank00000.pts"]
    assert evaluated(tmp_path, 0)


def evaluations_of(folder: Path) -> tuple[Any, ...]:
    return pytscope.open(folder).evaluations


def test_their_number_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(evaluating, "MOST", 2)
    monkeypatch.setattr(Evaluating, "made", 0)
    assert [evaluated(tmp_path, 0) for _ in range(4)] == [True, True, False, False]
    said = [record.message for record in caplog.records if record.name == "pytscope"]
    assert said == [f"pytscope: {evaluating.TOO_MANY}"]
    limits = [[e for e in one.events if e["kind"] == "limit"] for one in evaluations_of(tmp_path)]
    assert [len(found) for found in limits] == [0, 1]


def test_it_is_a_small_record(tmp_path: Path) -> None:
    trained(tmp_path)
    before = (tmp_path / "rank00000.pts").stat().st_size
    evaluated(tmp_path, 3, accuracy=0.5)
    assert (tmp_path / "rank00000.pts").stat().st_size - before < 16_000


def test_nothing_is_put_into_torch(tmp_path: Path) -> None:
    loader = vars(torch.utils.data.DataLoader)["__iter__"]
    one = Evaluating(tmp_path, "test", {})
    assert one.start(0)
    assert vars(torch.utils.data.DataLoader)["__iter__"] is loader
    one.finish()

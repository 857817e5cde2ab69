"""Threads, forks and exits around a recording; and training that must not notice it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

import pytscope
from pytscope.recording import provenance
from pytscope.recording.profiler import Profiler

from .truth import child, only, said


def steps(prof: Profiler, count: int = 20) -> None:
    for _ in prof.iter_data(range(count)):
        with prof.step():
            prof.mark("forward")


def test_steps_of_another_thread_are_said_not_to_count(tmp_path: Path) -> None:
    prof = Profiler(tmp_path).start()
    thread = threading.Thread(target=steps, args=(prof,))
    thread.start()
    thread.join()
    prof.finish()
    timeline = only(tmp_path)
    assert len(timeline) == 0
    (message,) = said(timeline)
    assert "another thread" in message


def test_other_threads_mark_while_this_one_records(tmp_path: Path) -> None:
    prof = Profiler(tmp_path, flush_every=10).start()
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            with prof.phase("load"):
                prof.mark("decode")
            prof.log(seen=1.0)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    steps(prof, 2_000)
    over.set()
    for thread in threads:
        thread.join()
    prof.finish()
    timeline = only(tmp_path)
    assert timeline.step.tolist() == list(range(2_000))
    assert set(timeline.phases) <= {"data", "forward", "other"}


@pytest.mark.parametrize("attempt", range(3))
def test_finish_of_another_thread_in_mid_step(tmp_path: Path, attempt: int) -> None:
    prof = Profiler(tmp_path, flush_every=10).start()
    timer = threading.Timer(0.02 * (1 + attempt), prof.finish)
    timer.start()
    while prof.recording:
        steps(prof, 10)
    timer.join()
    timeline = only(tmp_path)
    assert timeline.attempts[0].finished
    assert all(ns >= 0 for _, ns in timeline.attempts[0].shutdown)


def test_a_slow_end_is_no_jump_of_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(_: Path) -> dict[str, str]:
        time.sleep(1.5)
        return {}

    monkeypatch.setattr(provenance, "slow", slow)
    with Profiler(tmp_path) as prof:
        steps(prof)
    assert only(tmp_path).attempts[0].finished
    assert pytscope.open(tmp_path).notes == ()


def test_forks_in_mid_step_leave_the_parent_its_record(tmp_path: Path) -> None:
    code = """
import os, sys
from pytscope import Profiler
prof = Profiler(sys.argv[1]).start()
for way in range(3):
    with prof.step():
        pid = os.fork()
        if not pid:
            prof.mark("child"); prof.log(loss=1.0)
            if way == 1: prof.finish()
            if way == 2: sys.exit(0)
            os._exit(0)
        os.waitpid(pid, 0)
        prof.mark("parent")
prof.finish()
"""
    assert child(code, tmp_path).stderr == ""
    timeline = only(tmp_path)
    assert len(timeline) == 3
    assert set(timeline.phases) <= {"parent", "other"}
    assert timeline.attempts[0].damaged_bytes == 0


def test_a_loader_with_workers_while_recording(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    code = """
import sys, torch
from torch.utils.data import DataLoader, TensorDataset
from pytscope import Profiler
with Profiler(sys.argv[1]) as prof:
    rows = TensorDataset(torch.arange(32.0))
    loader = DataLoader(rows, batch_size=8, num_workers=2, persistent_workers=True)
    for _ in range(2):
        for _ in prof.iter_data(loader):
            with prof.step(): prof.mark("forward")
"""
    assert child(code, tmp_path).stderr == ""
    assert [file.name for file in tmp_path.iterdir()] == ["rank00000.pts"]
    assert len(only(tmp_path)) == 8


TRAINING = """
import hashlib, random, sys
import numpy as np, torch
from pytscope import Profiler
random.seed(0); np.random.seed(0); torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rows = torch.utils.data.TensorDataset(torch.randn(64, 8))
loader = torch.utils.data.DataLoader(rows, batch_size=8, shuffle=True)
prof = Profiler(sys.argv[1])
if sys.argv[2] == "recorded": prof.start()
for _ in range(3):
    for (batch,) in prof.iter_data(loader):
        with prof.step():
            loss = model(batch).pow(2).mean()
            loss.backward(); optimizer.step(); optimizer.zero_grad()
            prof.log(loss=loss)
if prof.recording: prof.finish()
state = (model.weight.tolist(), random.getstate(), np.random.get_state(), torch.get_rng_state())
print(hashlib.sha256(repr((*state[:3], state[3].tolist())).encode()).hexdigest())
"""


def test_training_does_not_notice(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    runs = [child(TRAINING, tmp_path, how) for how in ("recorded", "not")]
    assert [run.stderr for run in runs] == ["", ""]
    assert runs[0].stdout == runs[1].stdout
    assert len(only(tmp_path)) == 24


def test_a_script_that_never_finishes_leaves_nothing_but_its_record(tmp_path: Path) -> None:
    code = """
import sys
from pytscope import Profiler
prof = Profiler(sys.argv[1]).start()
for _ in range(5):
    with prof.step(): prof.mark("forward")
"""
    assert child(code, tmp_path).stderr == ""
    timeline = only(tmp_path)
    assert len(timeline) == 5
    environment = timeline.metadata["environment"]
    assert "packages" in environment

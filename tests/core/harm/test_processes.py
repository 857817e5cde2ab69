"""Forked, spawned and second processes, and every way to leave one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import pytscope
from tests.core.recording.truth import only

from .trial import PREAMBLE, report, trial

# --- children ------------------------------------------------------------------------

CHILDREN = """
import multiprocessing
from trial_preamble import *

def work(prof, folder, way):
    train(prof, 3)  # a copy of the parent's: idle
    with Profiler(folder) as own: train(own, 30)
    if way == "exits": sys.exit(7)
    if way == "raises": raise ValueError(way)

if __name__ == "__main__":
    sys.stderr = open(os.devnull, "w")  # what multiprocessing prints of "raises"
    with Profiler(FOLDER + "/parent") as prof:
        train(prof, 20)
        for method in ("fork", "spawn", "forkserver"):
            context = multiprocessing.get_context(method)
            children = []
            for way in ("returns", "exits", "raises"):
                folder = f"{FOLDER}/{method}-{way}"
                children.append(context.Process(target=work, args=(prof, folder, way)))
                children[-1].start()
            train(prof, 20)
            for child in children: child.join()
            print(method, [child.exitcode for child in children])
        with context.Pool(2) as pool: print(pool.map(abs, [-1, -2]))
    told()
"""


def test_children_of_every_start_method(tmp_path: Path) -> None:
    """Each child idles on the parent's recorder, and may record a run of its own."""
    (tmp_path / "trial_preamble.py").write_text(PREAMBLE)
    script = tmp_path / "train.py"
    script.write_text(CHILDREN)
    both = [
        subprocess.run(
            [sys.executable, str(script), str(tmp_path / "runs"), how],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        for how in ("recorded", "not")
    ]
    assert both[0].stdout == both[1].stdout
    assert [b.returncode for b in both] == [0, 0]
    assert both[0].stdout.count("[0, 7, 1]") == 3
    assert len(only(tmp_path / "runs" / "parent")) == 80
    for method in ("fork", "spawn", "forkserver"):
        for way in ("returns", "exits", "raises"):
            assert len(pytscope.open(tmp_path / "runs" / f"{method}-{way}").timelines[0]) == 30
    assert "finished" in report(tmp_path / "runs" / "fork-raises")[1]


def test_a_forked_child_that_goes_on_training(tmp_path: Path) -> None:
    body = """
prof = Profiler(FOLDER).start()
train(prof, 10)
pid = os.fork()
if pid == 0:
    train(prof, 10)          # idle
    prof.start(); train(prof, 10); prof.finish()  # its own, in a second file
    sys.stdout.flush(); os._exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
train(prof, 10)
prof.finish()
"""
    assert trial(body, tmp_path).out.startswith("5\n")
    assert len(only(tmp_path)) == 20
    _, text = report(tmp_path)
    assert "20 steps" in text
    assert "rank00000.1.pts is of a second process with rank 0; it is left out" in text


def test_two_processes_with_one_rank(tmp_path: Path) -> None:
    body = """
import subprocess
prof = Profiler(FOLDER).start()
train(prof, 30)
if len(sys.argv) < 4:
    subprocess.run([sys.executable, "-c", sys.orig_argv[sys.orig_argv.index("-c") + 1],
                    *sys.argv[1:], "inner"], check=True)
train(prof, 30)
prof.finish()
"""
    trial(body, tmp_path, environ={"RANK": "2", "WORLD_SIZE": "4"})
    assert sorted(f.name for f in tmp_path.iterdir()) == []  # rank 0 alone was to record
    trial(body.replace("Profiler(FOLDER)", "Profiler(FOLDER, distributed=True)"), tmp_path,
          environ={"RANK": "2", "WORLD_SIZE": "4"})  # fmt: skip
    _, text = report(tmp_path)
    assert "rank00002.1.pts is of a second process with rank 2; it is left out" in text
    assert "3 of 4 ranks are not in the records" in text
    second = pytscope.open(tmp_path / "rank00002.1.pts").timelines[0]
    assert "another live process records this rank" in str(second.attempts[0].events)


LOADERS = """
import sys, torch
from torch.utils.data import DataLoader, Dataset
from pytscope import Profiler

class Rows(Dataset):
    def __init__(self, prof): self.prof = prof
    def __len__(self): return 24
    def __getitem__(self, i):
        with self.prof.phase("load"): self.prof.mark("decode"); self.prof.log(row=i)
        return torch.full((2,), float(i))

if __name__ == "__main__":
    with Profiler(sys.argv[1]) as prof:
        for method, epochs in (("fork", 2), ("spawn", 1)):
            loader = DataLoader(Rows(prof), batch_size=4, num_workers=1,
                                multiprocessing_context=method, persistent_workers=epochs > 1)
            for _ in range(epochs):
                seen = []
                for batch in prof.iter_data(loader):
                    with prof.step(): prof.mark("forward"); seen.append(int(batch.sum()))
                print(method, seen)
"""


def test_workers_of_a_loader_that_hold_the_recorder(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    script = tmp_path / "train.py"
    script.write_text(LOADERS)
    command = [sys.executable, str(script), str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=90)
    assert done.stderr == ""
    seen = [sum(range(i, i + 4)) * 2 for i in range(0, 24, 4)]
    assert done.stdout == f"fork {seen}\nfork {seen}\nspawn {seen}\n"
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["rank00000.pts"]
    timeline = only(tmp_path / "run")
    assert (len(timeline), timeline.scalars) == (18, ())


# --- leaving ------------------------------------------------------------------------

LEAVING = """
prof = Profiler(FOLDER).start()
train(prof, 100)
if RECORDED: prof._writer.wake(); time.sleep(0.1)
with prof.step():
    prof.mark("forward")
    WAY
train(prof, 100)
"""
WAYS = {
    "sys.exit(3)": (3, "ended by SystemExit: 3 (step 100)"),
    "os._exit(4)": (4, "did not finish: last heard of after step 99"),
    "os.kill(os.getpid(), 15); time.sleep(9)": (-15, "did not finish: last heard of after step 99"),
    "os.abort()": (-6, "did not finish: last heard of after step 99"),
    "raise KeyboardInterrupt": (-2, "ended by KeyboardInterrupt (step 100)"),
    "import signal; signal.raise_signal(2)": (-2, "ended by KeyboardInterrupt (step 100)"),
    "raise RuntimeError('out of memory')": (1, "ended by RuntimeError: out of memory (step 100)"),
    "raise StopIteration": (1, "ended by StopIteration (step 100)"),
    "raise GeneratorExit": (1, "101 steps"),
    "os.execv(sys.executable, [sys.executable, '-c', 'exit(9)'])": (9, "did not finish"),
    "import signal; signal.signal(15, lambda *_: sys.exit(8)); os.kill(os.getpid(), 15)": (
        8,
        "ended by SystemExit: 8 (step 100)",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_leave_in_a_step(tmp_path: Path, way: str) -> None:
    code, sentence = WAYS[way]
    python = (sys.executable,) if "abort" in way else (sys.executable, "-X", "dev", "-W", "error")
    assert trial(LEAVING.replace("WAY", way), tmp_path, python=python).code == code
    status, text = report(tmp_path)
    assert status == 0
    assert sentence in text
    assert "100 steps" in text or "101 steps" in text


THREADS = """
import threading
halt = threading.Event()
def forever(prof):
    while True: train_quietly(prof); time.sleep(0.0005)
def train_quietly(prof):
    with prof.step(): prof.mark("forward")
def daemon(): # records, and never ends
    prof = Profiler(FOLDER + "/daemon").start()
    for _ in range(50): train_quietly(prof)
    halt.set()
    forever(prof)
def slow(): # goes on after the main thread's end
    with Profiler(FOLDER + "/slow") as prof:
        for _ in range(30): train_quietly(prof); time.sleep(0.01)
main = Profiler(FOLDER + "/main").start()
train(main, 50)
threading.Thread(target=daemon, daemon=True).start()
threading.Thread(target=slow).start()
threading.Thread(target=forever, args=(main,), daemon=True).start()
halt.wait()
"""


def test_threads_at_the_end_of_the_process(tmp_path: Path) -> None:
    result = trial(THREADS, tmp_path)
    assert (result.code, len(result.said)) == (0, 1)
    assert "another thread" in result.said[0]
    assert "finished" in report(tmp_path / "slow")[1]
    assert "30 steps" in report(tmp_path / "slow")[1]
    assert "left without finish()" in report(tmp_path / "daemon")[1]
    _, text = report(tmp_path / "main")
    assert "50 steps" in text
    assert "steps begun in another thread" in text


def test_recording_that_begins_when_the_process_ends(tmp_path: Path) -> None:
    body = """
import atexit
def late():
    with Profiler(FOLDER) as prof: train(prof, 30)
    told()
atexit.register(late)
"""
    trial(body, tmp_path)
    assert len(only(tmp_path)) == 30


# --- surroundings -------------------------------------------------------------------


def test_an_environment_and_command_line_of_any_bytes(tmp_path: Path) -> None:
    odd = {"RANK": "zero", "WORLD_SIZE": "-1", "SLURM_JOB_ID": os.fsdecode(b"\xff\x1b[31m"),
           "TORCH_ODD": os.fsdecode(b"\xfe"), "SLURM_PROCID": "9" * 40}  # fmt: skip
    body = "prof = Profiler(FOLDER).start()\ntrain(prof, 30)\nprof.finish()"
    trial(body, tmp_path, os.fsdecode(b"\xff"), "--name=\u20ac\x1b[2J", "", environ=odd)
    environment = only(tmp_path).metadata["environment"]
    assert environment["env"]["TORCH_ODD"]
    assert environment["argv"][-2:] == ["--name=\u20ac\x1b[2J", ""]
    code, text = report(tmp_path, "-v")
    assert code == 0
    assert "\x1b" not in text
    at = f"import sys; sys.path[:0] = {sys.path!r}\n"
    trial(at + body, tmp_path / "I", environ={"LC_ALL": "C"}, python=(sys.executable, "-I", "-O"))
    assert len(only(tmp_path / "I")) == 30


def test_a_program_without_a_command_line_or_output(tmp_path: Path) -> None:
    body = """
del sys.argv
err, sys.stderr = sys.stderr, None
for place in (FOLDER + "/run", FOLDER + "/\\0"):
    prof = Profiler(place).start()
    train(prof, 30)
    prof.finish()
sys.stderr = err
"""
    assert trial(body, tmp_path).said == ()
    assert len(only(tmp_path / "run")) == 30


def test_signals_that_nobody_handles_here(tmp_path: Path) -> None:
    """No handler is installed: what was there before is there after."""
    before = [signal.getsignal(number) for number in signal.valid_signals()]
    with pytscope.Profiler(tmp_path) as prof, prof.step():
        assert [signal.getsignal(number) for number in signal.valid_signals()] == before

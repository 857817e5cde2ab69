"""Nothing leaves the recorder: bad folders, full disks, bad collectors, bad names."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from pytscope.recording import harmless as guards
from pytscope.recording.harmless import harmless
from pytscope.recording.profiler import Profiler

from .decode import attempt


def loop(prof: Profiler, steps: int = 3) -> int:
    done = 0
    prof.start()
    for _ in prof.iter_data(range(steps)):
        with prof.step():
            prof.mark("forward")
            done += 1
    prof.finish()
    return done


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert loop(Profiler(tmp_path / "file" / "run")) == 3


@pytest.mark.parametrize("argument", [None, 7, object()])
def test_a_folder_that_is_no_path(argument: Any) -> None:
    assert loop(Profiler(argument)) == 3


@pytest.mark.parametrize(
    "kwargs", [{"flush_every": "x"}, {"warmup": object()}, {"config": object()}, {"name": 3}]
)
def test_odd_arguments(tmp_path: Path, kwargs: dict[str, Any]) -> None:
    assert loop(Profiler(tmp_path, **kwargs)) == 3


@pytest.mark.parametrize("name", [None, 3, ["a"], "x" * 5000, "\ud800", "\x1b[2J"])
def test_odd_phase_names(tmp_path: Path, name: Any) -> None:
    with Profiler(tmp_path) as prof:
        for _ in range(3):
            with prof.step():
                prof.mark(name)
    run = attempt((tmp_path / "rank00000.pts").read_bytes())
    assert len(run["steps"]) == 3
    assert run["end"] is not None


def test_a_disk_that_was_full_for_a_while_gets_it_all_later(tmp_path: Path) -> None:
    code = """
import resource, signal, sys
from pytscope.recording.profiler import Profiler
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
prof = Profiler(sys.argv[1], inline=True).start()
done = 0
for i in range(4000):
    if i == 1000:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
    if i == 3000:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    with prof.step():
        prof.mark("forward")
        done += 1
prof.finish()
print(done)
"""
    assert resource.RLIMIT_FSIZE is not None
    out = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "4000"
    assert "cannot write" in out.stderr
    assert out.stderr.count("\n") == 1
    import pytscope.runs.sources.run_directory as source

    run = source.run_directory.open(tmp_path)
    (timeline,) = run.timelines
    (last,) = timeline.attempts
    assert (last.lost_steps, last.damaged_bytes, len(timeline)) == (0, 0, 4000)
    assert last.finished


class Collector:
    name = "mine"

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.calls = 0

    def start(self, info: Any) -> dict[str, str]:
        if self.fault == "start":
            msg = "no device"
            raise RuntimeError(msg)
        return {"used": "b", "rate": "s"}

    def sample(self) -> tuple[Any, ...]:
        self.calls += 1
        if self.fault == "sample" and self.calls == 2:
            msg = "gone"
            raise ValueError(msg)
        return (1) if self.fault == "shape" else (1000 + self.calls, 0.5)  # type: ignore[return-value]

    def stop(self) -> None:
        if self.fault == "stop":
            raise OSError


def test_collectors_are_sampled_after_each_step(tmp_path: Path) -> None:
    assert loop(Profiler(tmp_path, collectors=[Collector()])) == 3
    run = attempt((tmp_path / "rank00000.pts").read_bytes())
    assert [r["bytes"]["used"] for r in run["steps"]] == [1001, 1002, 1003]
    assert [r["scalars"]["rate"] for r in run["steps"]] == [0.5] * 3


def test_an_error_out_of_code_that_has_no_hash() -> None:
    def faulty() -> None:
        raise ValueError

    made = faulty.__code__.replace(co_consts=(*faulty.__code__.co_consts, {}))
    with pytest.raises(TypeError):
        hash(made)
    with harmless("running what a compiler made"):
        types.FunctionType(made, {"ValueError": ValueError})()


@pytest.mark.parametrize("fault", ["start", "sample", "shape", "stop"])
def test_a_collector_that_fails_is_dropped_and_said(tmp_path: Path, fault: str) -> None:
    assert loop(Profiler(tmp_path, collectors=[Collector(fault)])) == 3
    run = attempt((tmp_path / "rank00000.pts").read_bytes())
    assert len(run["steps"]) == 3
    said = [e for e in run["events"] if e["kind"] in {"warning", "collector"}]
    assert len(said) == 1


def test_a_collector_that_nobody_brings(tmp_path: Path) -> None:
    assert loop(Profiler(tmp_path, collectors=["nobody"])) == 3
    run = attempt((tmp_path / "rank00000.pts").read_bytes())
    said = next(e for e in run["events"] if e["kind"] == "warning")
    assert "nobody" in said["message"]


def test_exit_without_finish_keeps_the_steps(tmp_path: Path) -> None:
    code = """
import sys
from pytscope.recording.profiler import Profiler
prof = Profiler(sys.argv[1]).start()
for i in range(50):
    with prof.step(): prof.mark("forward")
if len(sys.argv) > 2: raise RuntimeError("boom")
"""
    for arguments in ([], ["raise"]):
        folder = tmp_path / f"run{len(arguments)}"
        command = [sys.executable, "-c", code, str(folder), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == len(arguments)
        run = attempt((folder / "rank00000.pts").read_bytes())
        assert len(run["steps"]) == 50
        assert run["end"] is None
        (left,) = [e for e in run["events"] if e["kind"] == "exit"]
        assert left.get("message") == ("boom" if arguments else None)


def test_a_multiprocessing_child_keeps_its_steps(tmp_path: Path) -> None:
    code = """
import multiprocessing, sys
from pytscope.recording.profiler import Profiler
def work(folder):
    prof = Profiler(folder).start()
    for i in range(50):
        with prof.step(): prof.mark("forward")
if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        child = context.Process(target=work, args=(sys.argv[1] + method,))
        child.start(); child.join(); assert child.exitcode == 0
"""
    script = tmp_path / "script.py"
    script.write_text(code)
    subprocess.run([sys.executable, str(script), f"{tmp_path}{os.sep}"], check=True)
    for method in ("fork", "spawn", "forkserver"):
        run = attempt((tmp_path / method / "rank00000.pts").read_bytes())
        assert len(run["steps"]) == 50


def test_what_was_caught_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    guards._said.clear()
    for _ in range(3):
        guards.forgiven("looking", LookupError("nowhere"))
    said = [record.getMessage() for record in caplog.records]
    assert said == ["pytscope: looking failed (LookupError: nowhere); training goes on"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_what_a_signal_handler_raised_is_not_forgiven() -> None:
    def late(*_: Any) -> None:
        raise RuntimeError("late")

    before = signal.signal(signal.SIGALRM, late)
    try:
        with pytest.raises(RuntimeError, match="late"):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.001)
                signal.pause()
            except RuntimeError as error:
                guards.forgiven("waiting", error)
    finally:
        signal.signal(signal.SIGALRM, before)

"""SIGKILL in a loop, in a long evaluation, in a hung step."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import pytscope

from .decode import attempt

LOOP = """
import sys, time
from pytscope.recording.profiler import Profiler
prof = Profiler(sys.argv[1], name="killed", config={"lr": 0.1}).start()
counter = open(sys.argv[2], "r+b", buffering=0)
def step(i):
    with prof.step():
        time.sleep(0.002); prof.mark("forward"); prof.log(loss=1 / (i + 1))
    counter.seek(0); counter.write(b"%08d %020d" % (i + 1, time.perf_counter_ns()))
where = sys.argv[3]
i = 0
while where == "loop" or i < 300:
    step(i); i += 1
if where == "eval":
    with prof.phase("eval"): time.sleep(600)
elif where == "step":
    with prof.step():
        time.sleep(0.01); prof.mark("forward"); time.sleep(600)
"""


def killed(tmp_path: Path, where: str, after_s: float) -> tuple[int, Path]:
    """Steps the child completed by the time it was killed, and its run folder."""
    counter = tmp_path / "counter"
    counter.write_bytes(b"%08d %020d" % (0, 0))
    run = tmp_path / "run"
    child = subprocess.Popen([sys.executable, "-c", LOOP, str(run), str(counter), where])
    deadline = time.monotonic() + 60
    wanted = 300 if where != "loop" else 400
    while int(counter.read_bytes()[:8] or 0) < wanted and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(after_s)
    child.send_signal(signal.SIGKILL)
    child.wait()
    return int(counter.read_bytes()[:8]), run


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize(("where", "after_s"), [("loop", 0.5), ("eval", 3.5), ("step", 3.5)])
def test_sigkill_loses_at_most_the_last_second(tmp_path: Path, where: str, after_s: float) -> None:
    done, folder = killed(tmp_path, where, after_s)
    run = attempt_of_torn((folder / "rank00000.pts").read_bytes())
    assert run["run"]["name"] == "killed"
    assert run["run"]["config"] == {"lr": 0.1}
    assert run["run"]["environment"]["argv"]
    assert run["end"] is None
    if where == "loop":
        per_second = 1.5 / 0.002  # no step is shorter than its sleep; half a second of grace
        assert done - len(run["steps"]) <= per_second
    else:
        assert len(run["steps"]) == done == 300
        last = run["open"][-1]
        assert last["step"] == 300
        assert last["blocks"] == (["eval"] if where == "eval" else [])
        assert last["t"] - run["steps"][-1]["t0"] > 1.5e9


def attempt_of_torn(data: bytes) -> dict[str, Any]:
    """As `attempt`, of a file whose last record may be cut short."""
    while data:
        try:
            return attempt(data)
        except (ValueError, AssertionError):
            data = data[: data.rstrip(b"\n").rfind(b'\n{"b":') + 1]
    return {}


@pytest.mark.parametrize("where", ["loop", "eval", "step"])
def test_the_report_says_that_it_did_not_finish_and_where(tmp_path: Path, where: str) -> None:
    done, folder = killed(tmp_path, where, 0.5 if where == "loop" else 3.5)
    report = pytscope.analyze(folder)
    (finding,) = [f for f in report.findings if f.rule == "COVERAGE.NOT_FINISHED"]
    said = f"{finding.title} {finding.detail}"
    if where == "loop":
        assert report.run.steps <= done
    else:
        assert "299" in said or "300" in said
    if where == "eval":
        assert "eval" in said
    assert not report.run.finished
    assert os.path.exists(folder)  # noqa: PTH110

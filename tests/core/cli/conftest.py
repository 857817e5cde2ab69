"""The command in this process, and recorded runs for it to read."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest

from pytscope.cli import main
from pytscope.recording.profiler import Profiler

MS = 1_000_000


@attrs.frozen
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str


Command = Callable[..., Result]


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An empty current folder, and an environment that asks for nothing."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "PYTSCOPE_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path_factory.mktemp("cwd"))


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run the command in this process."""

    def call(*arguments: object) -> Result:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        code = stopped.value.code
        assert isinstance(code, int)
        return Result(code, out, err)

    return call


@pytest.fixture
def shell() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run a shell command line in which `$PYTSCOPE` is the command."""

    def call(line: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
        source = Path(main.__globals__["__file__"]).parents[2]
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join([environ.pop("FIRST", ""), str(source)]).strip(
                os.pathsep
            ),
            "PYTSCOPE": f"{sys.executable} -m pytscope",
            **environ,
        }
        return subprocess.run(
            ["bash", "-c", line], env=env, capture_output=True, check=False, timeout=60
        )

    return call


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 1000 * MS

    def __call__(self) -> int:
        return self.now

    def pass_ms(self, ms: int) -> None:
        self.now += ms * MS


def record(folder: Path, steps: int = 60, *, data_ms: int = 30, warmup: int = 5) -> Path:
    """Record a run on a clock of its own: slow data, forward 10 ms, one evaluation."""
    clock = Clock()

    def batches() -> Iterator[int]:
        for i in range(steps):
            clock.pass_ms(data_ms)
            yield i

    with Profiler(folder, name="sample", warmup=warmup, clock=clock, inline=True) as profiler:
        for i in profiler.iter_data(batches()):
            with profiler.step():
                clock.pass_ms(10)
                profiler.mark("forward")
                profiler.log(loss=1.0)
            if i == steps // 2:
                with profiler.phase("eval"):
                    clock.pass_ms(20)
    return folder


@pytest.fixture(scope="session")
def slow_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that waits for data three quarters of the time."""
    return record(tmp_path_factory.mktemp("runs") / "slow")


@pytest.fixture(scope="session")
def fast_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that hardly waits."""
    return record(tmp_path_factory.mktemp("runs") / "fast", data_ms=0)

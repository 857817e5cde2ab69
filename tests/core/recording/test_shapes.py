"""What is logged several times in a step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytscope
from pytscope.model import records
from pytscope.recording import keys
from pytscope.recording.profiler import Profiler

from .decode import attempt


def scalars(folder: Path) -> list[dict[str, Any]]:
    steps = attempt((folder / "rank00000.pts").read_bytes())["steps"]
    return [row["scalars"] for row in steps]


def test_counts_of_micro_batches_add_up(tmp_path: Path) -> None:
    with Profiler(tmp_path, inline=True) as prof:
        for step in range(6):
            for micro in range(4):
                with prof.step(update=micro == 3):
                    prof.log(loss=float(micro), samples=8, tokens=100 + micro)
                    if step == 5:
                        prof.log(samples=0.5)
    *alike, last = scalars(tmp_path)
    assert alike == [{"loss": 3.0, "tokens": 406, "samples": 32}] * 5
    assert last["samples"] == 34.0


def test_counts_of_micro_batches_logged_after_each_add_up(tmp_path: Path) -> None:
    with Profiler(tmp_path, inline=True, flush_every=1) as prof:
        for _ in prof.iter_data(range(3)):
            for micro in range(4):
                with prof.step(update=micro == 3):
                    prof.mark("forward")
                prof.log(samples=8)
    assert pytscope.open(tmp_path).series("samples")[1].tolist() == [32, 32, 32]


def test_counts_that_outgrow_an_integer_are_left_out(tmp_path: Path) -> None:
    with Profiler(tmp_path, inline=True) as prof, prof.step():
        prof.mark("forward")
        prof.log(tokens=2**62)
        prof.log(tokens=2**62)
    assert scalars(tmp_path) == [{}]


def test_writer_and_reader_count_the_same_names() -> None:
    assert keys.COUNTS == records.COUNTS
    assert keys.LOG_NAMES == records.LOGGED


class OnDevice:
    """A scalar on an accelerator, which is read when its step is packed."""

    device = type("Device", (), {"type": "cuda"})()

    def __init__(self, value: object) -> None:
        self.value = value

    def numel(self) -> int:
        return 1

    def detach(self) -> OnDevice:
        return self

    clone = detach

    def item(self) -> object:
        return self.value


def test_device_scalars_of_any_kind_are_read_or_left_out(tmp_path: Path) -> None:
    with Profiler(tmp_path, inline=True) as prof:
        for value in (1.5, 2, True, 1j, None, 2.5):
            with prof.step():
                prof.mark("forward")
                prof.log(loss=OnDevice(value))
    logged = [{"loss": 1.5}, {"loss": 2}, {"loss": 1}, {}, {}, {"loss": 2.5}]
    assert scalars(tmp_path) == logged


class Rates:
    """A collector whose column has a name that loops log, too."""

    name = "rates"

    def start(self, info: Any) -> dict[str, str]:
        assert info["rank"] == 0
        return {"lr": "s"}

    def sample(self) -> tuple[float]:
        return (0.5,)

    def stop(self) -> None:
        """Nothing to undo."""


def test_what_is_logged_counts_rather_than_what_is_sampled_by_that_name(tmp_path: Path) -> None:
    with Profiler(tmp_path, inline=True, collectors=[Rates()]) as prof:
        for step in range(4):
            with prof.step():
                prof.mark("forward")
                prof.log(loss=1.0, lr=float(step) if step % 2 else None)
    assert [row["lr"] for row in scalars(tmp_path)] == [0.5, 1.0, 0.5, 3.0]
    header = attempt((tmp_path / "rank00000.pts").read_bytes())
    assert len(header["steps"]) == 4

"""The file of `--noise-store` when others write to it too, and stores that are odd."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path

import pytest

import pytscope
from pytscope.cli.noise_file import add_noise, read_noise
from pytscope.diffing.noise import MOST_CONFIGURATIONS, NoiseStore, Repeat
from tests.core.cli.conftest import Clock

from pytscope.recording.profiler import Profiler  # isort: skip


def made(folder: Path, seed: int) -> pytscope.Run:
    clock, draw = Clock(), random.Random(seed)
    with Profiler(folder, clock=clock, inline=True, config={"lr": 1, "seed": seed}) as profiler:
        for _ in range(20):
            with profiler.step():
                clock.pass_ms(1)
                profiler.log(loss=draw.random())
    return pytscope.open(folder)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[pytscope.Run]:
    root = tmp_path_factory.mktemp("runs")
    return [made(root / str(seed), seed) for seed in range(6)]


def kept(path: Path) -> int:
    return sum(map(len, read_noise(path).repeats.values()))


def test_what_another_comparison_added_meanwhile_is_kept(runs, tmp_path, capsys):
    path = tmp_path / "noise.json"
    for run in runs:
        add_noise(path, [run])  # none of them has seen the others
    assert kept(path) == len(runs)
    assert "1 run more" in capsys.readouterr().err


def test_comparisons_at_the_same_time_lose_nothing(runs, tmp_path):
    pytest.importorskip("fcntl", reason="no locks here")
    path = tmp_path / "noise.json"
    threads = [threading.Thread(target=add_noise, args=(path, [run])) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert kept(path) == len(runs)
    assert [p.name for p in tmp_path.iterdir()] == ["noise.json"]


def test_a_store_beyond_its_bounds_is_trimmed_and_the_number_of_new_runs_is_right(
    runs, tmp_path, capsys
):
    path = tmp_path / "noise.json"
    many = {str(i): (Repeat(str(i), "", {"loss": 1.0}),) for i in range(MOST_CONFIGURATIONS + 50)}
    path.write_text(NoiseStore(many).text())
    add_noise(path, runs[:2])
    assert "2 runs more" in capsys.readouterr().err
    assert len(read_noise(path).repeats) == MOST_CONFIGURATIONS


def test_the_text_has_a_line_for_each_repeat(runs):
    store = NoiseStore()
    assert json.loads(store.text())["configurations"] == {}
    for run in runs:
        store = store.add(run)
    text = store.text()
    assert NoiseStore.read(text) == store
    assert sum('"run"' in line for line in text.splitlines()) == len(runs)

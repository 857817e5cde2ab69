"""The adapter against the torch that is installed: a CPU, and real process groups."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="tests what pytscope knows about torch")
adapter = pytest.importorskip("pytscope_torch.adapter", reason="pytscope-torch is not installed")


def test_waiting_on_a_machine_without_an_accelerator_returns_at_once() -> None:
    was = torch.cuda.is_initialized()
    adapter.synchronize()
    assert torch.cuda.is_initialized() is was


@pytest.mark.gpu
def test_waiting_waits_for_the_queue() -> None:
    torch.cuda.init()
    torch.cuda._sleep(50_000_000)
    adapter.synchronize()
    assert torch.cuda.current_stream().query()


@pytest.mark.gpu
def test_nothing_is_waited_for_while_a_graph_is_captured() -> None:
    a = torch.ones(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        b = a + 1
        adapter.synchronize()
    graph.replay()
    torch.cuda.synchronize()
    assert b.sum().item() == 16


def test_no_process_group_without_one() -> None:
    assert adapter.process_group() is None


RANK_CODE = """
import sys
import torch.distributed as dist
from pytscope import Profiler
from pytscope_torch import adapter

store, folder, rank = sys.argv[1], sys.argv[2], int(sys.argv[3])
dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
assert adapter.process_group() == (rank, 2)
with Profiler(folder, distributed=True) as prof:
    for _ in range(2):
        with prof.step():
            pass
dist.destroy_process_group()
assert adapter.process_group() is None
"""


@pytest.mark.skipif(
    not torch.distributed.is_available(), reason="torch was built without distributed"
)
def test_a_process_group_names_the_files_of_its_ranks(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = [sys.executable, "-c", RANK_CODE, str(tmp_path / "store"), str(folder)]
    ranks = [
        subprocess.Popen([*words, str(r)], stderr=subprocess.PIPE, text=True) for r in range(2)
    ]
    said = [rank.communicate(timeout=120)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], said
    assert sorted(path.name for path in folder.iterdir()) == ["rank00000.pts", "rank00001.pts"]
    head = (folder / "rank00001.pts").read_text(errors="replace").splitlines()[0]
    assert '"rank":1,"world":2' in head

"""What reading and analysing cost a step, a block and a rank: counted, not timed."""

from __future__ import annotations

import functools
import gc
import importlib.util
import re
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytscope.analysis.orchestrator import analyze
from pytscope.model.document import report_document
from pytscope.plugins.declare import RenderOptions
from pytscope.recording.profiler import Profiler
from pytscope.runs.sources.run_directory import open_run_directory
from tests.core.runs.diagnosing import registry
from tests.core.runs.pts_bytes import attempt, plain_steps
from tests.core.runs.reading import write

BENCH = Path(__file__).parents[3] / "bench" / "scale.py"


@functools.cache
def bench() -> ModuleType:
    """The benchmark's module: it packs the large files."""
    spec = importlib.util.spec_from_file_location("bench_scale", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def scene(ranks: int, steps: int) -> Any:
    module = bench()
    return module.Scene(ranks, steps, (*module.README, module.OTHER), (("loss", "<f4"),))


def python_calls(call: Callable[[], Any]) -> int:
    """Calls of Python functions that a call makes, in this thread."""
    count = 0

    def seen(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before, collecting = sys.getprofile(), gc.isenabled()
    gc.disable()  # what others have hung on a collection is none of the call's
    sys.setprofile(seen)
    try:
        call()
    finally:
        sys.setprofile(before)
        if collecting:
            gc.enable()
    return count


def more_calls(folder: Path, small: Any, large: Any, call: Callable[[Path], Any]) -> int:
    """Calls that a larger run costs beyond a smaller one."""
    counts = []
    for i, made in enumerate((small, large)):
        bench().write_run(made, folder / str(i))
        call(folder / str(i))  # what is loaded once is loaded
        counts.append(python_calls(lambda i=i: call(folder / str(i))))
    return counts[1] - counts[0]


def report(folder: Path) -> Any:
    return analyze(open_run_directory(folder), registry())


def test_the_benchmark_packs_what_the_recorder_packs(tmp_path):
    made = bench().Scene(1, 1200, (*bench().README, bench().OTHER), (("loss", "<f4"),))
    bench().write_run(made, tmp_path / "made")
    run = open_run_directory(tmp_path / "made")
    timeline = run.timelines[0]
    assert (len(timeline), run.notes) == (1200, ())
    first = timeline.attempts[0]
    assert (first.finished, first.lost_ns, first.lost_steps) == (True, 0, 0)
    recorded = Profiler(tmp_path / "recorded", inline=True)
    recorded.start()
    for _ in recorded.steps(range(3)):
        for name in ("forward", "backward", "optimizer"):
            recorded.mark(name)
        recorded.log(loss=0.5)
    recorded.finish()
    headers = [_layout(tmp_path / name / "rank00000.pts") for name in ("made", "recorded")]
    assert headers[0] == headers[1]


def _layout(path: Path) -> bytes:
    """The first block's header, its numbers taken out."""
    header = re.search(rb'\{"b":"steps".*?"crc":\d+\}\n', path.read_bytes())
    assert header is not None
    line = re.sub(rb'\["(?:eval|checkpoint)".*?\],|,\["p","other",[^]]*\]', b"", header[0])
    return re.sub(rb"(?<=[:\[,])\d+(?=[,}\]])", b"0", line).split(b'],"step"')[1]


def test_python_calls_of_a_block(tmp_path):
    blocks = 60
    sizes = [scene(1, 500 * n) for n in (10, 10 + blocks)]
    more = more_calls(tmp_path, *sizes, open_run_directory)
    assert more / blocks < 40


def test_analysing_more_steps_takes_hardly_more_python_calls(tmp_path):
    blocks = 60
    opened = more_calls(
        tmp_path / "a", scene(1, 500 * 20), scene(1, 500 * (20 + blocks)), open_run_directory
    )
    in_all = more_calls(tmp_path / "b", scene(1, 500 * 20), scene(1, 500 * (20 + blocks)), report)
    assert in_all - opened < 1000


def test_python_calls_of_a_rank(tmp_path):
    opened = more_calls(tmp_path / "a", scene(70, 200), scene(170, 200), open_run_directory)
    assert opened / 100 < 300
    in_all = more_calls(tmp_path / "b", scene(70, 200), scene(170, 200), report)
    assert in_all / 100 < 700


def allocated(call: Callable[[], Any]) -> tuple[Any, int]:
    """A result, and the most bytes that were held while it was made."""
    tracemalloc.start()
    try:
        result = call()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_of_a_step(tmp_path):
    steps = 200_000
    bench().write_run(scene(1, steps), tmp_path / "run")
    report(tmp_path / "run")
    run, opening = allocated(lambda: open_run_directory(tmp_path / "run"))
    _, analysing = allocated(lambda: analyze(run, registry()))
    assert opening / steps < 110
    assert analysing / steps < 300


def test_a_sparkline_of_any_run_has_sixty_cells(tmp_path):
    bench().write_run(scene(1, 20_000), tmp_path / "run")
    text = registry().reporters["text"].reporter
    drawn = text.render(report(tmp_path / "run"), RenderOptions(width=200))
    cells = [len(run) for run in re.findall("[▁▂▃▄▅▆▇█]{20,}", drawn)]
    assert 60 in cells
    assert max(cells) <= 60


@pytest.mark.parametrize("analysis", ["budget", "coverage"])
def test_json_of_many_ranks_holds_three_of_them(tmp_path, analysis):
    bench().write_run(scene(70, 30), tmp_path / "run")
    document = report_document(report(tmp_path / "run"))
    ranks = document[analysis]["ranks"]
    walls = [rank["wall_ns"] for rank in ranks]
    assert len(ranks) == 3
    assert walls == sorted(walls)
    assert document["coverage"]["ranks_present"] == list(range(70))
    assert len(document["coverage"]["steps_by_rank"]) == 3


def test_json_of_sixty_four_ranks_holds_all(tmp_path):
    bench().write_run(scene(64, 30), tmp_path / "run")
    document = report_document(report(tmp_path / "run"))
    assert len(document["budget"]["ranks"]) == len(document["coverage"]["ranks"]) == 64


def test_a_report_of_more_ranks_is_hardly_longer(tmp_path):
    text = registry().reporters["text"].reporter
    lengths = []
    for ranks in (70, 400):
        bench().write_run(scene(ranks, 30), tmp_path / str(ranks))
        lengths.append(len(text.render(report(tmp_path / str(ranks)), RenderOptions())))
    assert abs(lengths[1] - lengths[0]) < 100


def test_ranks_read_together_and_alone_are_the_same(tmp_path, monkeypatch):
    for rank in range(7):
        steps = plain_steps(5 + rank, wall_ns=10**6 + rank)
        write(tmp_path, attempt(steps, rank=rank, world=7, block=2), rank)
    together = open_run_directory(tmp_path)
    monkeypatch.setattr("pytscope.runs.timelines.TOGETHER", 1)
    alone = open_run_directory(tmp_path)
    for a, b in zip(together.timelines, alone.timelines, strict=True):
        assert list(a.records()) == list(b.records())
        assert (a.scalars, a.phases, a.attempts) == (b.scalars, b.phases, b.attempts)
        for name in a.phases:
            assert a.phase_sum_ns(name) == b.phase_sum_ns(name) == a.phase_ns(name).sum()

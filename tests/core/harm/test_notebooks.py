"""Cells that are run again, second fits, two recorders of one folder: each start is an attempt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pytscope
from pytscope.recording import lifecycle
from pytscope.recording.profiler import Profiler
from tests.core.recording.truth import only, said

from .trial import report

CELL = """
prof = Profiler(folder)
prof.start()
for i in prof.iter_data(range(steps)):
    with prof.step():
        prof.mark("forward")
        if i == fails: raise ValueError("in the cell")
"""


class Notebook:
    """Runs cells in one namespace, and goes on after an exception as IPython does."""

    def __init__(self, **names: Any) -> None:
        self.names: dict[str, Any] = {"Profiler": Profiler, "fails": None, **names}
        self.errors: list[Exception] = []

    def run(self, cell: str, **names: Any) -> None:
        self.names.update(names)
        try:
            exec(compile(cell, "<cell>", "exec"), self.names)  # as a notebook does
        except Exception as error:  # noqa: BLE001  # shown, and forgotten
            self.errors.append(error.with_traceback(None))


def attempts(folder: Path) -> list[tuple[int, bool]]:
    """Steps of each attempt, and whether it finished."""
    found = []
    for number in range(10):
        try:
            (timeline,) = pytscope.open(folder, attempt=number).timelines
        except pytscope.PytscopeError:
            break
        found.append((len(timeline), timeline.attempts[0].finished))
    return found


def test_a_cell_that_is_run_again_without_finish(tmp_path: Path) -> None:
    notebook = Notebook(folder=tmp_path)
    for steps in (30, 40, 50):
        notebook.run(CELL, steps=steps)
    assert [f.name for f in tmp_path.iterdir()] == ["rank00000.pts"]
    assert len(lifecycle._live) == 1
    _, live = report(tmp_path)
    assert "still recording" in live
    notebook.run("prof.finish()")
    assert attempts(tmp_path) == [(30, False), (40, False), (50, True)]
    assert said(only(tmp_path)) == [lifecycle.FOLLOWS]
    code, text = report(tmp_path)
    assert code == 0
    assert "50 steps" in text
    assert "analysed: attempt 2; not analysed: attempts 0, 1" in text
    assert "this process was still recording this run: that attempt ended without" in text
    assert "left without finish()" in report(tmp_path, "--attempt", "0")[1]


def test_a_cell_that_raises_and_is_run_again(tmp_path: Path) -> None:
    notebook = Notebook(folder=tmp_path, steps=30)
    notebook.run(CELL, fails=10)
    assert [str(error) for error in notebook.errors] == ["in the cell"]
    notebook.run(CELL, fails=None)
    notebook.run("prof.finish()")
    assert attempts(tmp_path) == [(10, False), (30, True)]
    assert "ended with ValueError" in report(tmp_path, "--attempt", "0")[1]
    assert "rated - finished" in report(tmp_path)[1]


def test_the_same_recorder_started_again_while_it_records(tmp_path: Path) -> None:
    notebook = Notebook(folder=tmp_path, steps=30)
    notebook.run("prof = Profiler(folder)")
    again = CELL.replace("prof = Profiler(folder)\n", "")
    notebook.run(again, fails=10)
    notebook.run(again, fails=None)
    notebook.run("prof.finish()")
    assert attempts(tmp_path) == [(10, False), (30, True)]
    assert lifecycle.FOLLOWS in said(only(tmp_path))


def test_started_twice_before_anything_is_recorded_is_one_attempt(tmp_path: Path) -> None:
    with Profiler(tmp_path).start().start() as prof, prof.step():
        prof.mark("forward")
    assert attempts(tmp_path) == [(1, True)]
    assert said(only(tmp_path)) == []


def test_a_second_fit_and_a_third_that_goes_on(tmp_path: Path) -> None:
    prof = Profiler(tmp_path)
    for first in (0, 0, 30):
        prof.start(first)
        for _ in prof.iter_data(range(30)):
            with prof.step():
                prof.mark("forward")
        prof.finish()
    assert attempts(tmp_path) == [(30, True)] * 3
    _, text = report(tmp_path)
    assert "60 steps" in text
    assert "analysed: attempts 1, 2; not analysed: attempt 0" in text


def test_two_recorders_of_one_folder_at_once(tmp_path: Path) -> None:
    first, second = Profiler(tmp_path / "run"), Profiler(tmp_path / "." / "run")
    first.start()
    with first.step():
        second.start()
        first.mark("forward")
    assert (first.recording, second.recording) == (False, True)
    for _ in range(30):
        with first.step(), second.step():
            second.mark("forward")
    first.finish()
    second.finish()
    assert attempts(tmp_path / "run") == [(0, False), (30, True)]
    assert "that attempt ended without finish()" in report(tmp_path / "run")[1]


def test_recorders_of_several_folders_do_not_mind_each_other(tmp_path: Path) -> None:
    profs = [Profiler(tmp_path / str(i)).start() for i in range(3)]
    for _ in range(30):
        for prof in profs:
            with prof.step():
                prof.mark("forward")
    for prof in profs:
        prof.finish()
    assert [len(only(tmp_path / str(i))) for i in range(3)] == [30] * 3


@pytest.mark.parametrize("way", ["never started", "after its end", "deleted"])
def test_recorders_that_do_not_record_cost_nothing(tmp_path: Path, way: str) -> None:
    prof = Profiler(tmp_path)
    if way != "never started":
        prof.start()
    if way == "after its end":
        prof.finish()
    if way == "deleted":
        key = id(prof)
        del prof
        assert key in lifecycle._live  # it has steps to write yet
        lifecycle._live[key].finish()
        assert attempts(tmp_path) == [(0, True)]
        return
    for _ in prof.steps(prof.iter_data([1, 2])):
        with prof.step(), prof.phase("eval"), prof.comm():
            prof.mark("forward")
            prof.log(loss="x")
    assert not prof.recording

"""Opening: the right source, or a sentence that says what to do."""

from pathlib import Path

import pytest

from pytscope.model.errors import RunNotFound, RunUnreadable, UsageError
from pytscope.runs.building import make_run
from pytscope.runs.opening import open_run
from pytscope.runs.source import Source
from pytscope.runs.sources.run_directory import run_directory
from tests.core.runs.pts_bytes import attempt, plain_steps
from tests.core.runs.reading import write


def toy_open(path: Path, attempt: int | None = None):
    return make_run({"data": 1}, name=f"toy {path.name} {attempt}")


toy = Source("toy", lambda path: path.suffix == ".toy", toy_open)
SOURCES = (run_directory, toy)


@pytest.fixture
def run(tmp_path):
    return write(tmp_path / "runs" / "night-1", attempt(plain_steps(5)))


def test_the_first_source_that_detects_the_path_opens_it(run, tmp_path):
    assert open_run(run, SOURCES).source == "pytscope"
    assert open_run(str(run), SOURCES).source == "pytscope"
    (tmp_path / "x.toy").write_text("")
    assert open_run(tmp_path / "x.toy", SOURCES, attempt=4).name == "toy x.toy 4"


def test_a_named_source_is_not_asked_whether_it_detects(run):
    assert open_run(run, SOURCES, source="toy").name == "toy night-1 None"


def test_a_source_of_no_name(run):
    with pytest.raises(UsageError, match="no source is named 'tou'; there are: pytscope, toy") as e:
        open_run(run, SOURCES, source="tou")
    assert e.value.hint == "Did you mean toy?"
    assert e.value.exit_code == 2


def test_what_a_source_raises_passes(run):
    def fails(path, attempt=None):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        open_run(run, [Source("bad", lambda path: True, fails)])


def test_a_missing_path_names_its_sibling(run):
    with pytest.raises(RunNotFound, match=r"there is nothing at .*nigth-1") as e:
        open_run(run.parent / "nigth-1", SOURCES)
    assert e.value.hint == f"Did you mean {run} (just now, 5 steps)?"
    assert e.value.exit_code == 3


def test_a_missing_folder_on_the_way_is_the_one_that_is_named(run, tmp_path):
    with pytest.raises(RunNotFound) as e:
        open_run(tmp_path / "rums" / "night-1", SOURCES)
    assert e.value.hint == f"Did you mean {tmp_path / 'runs'}?"


def test_a_missing_path_with_nothing_like_it(run, tmp_path):
    with pytest.raises(RunNotFound) as e:
        open_run(tmp_path / "zzz", SOURCES)
    assert e.value.hint == f"The folder {tmp_path} holds: runs."
    (tmp_path / "bare").mkdir()
    with pytest.raises(RunNotFound) as e:
        open_run(tmp_path / "bare" / "zzz", SOURCES)
    assert e.value.hint == f"The folder {tmp_path / 'bare'} is empty."


@pytest.mark.parametrize("path", ["\0", "x" * 5000])
def test_a_path_no_file_system_can_hold(path):
    with pytest.raises((RunNotFound, RunUnreadable)):
        open_run(path, SOURCES)


def test_a_path_below_a_file(run):
    with pytest.raises(RunNotFound):
        open_run(run / "rank00000.pts" / "x", SOURCES)


def test_a_folder_of_runs_lists_them(run):
    with pytest.raises(RunUnreadable, match=f"is no run itself, but holds a run: {run}$") as e:
        open_run(run.parent, SOURCES)
    assert e.value.hint == "Give one of them."
    for i in range(2, 9):
        write(run.parent / f"night-{i}", attempt(plain_steps(2)))
    with pytest.raises(RunUnreadable, match=r"holds 8 runs: .*night-5 and 3 more$"):
        open_run(run.parent, SOURCES)


def test_a_folder_without_a_run(run, tmp_path):
    bare = run.parent / "bare"
    bare.mkdir()
    with pytest.raises(RunUnreadable, match=r"is an empty folder \(sources: pytscope, toy\)"):
        open_run(bare, SOURCES)
    (bare / "notes.txt").write_text("")
    with pytest.raises(RunUnreadable, match=r"without a run \(sources: pytscope, toy\)") as e:
        open_run(bare, SOURCES)
    assert e.value.hint.endswith("Runs beside it: night-1.")


def test_a_file_inside_a_run_names_the_run(run):
    (run / "notes.txt").write_text("")
    with pytest.raises(RunUnreadable) as e:
        open_run(run / "notes.txt", SOURCES)
    assert e.value.hint == f"It lies in a run; give that: {run}"


def test_a_missing_path_with_runs_beside_it_names_them(run):
    with pytest.raises(RunNotFound) as e:
        open_run(run.parent / "zzz", SOURCES)
    assert e.value.hint == f"Runs in {run.parent}: night-1."


def test_a_file_that_is_no_run(tmp_path):
    (tmp_path / "log.txt").write_text("loss 1")
    with pytest.raises(RunUnreadable, match=r"log.txt is a file that no source can open"):
        open_run(tmp_path / "log.txt", SOURCES)

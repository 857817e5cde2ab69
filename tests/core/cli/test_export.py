from __future__ import annotations

import csv
import io
import json
import sys

import pytest

from pytscope import open as open_run
from pytscope.runs.codec import step_record
from pytscope.runs.warmup import with_warmup
from tests.core.cli.conftest import record
from tests.core.runs.pts_bytes import attempt, plain_steps
from tests.core.runs.reading import write


@pytest.fixture(scope="module")
def ranked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "ranked"
    for rank in (0, 1, 4, 5):
        write(folder, attempt(plain_steps(6), rank=rank, world=6), rank)
    return folder


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_jsonl_is_the_records_of_the_run_with_its_warm_up(cli, slow_run):
    result = cli("export", slow_run, "--to", "jsonl")
    assert (result.code, result.err) == (0, "")
    back = [step_record(json.loads(line)) for line in result.out.splitlines()]
    run = with_warmup(open_run(slow_run), None)
    assert back == list(run.timelines[0].records())
    assert sum("warmup" in line for line in result.out.splitlines()) == 5


def test_standard_output_gets_json_lines_where_no_form_is_named(cli, slow_run):
    wanted = cli("export", slow_run, "--to", "jsonl").out
    assert cli("export", slow_run).out == wanted
    assert cli("export", slow_run, "-o", "-").out == wanted


@pytest.mark.parametrize("options", [(), ("-o", "steps.txt"), ("--to", "parquet")])
def test_a_run_that_is_not_there_is_said_before_anything_else(cli, slow_run, options):
    result = cli("export", slow_run.with_name("slwo"), *options)
    assert (result.code, result.out) == (3, "")
    assert "there is nothing at" in result.err
    assert "Did you mean" in result.err
    assert "slow" in result.err


def test_a_window_and_a_warm_up_are_those_of_analyze(cli, slow_run):
    kept = rows(cli("export", slow_run, "--to=csv", "--steps", "10:12", "--warmup=11").out)
    assert [row["step"] for row in kept] == ["10", "11", "12"]
    assert [row["flag.warmup"] for row in kept] == ["true", "false", "false"]


@pytest.mark.parametrize(
    ("asked", "there"), [(None, "0145"), ("1", "1"), ("0,4-7", "045"), ("4,0-1,1", "014")]
)
def test_ranks(cli, ranked, asked, there):
    options = () if asked is None else ("--ranks", asked)
    kept = rows(cli("export", ranked, "--to", "csv", *options).out)
    assert [row["rank"] for row in kept] == [rank for rank in there for _ in range(6)]


@pytest.mark.parametrize("asked", ["2", "0,2", "7-9"])
def test_a_rank_that_is_not_there(cli, ranked, asked):
    result = cli("export", ranked, "--to", "csv", "--ranks", asked)
    assert (result.code, result.out) == (2, "")
    absent = asked.removeprefix("0,")
    assert f"the run has no rank {absent}; its ranks are: 0, 1, 4, 5" in result.err


def test_attempts(cli, tmp_path):
    for steps in (3, 4):
        record(tmp_path / "run", steps=steps)
    for number, steps in ((None, 4), (0, 3), (1, 4)):
        options = () if number is None else ("--attempt", number)
        out = cli("export", tmp_path / "run", "--to", "jsonl", *options).out
        assert len(out.splitlines()) == steps


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_file_holds_what_standard_output_would(cli, slow_run, tmp_path, form):
    out = cli("export", slow_run, "--to", form).out
    file = tmp_path / f"steps.{form}"
    file.write_text("old")
    for options in (("--to", form, "-o", file), ("-o", file)):
        result = cli("export", slow_run, *options)
        assert (result.code, result.out) == (0, "")
        assert result.err == f"wrote {file} ({form}, 60 steps)\n"
        assert file.read_text() == out
    assert cli("export", slow_run, "--to", form, "-o", "-").out == out


def test_parquet(cli, slow_run, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "steps.parquet"
    assert cli("export", slow_run, "-o", file).err == f"wrote {file} (parquet, 60 steps)\n"
    read = pq.read_table(file)
    assert read.column("phase.data_ns").to_pylist()[:2] == [30_000_000] * 2
    assert read.schema.metadata[b"pytscope.run"] == b"sample"


def test_parquet_without_pyarrow_says_what_to_install(cli, slow_run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    result = cli("export", slow_run, "-o", tmp_path / "steps.parquet")
    assert (result.code, result.out) == (2, "")
    assert "pip install 'pytscope-core[parquet]'" in result.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-o", "steps.txt"), "say in which form: --to jsonl, --to csv, --to parquet"),
        (("--to", "parquet"), "parquet goes to a file"),
        (("--to", "parquet", "-o", "-"), "parquet goes to a file"),
        (("--to", "xml"), "'xml' is not one of"),
        (("--to", "csv", "-o", ""), "the name of the file is empty"),
        (("--to", "csv", "--ranks", "3-1"), "'3-1' is not ranks, such as 0,4-7"),
        (("--to", "csv", "--steps", "5:1"), "ends before it begins"),
    ],
)
def test_usage(cli, slow_run, options, said):
    result = cli("export", slow_run, *options)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


@pytest.mark.parametrize("options", [("nowhere/steps.csv",), ("/dev/full", "--to", "csv")])
def test_nowhere_to_write(cli, slow_run, options):
    result = cli("export", slow_run, "-o", *options)
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith(f"error: cannot write {options[0]}: ")


def test_nothing_to_export(cli, tmp_path, slow_run):
    empty = write(tmp_path / "empty", attempt([]))
    result = cli("export", empty, "--to", "csv")
    assert (result.code, result.out) == (3, "")
    assert "holds no completed step" in result.err
    outside = cli("export", slow_run, "--to", "csv", "--steps", "500:")
    assert (outside.code, outside.out) == (3, "")


def test_a_recording_is_not_written_over(cli, tmp_path):
    run = record(tmp_path / "run", steps=3)
    file = run / "rank00000.pts"
    before = file.read_bytes()
    (tmp_path / "link.csv").symlink_to(file)
    for target in (file, tmp_path / "link.csv"):
        for source in (run, file):
            result = cli("export", source, "--to", "csv", "-o", target)
            assert result.code == 2
            assert "is part of the run itself" in result.err
    assert file.read_bytes() == before
    assert cli("export", run, "-o", run / "steps.jsonl").code == 2
    for _ in range(2):
        assert cli("export", run, "-o", run / "steps.csv").code == 0


def test_a_write_that_fails_keeps_the_old_file(cli, slow_run, tmp_path, monkeypatch):
    file = tmp_path / "steps.csv"
    file.write_text("old")

    def breaks(run):
        yield "half\n"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pytscope.cli.exported.TEXTS", {"csv": breaks})
    result = cli("export", slow_run, "-o", file)
    assert result.code == 3
    assert "No space left on device" in result.err
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["steps.csv"]

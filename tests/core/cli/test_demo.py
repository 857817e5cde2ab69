from __future__ import annotations

import json
import re
import tempfile

import pytest

from pytscope.cli import demo as verb


@pytest.fixture
def short(monkeypatch):
    """The demo with a third of its steps."""
    monkeypatch.setattr(verb, "STEPS", 24)
    monkeypatch.setattr(verb.record, "__defaults__", (24,))


def test_it_records_a_faulty_run_and_reports_it(cli, tmp_path, short):
    result = cli("demo", tmp_path / "demo")
    assert result.code == 0
    tagged = [line for line in result.out.splitlines() if line.startswith("  [")]
    assert "[HIGH]" in tagged[0]
    assert "TIMING.DATALOADER_BOUND" in tagged[0]
    for phase in ("data", "forward", "backward", "optimizer", "eval", "checkpoint"):
        assert f"\n  {phase} " in result.out
    assert f"pytscope analyze {tmp_path / 'demo'}" in result.err
    again = json.loads(cli("analyze", tmp_path / "demo", "--format=json").out)
    assert again["run"]["steps"] == 24
    assert again["run"]["finished"]


def test_without_a_folder_it_says_where(cli, short, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = cli("demo", "--ascii")
    assert result.out.isascii()
    place = re.search(r"pytscope analyze (\S+)", result.err)
    assert place is not None
    assert cli("analyze", place[1]).code == 0


def test_a_file_is_no_place(cli, tmp_path):
    (tmp_path / "file").write_text("")
    result = cli("demo", tmp_path / "file")
    assert (result.code, result.out) == (2, "")
    assert "needs a folder" in result.err


def test_a_folder_that_holds_something_is_no_place(cli, tmp_path, slow_run):
    before = {path: path.read_bytes() for path in slow_run.iterdir()}
    (tmp_path / "notes").write_text("mine")
    for folder in (slow_run, tmp_path):
        result = cli("demo", folder)
        assert (result.code, result.out) == (2, "")
        assert f"error: {folder} is not empty" in result.err
    assert {path: path.read_bytes() for path in slow_run.iterdir()} == before


def test_an_empty_folder_is_a_place(cli, tmp_path, short):
    assert cli("demo", tmp_path).code == 0
    assert list(tmp_path.glob("*.pts"))

from __future__ import annotations

from pathlib import Path

import pytest

from pytscope.cli.check_settings import source_root
from pytscope.cli.scripts import script_of
from pytscope.testing import make_run


def found(here: Path, **environment: object) -> str:
    return script_of(make_run({"forward": 1}, steps=2, environment=environment), here)


def test_a_script_below_the_folder_is_named_from_it(tmp_path):
    (tmp_path / "src").mkdir()
    script = tmp_path / "src" / "train.py"
    script.write_text("")
    assert found(tmp_path, argv=["src/train.py"], cwd=str(tmp_path)) == "src/train.py"
    assert found(tmp_path, argv=[str(script), "-v"], cwd="/") == "src/train.py"
    assert found(tmp_path, argv=["../src/train.py"], cwd=str(tmp_path / "src")) == "src/train.py"
    assert found(tmp_path / "src", argv=["src/train.py"], cwd=str(tmp_path)) == "train.py"
    assert found(tmp_path, argv=["train.py"], cwd=str(tmp_path)) == ""
    assert found(tmp_path / "other", argv=["src/train.py"], cwd=str(tmp_path)) == ""


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"argv": None, "cwd": "/"},
        {"argv": [], "cwd": "/"},
        {"argv": "train.py", "cwd": "/"},
        {"argv": [3], "cwd": "/"},
        {"argv": ["-c"], "cwd": "/"},
        {"argv": ["a\0.py"], "cwd": "/"},
        {"argv": ["train.py"], "cwd": 7},
        {"argv": ["train.py"]},
    ],
)
def test_odd_command_lines_name_none(tmp_path, environment):
    assert found(tmp_path, **environment) == ""


def test_the_root_of_the_sources_is_the_workspace_of_a_job(tmp_path, monkeypatch):
    below = tmp_path / "a"
    below.mkdir()
    monkeypatch.chdir(below)
    assert source_root({}) == below
    assert source_root({"GITHUB_WORKSPACE": str(tmp_path)}) == tmp_path
    assert source_root({"GITHUB_WORKSPACE": str(below / "b")}) == below
    assert source_root({"GITHUB_WORKSPACE": ""}) == below

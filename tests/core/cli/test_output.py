from __future__ import annotations

import io
import stat
import sys
from pathlib import Path

import pytest

from pytscope.cli.output import OutputFailed, say, write_file, write_stdout


def test_files_are_whole_utf8_and_end_with_a_newline(tmp_path):
    path = tmp_path / "report.txt"
    write_file(path, "● a")
    assert path.read_bytes() == "● a\n".encode()
    assert [p.name for p in tmp_path.iterdir()] == ["report.txt"]


def test_a_file_is_replaced_with_its_mode_kept(tmp_path):
    path = tmp_path / "report.txt"
    path.write_text("old")
    path.chmod(0o600)
    write_file(path, "new\n")
    assert path.read_text() == "new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_keeps_pointing(tmp_path):
    (tmp_path / "there").write_text("old")
    (tmp_path / "link").symlink_to("there")
    write_file(tmp_path / "link", "new\n")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there").read_text() == "new\n"


def test_devices_are_written_to():
    write_file(Path("/dev/null"), "text")
    assert not Path("/dev/null").is_file()


@pytest.mark.parametrize("name", ["missing/report.txt", "."])
def test_what_cannot_be_written_is_a_sentence(tmp_path, name):
    with pytest.raises(OutputFailed, match="cannot write"):
        write_file(tmp_path / name, "text")
    assert not list(tmp_path.iterdir())


def test_a_failed_write_keeps_the_old_file():
    with pytest.raises(OutputFailed, match="No space"):
        write_file(Path("/dev/full"), "text")


def test_standard_output_takes_what_its_encoding_lacks(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", stream)
    write_stdout("é ● \ud800")
    assert stream.buffer.getvalue() == b"\xe9 \\u25cf \\ud800\n"  # type: ignore[attr-defined]  # BytesIO


def test_a_closed_standard_output_is_a_sentence(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(OutputFailed, match="closed"):
        write_stdout("text")


def test_what_is_said_is_visible(capsys):
    say("run \x1b[2J\nerror: forged")
    assert capsys.readouterr().err == "run \\x1b[2J\\nerror: forged\n"


def test_nothing_is_said_without_a_standard_error(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", None)
    say("text")
    assert capsys.readouterr().out == ""

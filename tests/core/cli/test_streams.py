"""The command between real pipes, terminals, devices and encodings."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import shlex
import subprocess
import sys

import pytest

from tests.core.plugins.throwaway import SOURCES, python

COLOR = re.compile(rb"\x1b\[[0-9;]*m")


def test_a_reader_that_goes_away_is_no_error(shell, slow_run):
    line = f"$PYTSCOPE analyze {slow_run} | true; echo ${{PIPESTATUS[0]}}"
    done = shell(line)
    assert done.stdout == b"141\n"
    assert done.stderr == b""


def test_head_takes_what_it_wants(shell, slow_run):
    done = shell(f"$PYTSCOPE analyze {slow_run} | head -1", PYTHONUNBUFFERED="1")
    assert done.stdout.startswith("● RUN".encode())
    assert done.stderr == b""


TO_STDOUT = (
    "analyze RUN",
    "explain TIMING.JITTER",
    "export RUN --to jsonl",
    "export RUN --to csv",
    "plugins",
    "schema",
    "--help",
    "--version",
)


def test_no_verb_minds_a_reader_that_goes_away(shell, slow_run):
    for verb in TO_STDOUT:
        line = f"$PYTSCOPE {verb.replace('RUN', str(slow_run))} | head -c 1"
        done = shell(line, PYTHONUNBUFFERED="1")
        assert (len(done.stdout), done.stderr) == (1, b""), verb


@pytest.mark.parametrize("verb", TO_STDOUT)
def test_a_full_disk_is_one_sentence(shell, slow_run, verb):
    done = shell(f"$PYTSCOPE {verb.replace('RUN', str(slow_run))} > /dev/full")
    assert done.returncode == 3
    assert done.stderr.startswith(b"error: ")
    assert done.stderr.count(b"\n") == 1
    assert b"No space left on device" in done.stderr


def test_a_closed_standard_output_is_one_sentence(shell, slow_run):
    done = shell(f"$PYTSCOPE analyze {slow_run} >&-")
    assert done.returncode == 3
    assert done.stderr == b"error: standard output is closed\n"


def test_a_closed_standard_error_does_not_spill(shell, tmp_path):
    done = shell(f"$PYTSCOPE analyze {tmp_path}/none 2>&-")
    assert (done.returncode, done.stdout) == (3, b"")


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_what_is_not_utf8_gets_ascii(shell, cli, slow_run, encoding):
    done = shell(f"$PYTSCOPE analyze --reproducible {slow_run}", PYTHONIOENCODING=encoding)
    assert done.returncode == 0
    assert done.stdout.decode("ascii") == cli("analyze", "--ascii", "--reproducible", slow_run).out
    assert b"* RUN sample -- " in done.stdout


EVERY_WAY = """
from pytscope.cli import main
for options in ([], ["--color=always"], ["--format=json"], ["-v", "--ascii", "--plugins"]):
    try:
        main(["analyze", RUN, "--reproducible", "--show-passed", *options])
    except SystemExit as stopped:
        assert stopped.code == 0
"""


def test_bytes_do_not_depend_on_the_hash_seed(slow_run):
    code = EVERY_WAY.replace("RUN", repr(str(slow_run)))
    drawn = [python(code, environ={"PYTHONHASHSEED": str(seed)}) for seed in range(5)]
    assert drawn[0].stderr == ""
    assert drawn[0].stdout.count("TIMING.DATALOADER_BOUND") >= 4
    assert len({done.stdout for done in drawn}) == 1


def on_a_terminal(arguments: str, **environ: str) -> bytes:
    """What the command writes to a terminal of 200 columns."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "pytscope", *shlex.split(arguments)]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "TERM": "xterm", **environ}
    seen = b""
    with subprocess.Popen(command, env=env, stdout=follower, stderr=follower):
        os.close(follower)
        with contextlib.suppress(OSError):  # raised when the command has closed its end
            while part := os.read(leader, 65536):
                seen += part
    os.close(leader)
    return seen.replace(b"\r\n", b"\n")


def test_a_terminal_gets_colour_over_the_same_bytes(shell, cli, slow_run):
    piped = shell(f"$PYTSCOPE analyze {slow_run}").stdout
    assert piped.decode() == cli("analyze", slow_run).out
    seen = on_a_terminal(f"analyze {slow_run}", COLUMNS="200")
    assert seen != piped
    assert COLOR.sub(b"", seen) == piped
    assert on_a_terminal(f"analyze {slow_run}", NO_COLOR="1") == piped
    assert on_a_terminal(f"--color=never analyze {slow_run}") == piped


LOOKS = ("text -v", "markdown", "json")


@pytest.mark.parametrize("look", LOOKS)
def test_every_way_of_having_no_colour_gives_the_same_bytes(cli, slow_run, monkeypatch, look):
    options = [slow_run, "--reproducible", "--format", *look.split()]
    for width in (40, 88, 200):
        for signs in ([], ["--ascii"]):
            asked = [*options, f"--width={width}", *signs]
            never = cli("analyze", *asked, "--color=never").out
            assert COLOR.sub(b"", cli("analyze", *asked, "--color=always").out.encode()) == (
                never.encode()
            )
            assert cli("--color", "auto", "analyze", *asked).out == never
            monkeypatch.setenv("FORCE_COLOR", "1")
            assert (cli("analyze", *asked).out != never) is look.startswith("text")
            monkeypatch.setenv("NO_COLOR", "1")
            assert cli("analyze", *asked).out == never
            monkeypatch.delenv("NO_COLOR")
            monkeypatch.delenv("FORCE_COLOR")
            monkeypatch.setenv("COLUMNS", "31")
            assert cli("analyze", *asked).out == never
            monkeypatch.delenv("COLUMNS")
            if look.startswith("text"):
                assert max(map(len, never.splitlines())) <= width


@pytest.mark.parametrize("value", ["", "0"])
def test_force_colour_that_says_no_forces_nothing(shell, slow_run, value):
    plain = shell(f"$PYTSCOPE analyze {slow_run}").stdout
    assert shell(f"$PYTSCOPE analyze {slow_run}", FORCE_COLOR=value).stdout == plain
    assert on_a_terminal(f"analyze {slow_run}", TERM="dumb", FORCE_COLOR=value) == plain
    assert on_a_terminal(f"analyze {slow_run}", TERM="dumb", FORCE_COLOR="1") != plain


def test_completion_offers_verbs_and_options(shell):
    done = shell(
        "COMP_WORDS='pytscope ex' COMP_CWORD=1 $PYTSCOPE", _PYTSCOPE_COMPLETE="bash_complete"
    )
    assert done.stdout.split() == [b"plain,explain", b"plain,export"]
    source = shell("$PYTSCOPE", _PYTSCOPE_COMPLETE="bash_source")
    assert b"_PYTSCOPE_COMPLETE=bash_complete" in source.stdout

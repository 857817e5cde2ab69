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


@pytest.mark.parametrize("verb", ["analyze RUN", "plugins", "--help", "--version"])
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
    done = shell(f"$PYTSCOPE analyze {slow_run}", PYTHONIOENCODING=encoding)
    assert done.returncode == 0
    assert done.stdout.decode("ascii") == cli("analyze", "--ascii", slow_run).out
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

"""The sign of life: late, on a terminal's standard error alone, and gone at the end."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import threading
import time

import pytest

from pytscope.cli.progress import reading
from tests.core.plugins.throwaway import SOURCES

SLOW = """
import sys, time
from pytscope.cli.progress import reading
print("before")
with reading(sys.argv[1], after_s=float(sys.argv[2])):
    time.sleep(float(sys.argv[3]))
print("after")
"""


def run(path: str, after_s: float, takes_s: float, **environ: str) -> tuple[bytes, bytes]:
    """What a process writes to its standard output, a pipe, and its standard error, a terminal."""
    leader, follower = pty.openpty()
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "TERM": "xterm", **environ}
    command = [sys.executable, "-c", SLOW, path, str(after_s), str(takes_s)]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=follower) as process:
        os.close(follower)
        seen = b""
        try:
            while part := os.read(leader, 65536):
                seen += part
        except OSError:  # the command has closed its end
            pass
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(leader)
    assert process.returncode == 0
    return out, seen


def test_what_takes_long_is_named_on_standard_error_and_gone_at_the_end():
    out, seen = run("runs/exp\x1b[2J1", 0.05, 1.0)
    assert out == b"before\nafter\n"
    assert rb"reading runs/exp\x1b[2J1" in seen
    # At the end the line is erased and the cursor shown again.
    assert seen.rindex(b"\x1b[2K") > seen.rindex(b"reading")
    assert seen.endswith(b"\x1b[2K")
    assert seen.rindex(b"\x1b[?25h") > seen.rindex(b"\x1b[?25l")


@pytest.mark.parametrize(
    ("after_s", "takes_s", "environ"), [(5, 0.2, {}), (0.01, 0.5, {"TERM": "dumb"})]
)
def test_what_is_quick_or_cannot_be_shown_is_not(after_s, takes_s, environ):
    assert run("runs/exp1", after_s, takes_s, **environ) == (b"before\nafter\n", b"")


def test_no_colour_is_no_colour():
    _, seen = run("runs/exp1", 0.05, 0.8, NO_COLOR="1")
    assert b"reading runs/exp1" in seen
    assert not re.search(rb"\x1b\[[0-9;]*m", seen)


def test_a_pipe_gets_nothing(capfd):
    with reading("runs/exp1", after_s=0.0):
        time.sleep(0.1)
    assert capfd.readouterr() == ("", "")


def test_a_closed_standard_error_is_no_matter(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with reading("runs/exp1", after_s=0.0):
        time.sleep(0.05)


def test_no_thread_is_left_behind_even_when_reading_fails():
    before = set(threading.enumerate())
    with pytest.raises(ZeroDivisionError), reading("runs/exp1", after_s=5):
        raise ZeroDivisionError
    assert set(threading.enumerate()) <= before

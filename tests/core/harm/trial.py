"""A trial: one program twice, with pytscope and without, and what the report says of it.

The program must not notice which of the two it is: standard output (losses bit
by bit), exception with the functions it came through, and exit code are equal.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from pytscope.cli import main

PLAIN = """
import contextlib
class Plain:
    recording = False
    def __init__(self, *_, **__): pass
    def start(self, step=0): return self
    def finish(self): pass
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def iter_data(self, loader): return loader
    def steps(self, loader): return iter(loader)
    def step(self, update=True): return contextlib.nullcontext()
    phase = comm = step
    def begin_step(self): pass
    def end_step(self, update=True): pass
    def mark(self, name): pass
    def log(self, *_, **__): pass
"""
PREAMBLE = (
    PLAIN
    + """
import os, sys, time, zlib
FOLDER, RECORDED = sys.argv[1], sys.argv[2] == "recorded"
if RECORDED: from pytscope import Profiler
else: Profiler = Plain

losses = []

def train(prof, steps=20, each=None):
    loss = 1.0
    for i in prof.iter_data(range(steps)):
        with prof.step():
            loss = loss * 0.999 + 1 / (len(losses) + 7)
            prof.mark("forward")
            prof.log(loss=loss)
            losses.append(loss.hex())
            if each: each(i)

def raised(kind, error, trace):
    names = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if "pytscope" not in code.co_filename: names.append(f"{code.co_name}:{trace.tb_lineno}")
        trace = trace.tb_next
    print("raised", kind.__name__, error, names, flush=True)

def told():
    print(len(losses), zlib.crc32(repr(losses).encode()), losses[-1:], flush=True)

sys.excepthook = raised
"""
)
ENDING = "\ntold()\n"

_names: dict[str, Any] = {}
exec(PLAIN, _names)  # one spelling of it, here and in the programs
Plain: type[Any] = _names["Plain"]
"""What a program without pytscope has in the place of a `Profiler`."""


@attrs.frozen
class Trial:
    """What became of a program.

    Attributes:
        code: Exit code of both runs.
        out: Standard output of both.
        said: What pytscope logged, a line each.
    """

    code: int
    out: str
    said: tuple[str, ...]


def trial(
    body: str,
    folder: Path,
    *arguments: str,
    environ: dict[str, str] | None = None,
    timeout_s: float = 60,
    python: Sequence[str] = (sys.executable, "-X", "dev", "-W", "error"),
) -> Trial:
    """Run a program with pytscope and without, side by side, and compare.

    Args:
        body: The program, after `PREAMBLE`: `FOLDER`, `Profiler`, `train(prof)`.
        folder: Where it records.
        arguments: More of its command line.
        environ: More of its environment.
        timeout_s: When it counts as hung.
        python: The interpreter.
    """
    code = PREAMBLE + body + ENDING
    both = [
        subprocess.Popen(
            [*python, "-c", code, str(folder), how, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environ or {})},
        )
        for how in ("recorded", "not")
    ]
    outs = [process.communicate(timeout=timeout_s) for process in both]
    (out, err), (plain_out, plain_err) = (
        (a.decode(errors="replace"), b.decode(errors="replace")) for a, b in outs
    )
    assert plain_err == "", plain_err  # else the program is not what it was meant to be
    said = tuple(err.splitlines())
    assert all(line.startswith("pytscope: ") for line in said), err
    assert (out, both[0].returncode) == (plain_out, both[1].returncode)
    return Trial(both[0].returncode, out, said)


def report(path: Path, *options: str) -> tuple[int, str]:
    """Exit code of `pytscope analyze`, and all that it prints, on one line."""
    out, err = io.StringIO(), io.StringIO()
    caught = pytest.raises(SystemExit)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), caught as done:
        main(["analyze", str(path), "--width", "200", *options])
    text = out.getvalue() + err.getvalue()
    assert "Traceback" not in text
    return int(str(done.value.code)), re.sub(r"\s+", " ", text)

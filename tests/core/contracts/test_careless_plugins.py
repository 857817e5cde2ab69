"""Plugins that work, and are careless with the process they are called in.

The command runs in a process of its own beside each. What it writes to standard
output must be the report, and the report what it is without the plugin.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.core.cli.conftest import record
from tests.core.plugins.throwaway import SOURCES, distribution, pack

NOISE = """
import atexit, os, sys, threading, time, warnings
print("import")
os.write(1, b"descriptor\\n")
sys.__stdout__.write("original\\n")
os.system("echo child")
atexit.register(print, "exit")
warnings.warn("deprecated", DeprecationWarning)

def chatter():
    while True:
        print("thread", flush=True)
        time.sleep(0.001)

threading.Thread(target=chatter, daemon=True).start()

class Late:
    def __del__(self): print("deleted")
LATE = Late()
"""
CHANGES = """
import logging, os, signal, sys
import numpy as np
os.chdir("/")
os.environ.update(NO_COLOR="", FORCE_COLOR="1", PYTSCOPE_RAISE_PLUGIN_ERRORS="1", TERM="dumb")
sys.setrecursionlimit(sys.getrecursionlimit() + 50)
np.seterr(all="raise")
np.set_printoptions(precision=1)
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGALRM, lambda *_: 1 / 0)
signal.setitimer(signal.ITIMER_REAL, 0.05)
sys.excepthook = None
sys.settrace(lambda *_: None)
logging.basicConfig(stream=sys.stdout, level=0)
logging.disable(logging.CRITICAL)
"""
CLOSES = """
import sys
sys.stdout.close()
sys.stderr.close()
sys.__stdout__.close()
sys.stdout = sys.stderr = None
"""
BUSY = """
import threading, time
threading.Thread(target=time.sleep, args=(600,), name="acme-poller").start()
"""
HANGS = "import os, time; os.write(2, b'hanging\\n'); time.sleep(600)"


PUT_BACK = (
    "it changed the working directory, the recursion limit, signal handlers or an alarm, "
    "environment variables that pytscope reads; that was put back"
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("runs") / "slow")


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return distribution(tmp_path_factory.mktemp("core"), "pytscope-core", version="0.3.0")


def command(*arguments: object, path: tuple[Path, ...], cwd: Path) -> tuple[list[str], Any]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTSCOPE", "PYTHON"))}
    environ = {**kept, "PYTHONPATH": os.pathsep.join(map(str, (*path, SOURCES)))}
    line = [sys.executable, "-m", "pytscope", *map(str, arguments)]
    return line, {"env": environ, "cwd": cwd}


def pytscope(*arguments: object, path: tuple[Path, ...], cwd: Path) -> Any:
    line, options = command(*arguments, path=path, cwd=cwd)
    done = subprocess.run(line, **options, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done


@pytest.fixture(scope="module")
def sound(run: Path, core: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    done = pytscope(*JSON, path=(core,), cwd=run.parent)
    return parts(done.stdout)


JSON = ("analyze", "slow", "--format=json", "--reproducible")


def parts(text: bytes) -> dict[str, Any]:
    """The report without problems, plugins and the checks of plugins."""
    document: dict[str, Any] = json.loads(text)
    document["checks"] = [c for c in document["checks"] if not c["rule"].startswith("ACME.")]
    del document["problems"], document["plugins"]
    return document


@pytest.mark.parametrize("when", ["load", "rule"])
def test_the_report_is_all_there_is_on_standard_output_and_as_before(
    when: str, run: Path, core: Path, tmp_path: Path, sound: dict[str, Any]
) -> None:
    for name, code in (("a-noise", NOISE), ("b-changes", CHANGES), ("c-closes", CLOSES)):
        rule_id = f"ACME.{name.upper().replace('-', '_')}"
        source = pack(rule_id, "return []") + code
        if when == "rule":
            source = pack(rule_id, f"exec({code!r}, {{}})")
        distribution(tmp_path, name, source)
    done = pytscope(*JSON, path=(tmp_path, core), cwd=run.parent)
    assert parts(done.stdout) == sound
    for word in (b"import", b"descriptor", b"original", b"child", b"thread", b"exit"):
        assert word in done.stderr
    (problem,) = json.loads(done.stdout)["problems"]
    assert (problem["plugin"], problem["message"]) == ("b_changes", PUT_BACK)
    assert problem["stage"] == ("load" if when == "load" else "rule ACME.B_CHANGES")


def test_a_thread_that_does_not_end_does_not_keep_the_command(
    run: Path, core: Path, tmp_path: Path, sound: dict[str, Any]
) -> None:
    site = distribution(tmp_path, "busy", BUSY + pack("ACME.BUSY", "return []"))
    done = pytscope(*JSON, path=(site, core), cwd=run.parent)
    assert parts(done.stdout) == sound
    assert b"warning: threads that a plugin started do not end (acme-poller)" in done.stderr


def test_an_interrupt_names_the_plugin_that_hangs(run: Path, core: Path, tmp_path: Path) -> None:
    site = distribution(tmp_path, "hangs", pack("ACME.HANGS", HANGS))
    line, options = command(*JSON, path=(site, core), cwd=run.parent)
    process = subprocess.Popen(line, **options, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr is not None
    assert process.stderr.readline() == b"hanging\n"
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, b"")
    assert b"interrupted while plugin hangs (hangs 1.0) ran: rule ACME.HANGS" in err

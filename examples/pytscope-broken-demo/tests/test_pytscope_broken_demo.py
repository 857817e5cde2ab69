"""A report beside eight broken plugins: all of it as without them, and eight problems.

Runs in an environment that has pytscope-core, pytscope-rules-demo and this
distribution installed, and nothing else that registers with pytscope.
"""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytscope import Profiler

MS = 1_000_000
WITHOUT = ("-p", "no:pytscope-broken-demo")
GOOD = "DEMO.LOGGING_HEAVY"
PROBLEMS = {
    "broken_claim": (
        "rule TIMING.DATALOADER_BOUND",
        "rule id TIMING.DATALOADER_BOUND is already registered by builtin",
    ),
    "broken_exit": ("rule BROKEN.EXITS", "called sys.exit(nothing to report)"),
    "broken_hook": ("pytscope_rules", "FileNotFoundError: acme.toml"),
    "broken_import": (
        "load",
        "ImportError: libacme.so.3: cannot open shared object file",
    ),
    "broken_name": (
        "pytscope_ruels",
        "there is no hook 'pytscope_ruels'; did you mean 'pytscope_rules'?",
    ),
    "broken_recursion": (
        "analyzer broken_depth",
        "RecursionError: maximum recursion depth exceeded",
    ),
    "broken_reporter": ("reporter brokenreporter", "IndexError: tuple index out of range"),
    "broken_rule": ("rule BROKEN.RAISES_LATE", "ZeroDivisionError: division by zero"),
}


class Clock:
    """A clock that only this test moves."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        """Tell the time."""
        return self.now

    def pass_ms(self, ms: int) -> int:
        """Move on."""
        self.now += ms * MS
        return self.now


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded run that waits for data and logs a lot."""
    folder, clock = tmp_path_factory.mktemp("runs") / "slow", Clock()

    def batches() -> Iterator[int]:
        for _ in range(60):
            yield clock.pass_ms(30)

    with Profiler(folder, name="slow", warmup=5, clock=clock, inline=True) as profiler:
        for _ in profiler.iter_data(batches()):
            with profiler.step():
                clock.pass_ms(20)
                profiler.mark("forward")
                with profiler.phase("log"):
                    clock.pass_ms(10)
    return folder


@functools.cache
def pytscope(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTSCOPE")}
    done = subprocess.run(
        [sys.executable, "-m", "pytscope", *map(str, arguments)],
        env={**kept, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    assert done.returncode == code, done.stderr
    return done


def problems_of(document: dict[str, Any]) -> dict[str, tuple[str, str]]:
    found = document["problems"]
    assert {p["distribution"] for p in found} == {"pytscope-broken-demo"}
    assert len({p["plugin"] for p in found}) == len(found)
    return {p["plugin"]: (p["stage"], p["message"]) for p in found}


def test_json_is_the_same_but_for_problems_and_plugins(run: Path) -> None:
    arguments = ("analyze", run, "--format=json", "--reproducible")
    beside = json.loads(pytscope(*arguments).stdout)
    alone = json.loads(pytscope(*arguments, "--strict", *WITHOUT).stdout)
    # Nobody asked for the reporter, so nobody knows that it is broken.
    assert set(problems_of(beside)) == PROBLEMS.keys() - {"broken_reporter"}
    assert alone["problems"] == []
    broken = [c for c in beside["checks"] if c["rule"].startswith("BROKEN.")]
    assert {c["rule"]: c["outcome"] for c in broken} == {
        "BROKEN.EXITS": "error",
        "BROKEN.RAISES_LATE": "error",
    }
    beside["checks"] = [c for c in beside["checks"] if c not in broken]
    for document in (beside, alone):
        del document["problems"], document["plugins"]
    assert json.dumps(beside) == json.dumps(alone)
    assert {GOOD, "TIMING.DATALOADER_BOUND"} <= {f["rule"] for f in beside["findings"]}


def test_all_eight_are_problems_where_all_are_asked(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "broken.txt"
    done = pytscope("analyze", run, f"--format=brokenreporter:{file}", "--format=json")
    found = problems_of(json.loads(done.stdout))
    assert found.keys() == PROBLEMS.keys()
    for plugin, (stage, message) in PROBLEMS.items():
        assert found[plugin][0] == stage
        assert found[plugin][1].startswith(message)


def test_text_is_the_same_but_for_problems_and_failed_checks(run: Path) -> None:
    arguments = ("analyze", run, "--reproducible")
    beside = sections(pytscope(*arguments).stdout)
    alone = sections(pytscope(*arguments, *WITHOUT).stdout)
    assert "PROBLEMS (7)" in "".join(beside)
    assert len(beside) == len(alone) + 1
    beside = [s for s in beside if "PROBLEMS (" not in s]
    assert [s for s in beside if "CHECKS" not in s] == [s for s in alone if "CHECKS" not in s]
    (checks,) = (s for s in beside if "CHECKS" in s)
    assert "BROKEN.EXITS: called sys.exit(nothing to report)" in checks
    assert "BROKEN.RAISES_LATE: ZeroDivisionError: division by zero" in checks
    assert f"({GOOD})" in "".join(beside)


def sections(text: str) -> list[str]:
    return text.rstrip("\n").split("\n\n")


def test_the_reporter_gives_way_to_text_with_a_sentence(run: Path) -> None:
    done = pytscope("analyze", run, "--format=brokenreporter", "--reproducible")
    assert (
        "warning: reporter brokenreporter of plugin broken_reporter failed: "
        "IndexError: tuple index out of range; text is written instead"
    ) in done.stderr
    assert "Traceback" not in done.stderr
    assert "half of a report" in done.stderr
    (problems,) = (s for s in sections(done.stdout) if "PROBLEMS (8)" in s)
    unwrapped = " ".join(problems.split())
    for plugin, (stage, _) in PROBLEMS.items():
        assert f"{plugin} (pytscope-broken-demo 1.0.0), {stage}: " in unwrapped


def test_strict_minds(run: Path) -> None:
    done = pytscope("analyze", run, "--strict", code=4)
    assert "strict: plugin broken_exit, rule BROKEN.EXITS: called sys.exit" in done.stderr
    pytscope("analyze", run, "--format=json", "--reproducible", "--strict", *WITHOUT)


def test_the_listing_has_state_and_reason_of_each() -> None:
    listed = json.loads(pytscope("plugins", "--json").stdout)["plugins"]
    rows = {p["name"]: p for p in listed if p["distribution"] == "pytscope-broken-demo"}
    assert rows.keys() == PROBLEMS.keys()
    states = {name: row["state"] for name, row in rows.items()}
    late = {"broken_exit", "broken_recursion", "broken_reporter", "broken_rule"}
    assert {n for n, state in states.items() if state == "loaded"} == late
    assert {n for n, state in states.items() if state == "broken"} == PROBLEMS.keys() - late
    for name in PROBLEMS.keys() - late:
        assert rows[name]["reason"].startswith(PROBLEMS[name][1])
    text = pytscope("analyze", "--plugins").stdout
    assert "broken_name (pytscope-broken-demo 1.0.0): broken" in text
    assert "demo (pytscope-rules-demo 1.0.0): loaded" in text


def test_after_an_analysis_the_table_has_the_reasons_of_all(run: Path) -> None:
    done = pytscope("analyze", run, "--format=json", "--reproducible")
    document = json.loads(done.stdout)
    reasons = {p["name"]: p["reason"] for p in document["plugins"]}
    assert reasons["broken_exit"] == "rule BROKEN.EXITS: called sys.exit(nothing to report)"
    assert reasons["broken_recursion"].startswith("analyzer broken_depth: RecursionError")
    assert reasons["demo"] == ""


def test_what_needs_no_plugin_survives_them_all() -> None:
    assert pytscope("--version").stdout.startswith("pytscope-core ")
    assert "analyze" in pytscope("--help").stdout
    assert "Detects" in pytscope("explain", GOOD).stdout

"""Broken plugins, installed, beside a report that stays as it was.

Each is a distribution of its own on the path of a fresh interpreter that
records nothing and analyses a run made in memory.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.core.plugins.throwaway import distribution, pack, python

ANALYSE = """
import sys
import pytscope
from pytscope.testing import make_run
run = make_run({"data": [40, 45] * 20, "forward": 20, "log": 5})
sys.stdout.write(pytscope.analyze(run).to_json(reproducible=True))
"""
FIRES = 'yield Finding(severity=Severity.LOW, title="seen", rule="{}")'
HOOKLESS = """
from pytscope import hookimpl

@hookimpl
def pytscope_ruels():
    return []
"""
UNSPEAKABLE = """
from pytscope import Analyzer, Rule, Run, hookimpl

class Unspeakable(Exception):
    def __str__(self): raise SystemExit("no words")
    __repr__ = __str__

class Analysis:
    def __repr__(self): raise RuntimeError("repr")
    def __eq__(self, other): raise RuntimeError("eq")
    def __hash__(self): raise RuntimeError("hash")
    @property
    def panel(self): raise Unspeakable

def analyse(run: Run) -> Analysis:
    return Analysis()

def check(analysis: Analysis):
    raise Unspeakable

@hookimpl
def pytscope_analyzers():
    return [Analyzer("unspeakable", analyse)]

@hookimpl
def pytscope_rules():
    return [Rule("ACME.UNSPEAKABLE", check, "1")]
"""
LATE = """
from pytscope import Rule, Run, hookimpl

def check(run: Run):
    return []

@hookimpl
def pytscope_rules():
    yield Rule("ACME.LATE", check, "1")
    raise ValueError("late")
"""
DOCSTRING = """
from pytscope import Run, hookimpl, rule

@rule("ACME.DOC", since="1")
def check(run: Run):
    "\\x1b[2J\\x1b]0;owned\\x07 \\u202e hidden"
    return []

@hookimpl
def pytscope_rules():
    return [check]
"""
CHATTY = """
import warnings
print("importing")
warnings.warn("old", DeprecationWarning)
""" + pack("ACME.CHATTY", "print('checking'); warnings.warn('older', DeprecationWarning)")

CORE = "builtin (pytscope-core 0.3.0)"
PROBLEMS = {
    "import-fails": (
        "raise ImportError('no libcuda\\nlong story')",
        "load",
        "ImportError: no libcuda",
    ),
    "import-exits": ("import sys; sys.exit(3)", "load", "called sys.exit(3)"),
    "exits-late": (
        pack("ACME.EXITS", FIRES.format("") + "; raise SystemExit(5)"),
        "rule ACME.EXITS",
        "called sys.exit(5)",
    ),
    "never-ends": (
        pack("ACME.DEEP", "return check.check(run)"),
        "rule ACME.DEEP",
        "RecursionError: maximum recursion depth exceeded",
    ),
    "steals": (
        pack("TIMING.DATALOADER_BOUND", "return []"),
        "rule TIMING.DATALOADER_BOUND",
        f"rule id TIMING.DATALOADER_BOUND is already registered by {CORE}, which keeps it",
    ),
    "misspells": (
        HOOKLESS,
        "pytscope_ruels",
        "there is no hook 'pytscope_ruels'; did you mean 'pytscope_rules'?",
    ),
    "raises-late": (LATE, "pytscope_rules", "ValueError: late"),
}  # fmt: skip


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Metadata that makes the checkout pytscope-core 0.3.0, as an installation would."""
    return distribution(tmp_path_factory.mktemp("core"), "pytscope-core", version="0.3.0")


def analysed(*folders: Path, environ: dict[str, str] | None = None) -> dict[str, Any]:
    done = python(ANALYSE, *folders, environ=environ)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.fixture(scope="module")
def sound(core: Path) -> dict[str, Any]:
    """The report without any of them."""
    document = analysed(core)
    assert document["problems"] == []
    assert document["findings"][0]["rule"] == "TIMING.DATALOADER_BOUND"
    return document


def unchanged(document: dict[str, Any], sound: dict[str, Any], *strangers: str) -> None:
    for part in ("run", "coverage", "budget", "findings", "analyses", "tool"):
        assert document[part] == sound[part]
    assert [c for c in document["checks"] if c["rule"] not in strangers] == sound["checks"]


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_broken_plugin_is_one_problem_beside_an_unchanged_report(
    tmp_path: Path, core: Path, sound: dict[str, Any], name: str
) -> None:
    source, stage, message = PROBLEMS[name]
    document = analysed(distribution(tmp_path, name, source, entry="acme"), core)
    (problem,) = (p for p in document["problems"] if p["plugin"] == "acme")
    assert (problem["distribution"], problem["version"]) == (name, "1.0")
    assert problem["stage"] == stage
    assert problem["message"] == message
    unchanged(document, sound, "ACME.EXITS", "ACME.DEEP")


def test_all_of_them_at_once(tmp_path: Path, core: Path, sound: dict[str, Any]) -> None:
    for name, (source, *_) in PROBLEMS.items():
        distribution(tmp_path, name, source)
    document = analysed(tmp_path, core)
    assert {p["distribution"] for p in document["problems"]} == set(PROBLEMS)
    unchanged(document, sound, "ACME.EXITS", "ACME.DEEP")


def test_an_incompatible_plugin_is_listed_and_never_imported(
    tmp_path: Path, core: Path, sound: dict[str, Any]
) -> None:
    source = "import sys; sys.stderr.write('imported'); raise SystemExit"
    folder = distribution(tmp_path, "future-pack", source, requires=["pytscope-core>=0.9"])
    done = python(ANALYSE, folder, core)
    assert "imported" not in done.stderr
    document = json.loads(done.stdout)
    (row,) = (p for p in document["plugins"] if p["distribution"] == "future-pack")
    assert row["state"] == "incompatible"
    assert row["reason"] == "requires pytscope-core>=0.9, and 0.3.0 is installed"
    unchanged(document, sound)


def test_an_unspeakable_plugin(tmp_path: Path, core: Path, sound: dict[str, Any]) -> None:
    document = analysed(distribution(tmp_path, "unspeakable", UNSPEAKABLE), core)
    said = {p["stage"]: p["message"] for p in document["problems"]}
    unshown = "failed with an exception that cannot be shown"
    assert said == {
        "rule ACME.UNSPEAKABLE": unshown,
        "panel of analyzer unspeakable": unshown,
    }
    del document["analyses"]["unspeakable"]
    unchanged(document, sound, "ACME.UNSPEAKABLE")


def test_a_hostile_docstring_is_shown_escaped(tmp_path: Path, core: Path) -> None:
    code = """
from pytscope.plugins.registry import load_registry
print(ascii(load_registry().rules["ACME.DOC"].page))
"""
    done = python(code, distribution(tmp_path, "doc-pack", DOCSTRING), core)
    assert done.returncode == 0, done.stderr
    page = "\\\\x1b[2J\\\\x1b]0;owned\\\\x07 \\\\u202e hidden"
    assert done.stdout == f"'{page}'\n"


@pytest.mark.parametrize("warnings", ["default", "error"])
def test_what_a_plugin_says_does_not_reach_standard_output(
    tmp_path: Path, core: Path, sound: dict[str, Any], warnings: str
) -> None:
    folder = distribution(tmp_path, "chatty", CHATTY)
    done = python(ANALYSE, folder, core, environ={"PYTHONWARNINGS": warnings})
    assert done.returncode == 0, done.stderr
    assert "importing\n" in done.stderr
    assert "checking\n" in done.stderr
    document = json.loads(done.stdout)
    assert document["problems"] == []
    unchanged(document, sound, "ACME.CHATTY")


def test_a_rule_whose_need_nobody_provides_says_what_it_needs(
    tmp_path: Path, core: Path, sound: dict[str, Any]
) -> None:
    source = pack("ACME.NEEDY", "return []").replace("run: Run", "trace: KernelTrace")
    source = "class KernelTrace: pass\n" + source
    document = analysed(distribution(tmp_path, "needy", source), core)
    (check,) = (c for c in document["checks"] if c["rule"] == "ACME.NEEDY")
    assert check["outcome"] == "not_measured"
    assert check["reason"] == "needs KernelTrace, which no installed plugin provides"
    unchanged(document, sound, "ACME.NEEDY")


def test_raising_for_authors(tmp_path: Path, core: Path) -> None:
    folder = distribution(tmp_path, "bad", pack("ACME.BAD", "raise ValueError('mine')"))
    done = python(ANALYSE, folder, core, environ={"PYTSCOPE_RAISE_PLUGIN_ERRORS": "1"})
    assert done.returncode == 1
    assert "in check" in done.stderr
    assert "PluginError: plugin bad (bad 1.0), rule ACME.BAD: ValueError: mine" in done.stderr

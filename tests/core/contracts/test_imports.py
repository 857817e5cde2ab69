"""What importing pytscope may load, in interpreters of their own."""

from __future__ import annotations

import json

import pytest

from tests.core.plugins.throwaway import python

LISTED = "import json, sys; print(json.dumps(sorted(sys.modules)))"
HEAVY = {
    "numpy",
    "attr",
    "attrs",
    "cattrs",
    "click",
    "rich",
    "pluggy",
    "packaging",
    "torch",
    "lightning",
    "transformers",
}


def modules(statement: str) -> set[str]:
    done = python(f"{statement}\n{LISTED}")
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def test_importing_pytscope_loads_nothing_but_itself() -> None:
    assert modules("import pytscope") - modules("") <= {"pytscope", "__future__"}


@pytest.mark.parametrize(
    "statement",
    [
        "from pytscope import Profiler",
        "from pytscope import tile",
        "import pytscope; dir(pytscope)",
    ],
)
def test_recording_needs_the_standard_library_alone(statement: str) -> None:
    loaded = {name.partition(".")[0] for name in modules(statement)}
    assert loaded.isdisjoint(HEAVY)


def test_the_version_loads_no_third_party_module() -> None:
    loaded = {name.partition(".")[0] for name in modules("import pytscope; pytscope.__version__")}
    assert loaded.isdisjoint(HEAVY)


def test_the_analysis_loads_no_ml_library() -> None:
    loaded = {name.partition(".")[0] for name in modules("import pytscope.api, pytscope.testing")}
    assert loaded.isdisjoint({"torch", "lightning", "transformers", "scipy", "rich", "click"})


def test_declaring_a_rule_does_not_load_the_host() -> None:
    loaded = modules(
        "from pytscope import Finding, hookimpl, rule; from pytscope.analyses import *"
    )
    assert not {m for m in loaded if m.startswith(("pytscope.analysis", "pytscope.builtin"))}

"""Every hook is typed, documented with an example that compiles, and tested here by name."""

from __future__ import annotations

import ast
import inspect
import textwrap
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pytscope import (
    Analyzer,
    RenderOptions,
    Reporter,
    Rule,
    Run,
    Source,
    analyzer,
    hookimpl,
    reporter,
    rule,
    source,
)
from pytscope.plugins import hookspecs
from pytscope.plugins.guarded import render
from pytscope.plugins.hookspecs import HOOKS
from pytscope.plugins.isolation import Guard
from pytscope.plugins.loading import collect
from pytscope.plugins.registry import Registry, build_registry
from pytscope.runs.opening import open_run
from pytscope.testing import make_run
from tests.core.plugins.made import ACME
from tests.core.report_samples import healthy

DOCS = Path(__file__).parents[3] / "docs" / "plugins.md"
SPECS = {name: f for name, f in vars(hookspecs).items() if hasattr(f, "pytscope_spec")}


def registry(plugin: object) -> Registry:
    made = build_registry([collect(ACME, plugin, Guard())])
    assert made.problems == ()
    return made


def test_the_table_of_hooks_is_complete() -> None:
    assert set(HOOKS) == set(SPECS)


@pytest.mark.parametrize("name", HOOKS)
def test_every_hook_is_tested_by_name(name: str) -> None:
    assert f"test_{name}" in globals()


@pytest.mark.parametrize("name", HOOKS)
def test_every_hook_is_typed(name: str) -> None:
    _, item = HOOKS[name]
    assert typing.get_type_hints(SPECS[name]) == {"return": Iterable[item]}  # type: ignore[valid-type]  # made at run time
    assert not inspect.signature(SPECS[name]).parameters


@pytest.mark.parametrize("name", HOOKS)
def test_every_hook_is_documented(name: str) -> None:
    page = inspect.getdoc(SPECS[name]) or ""
    assert "Added in " in page
    assert "Called once" in page
    example = textwrap.dedent(page.partition("::\n")[2].partition("\nAdded in")[0])
    functions = [n.name for n in ast.parse(example).body if isinstance(n, ast.FunctionDef)]
    assert functions[-1] == name


@pytest.mark.parametrize("name", HOOKS)
def test_every_hook_is_in_the_guide(name: str) -> None:
    assert name in DOCS.read_text(encoding="utf-8")


def test_pytscope_sources(tmp_path: Path) -> None:
    @source("acme", detects=lambda path: path.suffix == ".acme")
    def acme(path: Path, attempt: int | None = None) -> Run:
        return make_run({"data": 1}, name=path.stem)

    class Plugin:
        @hookimpl
        def pytscope_sources(self) -> list[Source]:
            return [acme]

    file = tmp_path / "opened.acme"
    file.touch()
    assert open_run(file, registry(Plugin).sources).name == "opened"


def test_pytscope_analyzers() -> None:
    class Clock:
        pass

    @analyzer("clock", provides=Clock)
    def clock(run: Run) -> Any:
        return Clock()

    class Plugin:
        @hookimpl
        def pytscope_analyzers(self) -> list[Analyzer]:
            return [clock]

    assert registry(Plugin).analyzers["clock"].provides is Clock


def test_pytscope_rules() -> None:
    @rule("ACME.QUIET", since="1.0")
    def quiet(run: Run) -> None:
        """Detects nothing."""

    class Plugin:
        @hookimpl
        def pytscope_rules(self) -> list[Rule]:
            return [quiet]

    assert registry(Plugin).rules["ACME.QUIET"].rule == quiet


def test_pytscope_reporters() -> None:
    @reporter("count")
    def count(report: Any, options: RenderOptions) -> str:
        return f"{len(report.findings)} findings"

    class Plugin:
        @hookimpl
        def pytscope_reporters(self) -> list[Reporter]:
            return [count]

    text, _ = render(registry(Plugin).reporters, "count", healthy(), RenderOptions())
    assert text == "0 findings"

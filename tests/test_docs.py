"""The guides' Python blocks run, and what they say of the code is so."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import pytscope
from pytscope.plugins import hookspecs
from pytscope.plugins.hookspecs import HOOKS
from pytscope.plugins.isolation import Guard, Origin
from pytscope.plugins.loading import collect, load_builtins
from pytscope.plugins.registry import Registry, build_registry
from pytscope.testing import make_run

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
FORMAT = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def module(source: str) -> ModuleType:
    made = ModuleType("guide")
    exec(compile(source, "<guide>", "exec"), vars(made))
    return made


GUIDE_BLOCKS = [pytest.param(b, id=f"block{i}") for i, b in enumerate(blocks(GUIDE, "python"))]


def registered(made: ModuleType) -> Registry:
    origin = Origin("guide", "guide-pack", "1.0")
    guard = Guard(reraise=True)
    parts = [load_builtins(guard), collect(origin, made, guard)]
    return build_registry(parts, guard=guard)


@pytest.mark.parametrize("source", GUIDE_BLOCKS)
def test_a_block_of_the_guide_runs_and_registers(source: str) -> None:
    made = module(source)
    if "@hookimpl" in source:
        assert registered(made).problems == ()
    for name, function in vars(made).items():
        if name.startswith("test_"):
            function()


def guide_block(text: str) -> Any:
    """The guide's block that contains a text, run."""
    (source,) = (b for b in blocks(GUIDE, "python") if text in b)
    return module(source)


@pytest.mark.parametrize("hook", HOOKS)
def test_the_guide_gives_every_hooks_signature(hook: str) -> None:
    signature = inspect.signature(getattr(hookspecs, hook))
    assert f"### `{hook}{str(signature).replace(chr(39), '')}`" in GUIDE


def analysed(made: ModuleType, run: pytscope.Run) -> pytscope.Report:
    from pytscope.analysis.orchestrator import analyze

    return analyze(run, registered(made))


def test_the_guides_analyzer_feeds_its_rule_and_draws_its_panel() -> None:
    made = guide_block("class QueueDepth")
    run = make_run({"forward": 10}, steps=40, scalars={"queue_depth": [0] * 30 + [3] * 10})
    report = analysed(made, run)
    assert [f.rule for f in report.findings if f.rule.startswith("ACME")] == ["ACME.QUEUE_EMPTY"]
    assert "QUEUE" in [panel.title for panel in report.panels]


def test_the_guides_source_opens_its_file(tmp_path: Path) -> None:
    from pytscope.runs.opening import open_run

    file = tmp_path / "x.acme.csv"
    file.write_text("data,compute\n" + "4,6\n" * 30)
    run = open_run(file, registered(guide_block("acme_csv")).sources)
    assert (run.source, run.has_timeline, len(run.shown)) == ("acme_csv", False, 30)


def test_the_guides_reporter_is_a_format() -> None:
    made = guide_block('@reporter("slack")')
    report = analysed(made, make_run({"data": 50, "forward": 10}))
    text = registered(made).reporters["slack"].reporter(report, pytscope.RenderOptions())
    assert text.startswith(f"*test*: {len(report.findings)} findings\n•")


def test_the_guides_budget_part_moves_time_and_keeps_the_sum() -> None:
    made = guide_block("class ColdCache")
    run = make_run({"data": 5, "forward": 5}, steps=40, scalars={"miss_ns": 2_000_000})
    budget = analysed(made, run).analyses["budget"]
    assert budget.ns("cold_cache") == 40 * 2_000_000
    assert budget.ns("data_stall") == 40 * 3_000_000
    assert sum(line.ns for line in budget.lines) == budget.wall_ns


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files on Linux")
def test_the_guides_collector_records(tmp_path: Path) -> None:
    made = guide_block("class OpenFiles")
    with pytscope.Profiler(tmp_path, collectors=[made.OpenFiles()]) as prof:
        for _ in range(3):
            with prof.step():
                pass
    _, files = pytscope.open(tmp_path).series("open_files")
    assert len(files) == 3
    assert files.min() > 0


def test_the_guides_metadata_parses() -> None:
    tables = [tomllib.loads(b) for b in blocks(GUIDE, "toml")]
    assert tables[0]["project"]["entry-points"]["pytscope"] == {"acme": "acme_pack"}


def test_the_environment_variables_of_the_guide_are_those_of_the_code() -> None:
    from pytscope.plugins import selection

    known = {v for v in vars(selection).values() if str(v).startswith("PYTSCOPE_")}
    assert set(re.findall(r"PYTSCOPE_[A-Z_]+", GUIDE)) == known


def test_the_readmes_pack_fires_and_stays_quiet() -> None:
    (pack,) = (b for b in blocks(README, "python") if "@hookimpl" in b)
    assert len(pack.splitlines()) <= 30
    from pytscope.testing import assert_fires, assert_quiet

    made: Any = module(pack)
    assert registered(made).problems == ()
    assert_fires(made.slow_optimizer, make_run({"forward": 10, "optimizer": 30}))
    assert_quiet(made.slow_optimizer, make_run({"forward": 10, "optimizer": 1}))


@pytest.mark.parametrize("page", [README, GUIDE], ids=["readme", "guide"])
def test_the_pack_knows_nothing_of_a_run_without_its_phase(page: str) -> None:
    from pytscope.testing import assert_abstains

    pack = next(b for b in blocks(page, "python") if "ACME.SLOW_OPTIMIZER" in b)
    run = make_run({"forward": 10, "optimiser": 30})
    assert "optimizer" in assert_abstains(module(pack).slow_optimizer, run, pytscope.NotMeasured)


def test_the_generated_pages_are_current() -> None:
    command = [sys.executable, str(ROOT / "docs" / "generate.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def by_the_documents_reader(path: Path) -> Iterator[tuple[int, list[Any], dict[str, Any]]]:
    (source,) = blocks(FORMAT, "python")
    assert 15 <= sum(bool(line.strip()) for line in source.splitlines()) <= 30
    reader: Any = module(source)
    yield from reader.read_steps(path)


def test_the_formats_reader_agrees_with_ours(tmp_path: Path) -> None:
    with pytscope.Profiler(tmp_path, flush_every=7) as prof:
        for i in range(40):
            with prof.step(update=i % 3 == 2):
                prof.mark("forward")
                if i % 5 == 0:
                    with prof.phase("eval"):
                        prof.mark("mine")
                prof.log(loss=i / 3, tokens=i)
    records = list(pytscope.open(tmp_path).shown.records())
    read = list(by_the_documents_reader(tmp_path / "rank00000.pts"))
    assert len(read) == len(records) == 13
    for record, (step, segments, values) in zip(records, read, strict=True):
        assert step == record.step
        assert sum(ns for _, ns in segments) == record.wall_ns
        assert [s for s in segments if s[1]] == list(record.segments)
        assert values == dict(record.scalars)

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from pytscope import (
    NothingUsable,
    PluginError,
    RenderOptions,
    Reporter,
    RunUnreadable,
    Source,
    UsageError,
)
from pytscope.model.report import Problem
from pytscope.plugins.guarded import guarded_source, render
from pytscope.plugins.isolation import Guard
from pytscope.testing import make_run
from tests.core.plugins.made import ACME, registry
from tests.core.report_samples import report as sample

RUN = make_run({"data": 1}, steps=2)


def raising(error: BaseException) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        raise error

    return call


def guarded(detects: Any, opens: Any, *, reraise: bool = False) -> tuple[Source, list[Problem]]:
    guard = Guard(reraise)
    return guarded_source(Source("s", detects, opens), ACME, guard), guard.noted


def test_a_sound_source_is_as_before() -> None:
    source, late = guarded(lambda path: path.suffix == ".x", lambda path, attempt=None: RUN)
    assert source.detects(Path("a.x"))
    assert not source.detects(Path("a.y"))
    assert source.open(Path("a.x"), attempt=1) is RUN
    assert late == []


def test_a_detection_that_fails_is_a_no_and_a_problem() -> None:
    source, late = guarded(raising(SystemExit(2)), raising(ValueError()))
    assert source.detects(Path("x")) is False
    assert [(p.plugin, p.stage, p.message) for p in late] == [
        ("acme", "source s", "called sys.exit(2)")
    ]


def test_what_opening_knows_passes() -> None:
    source, _ = guarded(bool, raising(NothingUsable("empty")))
    with pytest.raises(NothingUsable, match="empty"):
        source.open(Path("x"))


@pytest.mark.parametrize(
    ("opens", "said"),
    [
        (raising(ValueError("bad")), "ValueError: bad"),
        (raising(SystemExit(2)), r"called sys\.exit\(2\)"),
        (lambda path, attempt=None: 3, "it returned int, not a Run"),
    ],
)
def test_anything_else_makes_the_path_unreadable(opens: Any, said: str) -> None:
    source, _ = guarded(bool, opens)
    with pytest.raises(RunUnreadable, match=rf"source s of plugin acme .* cannot open x: {said}"):
        source.open(Path("x"))


def test_authors_may_have_it_raised() -> None:
    source, _ = guarded(raising(ValueError()), raising(ValueError()), reraise=True)
    with pytest.raises(PluginError):
        source.detects(Path("x"))
    with pytest.raises(PluginError):
        source.open(Path("x"))


def test_a_registry_keeps_late_failures() -> None:
    made = registry(Source("s", raising(ValueError("late")), raising(ValueError())))
    made.sources[0].detects(Path("x"))
    assert [p.message for p in made.late] == ["ValueError: late"]


TEXT = Reporter("text", lambda report, options: f"{len(report.problems)} problems")


BARE = attrs.evolve(sample(), problems=())


def drawn(reporter: Reporter, **kwargs: Any) -> tuple[str, int]:
    reporters = registry(TEXT, reporter).reporters
    text, shown = render(reporters, reporter.name, BARE, RenderOptions(), **kwargs)
    return text, len(shown.problems)


def test_a_report_is_drawn() -> None:
    assert drawn(Reporter("mine", lambda report, options: f"w{options.width}")) == ("w88", 0)


@pytest.mark.parametrize(
    "fails", [raising(ValueError("no")), raising(SystemExit(1)), lambda report, options: None]
)
def test_a_reporter_that_fails_gives_way_to_text(fails: Any) -> None:
    assert drawn(Reporter("mine", fails)) == ("1 problems", 1)


def test_the_last_resort_raises() -> None:
    reporters = registry(Reporter("text", raising(ValueError("no")))).reporters
    with pytest.raises(PluginError, match="reporter text"):
        render(reporters, "text", BARE, RenderOptions())


def test_for_authors_any_reporter_raises() -> None:
    with pytest.raises(PluginError, match="reporter mine"):
        drawn(Reporter("mine", raising(ValueError("no"))), reraise=True)


def test_an_unknown_format_names_the_others() -> None:
    with pytest.raises(UsageError, match="unknown format 'txt'; did you mean 'text'") as caught:
        render(registry(TEXT).reporters, "txt", BARE, RenderOptions())
    assert caught.value.hint == "Formats: text."

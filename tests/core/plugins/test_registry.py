from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pytscope import PluginError, Rule, Run, UsageError
from pytscope.model.report import PluginState
from pytscope.plugins.registry import Registry, load_registry
from pytscope.plugins.selection import PluginSelection
from tests.core.plugins.made import registry
from tests.core.plugins.throwaway import distribution, pack


def check(run: Run) -> list[Any]:
    """A page."""
    return []


def of(*ids: str) -> Registry:
    return registry(
        *(Rule(i, check, "1.0", ("TIMING.OLD",) if i == "TIMING.NEW" else ()) for i in ids)
    )


RULES = of("TIMING.JITTER", "TIMING.NEW", "MEMORY.GROWTH")


@pytest.mark.parametrize(
    ("pattern", "ids"),
    [
        ("TIMING.JITTER", ("TIMING.JITTER",)),
        ("TIMING.OLD", ("TIMING.NEW",)),
        ("TIMING", ("TIMING.JITTER", "TIMING.NEW")),
        ("TIMING.*", ("TIMING.JITTER", "TIMING.NEW")),
        ("*.GROWTH", ("MEMORY.GROWTH",)),
        ("*", ("MEMORY.GROWTH", "TIMING.JITTER", "TIMING.NEW")),
    ],
)
def test_patterns(pattern: str, ids: tuple[str, ...]) -> None:
    assert RULES.resolve_rule_ids(pattern) == ids


@pytest.mark.parametrize(
    ("pattern", "closest"),
    [
        ("TIMING.JITER", "; did you mean 'TIMING.JITTER'?"),
        ("timing", "; did you mean 'TIMING'?"),
        ("TIM", ""),
        ("", ""),
        ("ZZZ.*", ""),
    ],
)
def test_a_pattern_that_names_nothing_is_refused(pattern: str, closest: str) -> None:
    with pytest.raises(UsageError) as caught:
        RULES.resolve_rule_ids(pattern)
    assert str(caught.value).startswith(f"no rule matches {pattern!r}")
    assert closest in str(caught.value)


@pytest.fixture
def packs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three installed packs: one fine, one broken, one for another core."""
    folder = tmp_path / "packs"
    distribution(folder, "fine-pack", pack("FINE.A", "return []"), entry="fine")
    distribution(folder, "broken-pack", "raise ImportError('half installed')", entry="broken")
    distribution(
        folder, "future-pack", "raise SystemExit", entry="future", requires=["pytscope-core>=99"]
    )
    core = distribution(tmp_path / "core", "pytscope-core", version="0.3.0")
    monkeypatch.syspath_prepend(str(core))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr("pytscope.plugins.discovery.incompatibility.__defaults__", ("0.3.0",))
    yield folder
    for name in ("fine_pack", "broken_pack", "future_pack"):
        sys.modules.pop(name, None)


OURS = ("fine", "broken", "future")


def states(selection: PluginSelection) -> dict[str, tuple[PluginState, str]]:
    loaded = load_registry(selection)
    assert loaded.plugins[0].builtin
    return {p.name: (p.state, p.reason) for p in loaded.plugins if p.name in OURS}


def test_every_state_of_a_plugin(packs: Path) -> None:
    found = states(PluginSelection(disabled=frozenset({"fine"})))
    assert found["fine"] == (PluginState.DISABLED, "disabled by name")
    assert found["broken"] == (PluginState.BROKEN, "ImportError: half installed")
    state, reason = found["future"]
    assert state is PluginState.INCOMPATIBLE
    assert reason == "requires pytscope-core>=99, and 0.3.0 is installed"
    assert "future_pack" not in sys.modules
    assert "fine_pack" not in sys.modules


def test_a_loaded_plugin_is_used(packs: Path) -> None:
    loaded = load_registry(PluginSelection(only=frozenset({"fine-pack"})))
    assert "FINE.A" in loaded.rules
    by_name = {p.name: p for p in loaded.plugins}
    assert by_name["fine"].registers == {"rules": ("FINE.A",)}
    assert by_name["fine"].load_ns > 0
    assert by_name["broken"].state is PluginState.DISABLED


def test_without_autoload_only_the_built_ins_load(packs: Path) -> None:
    found = states(PluginSelection(autoload=False))
    assert {state for state, _ in found.values()} == {PluginState.DISABLED}


def test_an_incompatible_plugin_is_a_problem(packs: Path) -> None:
    problems = load_registry().problems
    (unfit,) = (p for p in problems if p.plugin == "future")
    assert unfit.stage == "find"
    assert unfit.message.endswith("is installed; it was not loaded")


def test_an_unknown_name_is_a_problem(packs: Path) -> None:
    problems = load_registry(PluginSelection(disabled=frozenset({"fin"}))).problems
    (unknown,) = (p for p in problems if p.plugin == "fin")
    assert "did you mean 'fine'?" in unknown.message


def test_authors_may_have_it_raised(packs: Path) -> None:
    with pytest.raises(PluginError, match="half installed"):
        load_registry(raise_errors=True)

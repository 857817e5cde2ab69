from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytscope.plugins.discovery import Advertised, find_plugins, incompatibility, unknown_names
from pytscope.plugins.selection import PluginSelection
from tests.core.plugins.throwaway import distribution

BOOM = "raise RuntimeError('imported')"


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all there is to find distributions in."""
    monkeypatch.setattr(sys, "path", [str(tmp_path / "first"), str(tmp_path / "second")])
    return tmp_path


def names() -> list[str]:
    return [f"{p.origin.distribution}:{p.origin.plugin}" for p in find_plugins()[0]]


def test_finding_does_not_import(found: Path) -> None:
    distribution(found / "first", "acme-pack", BOOM, entry="acme")
    (plugin,), problems = find_plugins()
    assert (plugin.origin.plugin, plugin.origin.version) == ("acme", "1.0")
    assert plugin.entry_point.value == "acme_pack"
    assert problems == ()
    assert "acme_pack" not in sys.modules


def test_order_is_by_distribution_then_name(found: Path) -> None:
    points = "[pytscope]\nz = m\na = m\n"
    distribution(found / "second", "Alpha", entry_points=points)
    distribution(found / "first", "zeta", entry_points=points)
    distribution(found / "first", "unrelated", entry_points="[console_scripts]\nx = m:n\n")
    distribution(found / "first", "bare")
    assert names() == ["Alpha:a", "Alpha:z", "zeta:a", "zeta:z"]


def test_the_first_distribution_of_a_name_counts(found: Path) -> None:
    distribution(found / "first", "acme-pack", version="2.0", entry_points="[pytscope]\nnew = m\n")
    distribution(found / "second", "Acme_Pack", version="1.0", entry_points="[pytscope]\nold = m\n")
    (plugin,), _ = find_plugins()
    assert (plugin.origin.plugin, plugin.origin.version) == ("new", "2.0")


def test_a_shadowed_distribution_advertises_nothing(found: Path) -> None:
    distribution(found / "first", "acme-pack", version="2.0")
    distribution(found / "second", "acme-pack", version="1.0", entry_points="[pytscope]\nold = m\n")
    assert names() == []


def test_a_distribution_that_cannot_be_read_does_not_hide_the_others(found: Path) -> None:
    distribution(found / "first", "broken", entry_points="[pytscope]\nnot a pair\n")
    distribution(found / "first", "fine", entry_points="[pytscope]\nok = m\n")
    plugins, (problem,) = find_plugins()
    assert [p.origin.plugin for p in plugins] == ["ok"]
    assert (problem.plugin, problem.stage) == ("broken", "find")


def test_a_distribution_without_metadata_is_told(found: Path) -> None:
    info = found / "first" / "odd-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text("[pytscope]\nodd = m\n", encoding="utf-8")
    plugins, (problem,) = find_plugins()
    assert plugins == ()
    assert problem.plugin == "a distribution without a name"


@pytest.mark.parametrize(
    ("requirements", "said"),
    [
        ([], ""),
        (["pytscope-core"], ""),
        (["pytscope_core>=0.3,<0.4"], ""),
        (["Pytscope.Core>=0.9"], "requires pytscope-core>=0.9, and 0.3.0 is installed"),
        (["numpy>=99", "pytscope-core==0.3.*"], ""),
        (["pytscope-core>=9; extra == 'dev'"], ""),
        (["pytscope-core>=9; python_version < '3'"], ""),
        (["not a requirement !!"], ""),
    ],
)
def test_requirements_on_core(requirements: list[str], said: str) -> None:
    assert incompatibility(requirements, "0.3.0") == said


def test_a_prerelease_of_core_is_in_range() -> None:
    assert incompatibility(["pytscope-core>=0.3"], "0.4.0.dev1") == ""


def test_an_unknown_version_of_core_fits_every_range() -> None:
    assert incompatibility(["pytscope-core>=9"], "0+unknown") == ""


def advertised(found: Path) -> tuple[Advertised, ...]:
    distribution(found / "first", "acme-pack", entry_points="[pytscope]\nacme = m\n")
    return find_plugins()[0]


def test_unknown_names_are_not_passed_over(found: Path) -> None:
    selection = PluginSelection(frozenset({"acmee"}), frozenset({"nothing-like-it", "acme"}))
    wrong, other = unknown_names(selection, advertised(found))
    assert (wrong.plugin, wrong.stage) == ("acmee", "find")
    assert wrong.message == "no installed plugin has this name; did you mean 'acme'?"
    assert other.message == "no installed plugin has this name"


def test_known_names_are_fine_in_every_form(found: Path) -> None:
    selection = PluginSelection(frozenset({"acme", "Acme_Pack", "acme.pack"}))
    assert unknown_names(selection, advertised(found)) == ()


def test_the_built_ins_cannot_be_disabled(found: Path) -> None:
    selection = PluginSelection(frozenset({"builtin"}), frozenset({"builtin", "pytscope-core"}))
    problems = unknown_names(selection, advertised(found))
    assert [p.plugin for p in problems] == ["builtin", "pytscope-core"]
    assert all("cannot be disabled" in p.message for p in problems)

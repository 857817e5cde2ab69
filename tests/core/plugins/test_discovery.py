from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from pytscope.plugins.discovery import (
    Advertised,
    find_plugins,
    incompatibility,
    unknown_names,
    unmet,
)
from pytscope.plugins.selection import PluginSelection
from tests.core.plugins.throwaway import distribution

BOOM = "raise RuntimeError('imported')"


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all there is to find distributions in."""
    importlib.import_module("email.message")  # which Python 3.13 finds only when it is needed
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


def put(folder: Path, name: str, metadata: bytes, entry_points: bytes) -> None:
    info = folder / name
    info.mkdir(parents=True)
    (info / "METADATA").write_bytes(metadata)
    (info / "entry_points.txt").write_bytes(entry_points)


POINTS = b"[pytscope]\nok = m\n"


@pytest.mark.parametrize(
    ("metadata", "points", "name", "said"),
    [
        (b"Name: odd\nVersion: 1\nAuthor: \xff\n\n", POINTS, "", "odd-1.0.dist-info cannot be re"),
        (b"Version: 1.0\n\n", POINTS, "", "the metadata in odd-1.0.dist-info gives no name"),
        (b"Name:  \nVersion: 1\n\n", POINTS, "", "the metadata in odd-1.0.dist-info gives no name"),
        (b"", POINTS, "", "the metadata in odd-1.0.dist-info gives no name"),
        (b"Name: other\n\n", POINTS, "other", "odd-1.0.dist-info calls itself 'other', and noth"),
        (b"Name: odd\n\n", POINTS + b"b\xff = m\n", "odd", "odd-1.0.dist-info cannot be read: "),
    ],
)
def test_metadata_that_cannot_be_used_is_a_problem_that_says_where(
    found: Path, metadata: bytes, points: bytes, name: str, said: str
) -> None:
    put(found / "first", "odd-1.0.dist-info", metadata, points)
    distribution(found / "first", "fine", entry_points="[pytscope]\nok = m\n")
    plugins, (problem,) = find_plugins()
    assert [p.origin.distribution for p in plugins] == ["fine"]
    assert problem.plugin == (name or "a distribution without a name")
    assert problem.message.startswith(said)


@pytest.mark.parametrize("points", [b"[console_scripts]\nnot a pair\n", b"\xff\xfe[other]\nx = \n"])
def test_what_is_broken_elsewhere_is_not_our_business(found: Path, points: bytes) -> None:
    put(found / "first", "odd-1.0.dist-info", b"\xff", points)
    assert find_plugins() == ((), ())


def test_a_version_may_be_missing_and_extras_may_be_named(found: Path) -> None:
    put(found / "first", "acme-1.dist-info", b"Name: acme\n\n", b"[pytscope]\na = m:o [x,y]\n")
    (plugin,), problems = find_plugins()
    assert problems == ()
    assert (plugin.origin.version, plugin.entry_point.module) == ("", "m")


def test_one_name_in_two_distributions_is_two_plugins(found: Path) -> None:
    for name in ("one", "two"):
        distribution(found / "first", name, entry_points="[pytscope]\nacme = m\n")
    assert names() == ["one:acme", "two:acme"]
    selection = PluginSelection(disabled=frozenset({"acme"}))
    assert {selection.refusal(p.origin.plugin, "") for p in find_plugins()[0]} == {
        "disabled by name"
    }


def test_requirements_that_make_no_sense_are_passed_over(found: Path) -> None:
    odd = ["pytscope-core>=9; python_version ~= 'abc'", ">>>", "x; os_name ~= 'y'"]
    distribution(found / "first", "acme", requires=odd, entry_points="[pytscope]\na = m\n")
    (plugin,), problems = find_plugins()
    assert (plugin.incompatible, problems) == ("", ())


def test_what_is_required_and_not_there(found: Path) -> None:
    distribution(found / "first", "scipy", version="1.0")
    assert unmet(["pytscope-core>=99", "scipy>=1", "numpy; extra == 'x'"]) == ""
    assert unmet(["scipy>=2,<3"]) == "requires scipy<3,>=2, and 1.0 is installed"
    assert unmet(["acme-gpu"]) == "requires acme-gpu, which is not installed"

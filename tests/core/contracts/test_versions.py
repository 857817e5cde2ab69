"""Packages of the tree fit each other, and each is whole."""

from __future__ import annotations

import filecmp
import re
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
IMPORT_NAMES = {
    "pytscope-core": "pytscope",
    "pytscope-torch": "pytscope_torch",
    "pytscope-lightning": "pytscope_lightning",
    "pytscope-hf": "pytscope_hf",
    "pytscope-rules-distributed": "pytscope_rules_distributed",
}
DEPENDS_ON = {
    "pytscope-core": set[str](),
    "pytscope-torch": {"pytscope-core"},
    "pytscope-lightning": {"pytscope-core", "pytscope-torch"},
    "pytscope-hf": {"pytscope-core", "pytscope-torch"},
    "pytscope-rules-distributed": {"pytscope-core"},
}
each_package = pytest.mark.parametrize("name", IMPORT_NAMES)


def project(name: str) -> dict[str, Any]:
    table = tomllib.loads((ROOT / name / "pyproject.toml").read_text(encoding="utf-8"))
    loaded: dict[str, Any] = table["project"]
    return loaded


def requirements(name: str) -> list[Requirement]:
    table = project(name)
    extras = table.get("optional-dependencies", {}).values()
    lines = [*table["dependencies"], *(line for extra in extras for line in extra)]
    return [Requirement(line) for line in lines]


def test_every_package_of_the_tree_is_known() -> None:
    folders = {path.parent.name for path in ROOT.glob("pytscope-*/pyproject.toml")}
    assert folders == set(IMPORT_NAMES)


@each_package
def test_metadata(name: str) -> None:
    table = project(name)
    assert table["name"] == name
    assert table["requires-python"] == ">=3.11"
    assert re.fullmatch(r"\d+\.\d+\.\d+", table["version"])
    assert table["license"] == "MIT"
    assert filecmp.cmp(ROOT / "LICENSE", ROOT / name / "LICENSE", shallow=False)


@each_package
def test_ranges_admit_what_is_in_the_tree(name: str) -> None:
    versions = {other: project(other)["version"] for other in IMPORT_NAMES}
    siblings = [r for r in requirements(name) if r.name in versions]
    for requirement in siblings:
        assert versions[requirement.name] in requirement.specifier, str(requirement)
        operators = {specifier.operator for specifier in requirement.specifier}
        assert operators == {">=", "<"}, f"{requirement} is no range"


@each_package
def test_dependencies_point_one_way(name: str) -> None:
    needed = {Requirement(line).name for line in project(name)["dependencies"]}
    assert needed & set(IMPORT_NAMES) == DEPENDS_ON[name]


def test_the_extras_of_core_name_the_siblings() -> None:
    extras = project("pytscope-core")["optional-dependencies"]
    named = {extra: {Requirement(line).name for line in lines} for extra, lines in extras.items()}
    assert named.pop("all") == set(IMPORT_NAMES) - {"pytscope-core"}
    assert named == {
        "torch": {"pytscope-torch"},
        "lightning": {"pytscope-lightning"},
        "huggingface": {"pytscope-hf"},
        "distributed": {"pytscope-rules-distributed"},
        "parquet": {"pyarrow"},
    }


@each_package
def test_the_changelog_starts_with_the_version(name: str) -> None:
    text = (ROOT / name / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE)[0] == project(name)["version"]


@each_package
def test_types_are_shipped(name: str) -> None:
    module = ROOT / name / "src" / IMPORT_NAMES[name]
    assert (module / "py.typed").exists()
    assert (module / "__init__.py").read_text(encoding="utf-8").startswith('"""')


@each_package
def test_the_readme_is_short_and_is_the_description(name: str) -> None:
    assert project(name)["readme"] == "README.md"
    text = (ROOT / name / "README.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {name}\n")
    assert 5 < len(text.splitlines()) <= 160


@each_package
def test_an_installed_package_has_the_version_of_the_tree(name: str) -> None:
    try:
        installed = version(name)
    except PackageNotFoundError:
        pytest.skip(f"{name} is not installed")
    assert installed == project(name)["version"]


def test_installed_core_knows_its_version() -> None:
    import pytscope

    try:
        assert pytscope.__version__ == version("pytscope-core")
    except PackageNotFoundError:
        pytest.skip("pytscope-core is not installed")


def test_the_readme_of_the_project_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 160

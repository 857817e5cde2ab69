"""Import paths that sibling packages fill: what they say without them, what they forward."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from pytscope.model.errors import MissingPackage, PytscopeError

DOORS = [
    ("pytscope.auto", "AutoProfiler", "pytscope_torch", "torch"),
    ("pytscope.integrations.lightning", "PytscopeCallback", "pytscope_lightning", "lightning"),
    ("pytscope.integrations.huggingface", "PytscopeCallback", "pytscope_hf", "huggingface"),
]
each_door = pytest.mark.parametrize(("module", "name", "sibling", "extra"), DOORS)


def put_in_place(monkeypatch: pytest.MonkeyPatch, folder: Path, sibling: str, source: str) -> None:
    """Put a package of the sibling's name first on the path."""
    (folder / f"{sibling}.py").write_text(source)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setitem(sys.modules, sibling, None)  # so that what was there comes back
    del sys.modules[sibling]


@each_door
def test_without_the_sibling_it_says_what_to_install(
    module: str, name: str, sibling: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, sibling, None)
    with pytest.raises(MissingPackage) as caught:
        getattr(import_module(module), name)
    said = str(caught.value)
    assert name in said
    package = sibling.replace("_", "-")
    assert f"{package} is not installed" in said
    assert f"pip install 'pytscope-core[{extra}]', or ./{package} from a clone" in said
    assert caught.value.__suppress_context__  # the sentence is all


@each_door
def test_it_forwards_what_the_sibling_brings(
    module: str,
    name: str,
    sibling: str,
    extra: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put_in_place(monkeypatch, tmp_path, sibling, f"{name} = 'the real one'")
    assert getattr(import_module(module), name) == "the real one"


def test_a_sibling_without_the_name_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in_place(monkeypatch, tmp_path, "pytscope_torch", "")
    with pytest.raises(MissingPackage, match="does not bring AutoProfiler"):
        from pytscope.auto import AutoProfiler  # noqa: F401  # the import is the test


def test_a_sibling_that_lacks_a_package_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in_place(monkeypatch, tmp_path, "pytscope_torch", "import no_such_package_here")
    said = "no_such_package_here, which pytscope-torch needs"
    with pytest.raises(MissingPackage, match=said) as caught:
        from pytscope.auto import AutoProfiler  # noqa: F401  # the import is the test
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    "source", ["import json.no_such_part", "raise ModuleNotFoundError('no such part')"]
)
def test_a_failure_inside_of_what_is_installed_keeps_its_cause(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in_place(monkeypatch, tmp_path, "pytscope_torch", source)
    said = r"pytscope-torch, which cannot be imported \(.*no.such.part.*\); .* --upgrade$"
    with pytest.raises(MissingPackage, match=said) as caught:
        from pytscope.auto import AutoProfiler  # noqa: F401  # the import is the test
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_trying_the_import_and_going_on_without_it_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in_place(monkeypatch, tmp_path, "pytscope_torch", "")
    try:
        from pytscope.auto import AutoProfiler as profiler  # noqa: N813  # a stand-in value
    except ImportError as error:
        assert isinstance(error, PytscopeError)  # noqa: PT017  # the except clause is the test
        profiler = None
    assert profiler is None


@each_door
def test_other_names_are_missing_attributes(
    module: str, name: str, sibling: str, extra: str
) -> None:
    assert not hasattr(import_module(module), "no_such_name")


def test_importing_the_doors_loads_nothing_heavy() -> None:
    modules = ", ".join(module for module, *_ in DOORS)
    code = (
        f"import sys, {modules}\n"
        "heavy = {'numpy', 'attrs', 'cattrs', 'click', 'rich', 'pluggy', 'packaging', 'torch'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

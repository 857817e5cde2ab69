"""Attaching without code, through the entry points that Lightning looks for."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lightning.pytorch", reason="lightning is not installed")

import pytscope
from pytscope_lightning.factory import callbacks
from tests.lightning.made import Case, PytscopeCallback

ROOT = Path(__file__).parents[2]
GROUPS = ("lightning.pytorch.callbacks_factory", "pytorch_lightning.callbacks_factory")
SCRIPT = """
import sys, torch, warnings
warnings.simplefilter("ignore")
import lightning.pytorch as pl
from lightning.pytorch.demos.boring_classes import BoringModel
quiet = dict(logger=False, enable_progress_bar=False, enable_model_summary=False)
trainer = pl.Trainer(
    max_steps=4, limit_val_batches=0, accelerator="cpu", enable_checkpointing=False, **quiet
)
print([type(c).__name__ for c in trainer.callbacks])
trainer.fit(BoringModel())
"""


def declared() -> dict[str, Any]:
    """The entry points that the package declares."""
    text = (ROOT / "pytscope-lightning" / "pyproject.toml").read_text()
    found: dict[str, Any] = tomllib.loads(text)["project"]["entry-points"]
    return found


def test_both_groups_are_declared() -> None:
    assert declared() == {
        group: {"pytscope": "pytscope_lightning.factory:callbacks"} for group in GROUPS
    }


def run(folder: Path, **variables: str) -> str:
    """What a script that knows nothing of pytscope prints."""
    paths = [str(Path(pytscope.__file__).parents[1]), *filter(None, sys.path)]
    if not [e for e in entry_points(group=GROUPS[0]) if e.name == "pytscope"]:  # not installed
        made = folder / "site" / "pytscope_lightning-0.dist-info"
        made.mkdir(parents=True)
        (made / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: pytscope-lightning\nVersion: 0\n"
        )
        lines = (
            f"[{group}]\npytscope = {entries['pytscope']}\n"
            for group, entries in declared().items()
        )
        (made / "entry_points.txt").write_text("".join(lines))
        paths.append(str(folder / "site"))
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_script_is_recorded_when_the_variable_names_a_folder(tmp_path: Path) -> None:
    assert "PytscopeCallback" in run(tmp_path, PYTSCOPE_RUN_DIR="run")
    timeline = pytscope.open(tmp_path / "run").rank(0)
    assert len(timeline) == 4
    assert {"data", "forward", "backward", "optimizer"} <= set(timeline.phases)


def test_without_the_variable_there_is_no_callback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTSCOPE_RUN_DIR", raising=False)
    assert callbacks() == []
    monkeypatch.setenv("PYTSCOPE_RUN_DIR", " ")
    assert callbacks() == []


@pytest.mark.parametrize("error", [RuntimeError, ModuleNotFoundError, SystemExit])
def test_the_factory_never_raises(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: type[BaseException]
) -> None:
    def broken() -> Any:
        raise error(f"no class of the kind of {error.__name__}")

    monkeypatch.setenv("PYTSCOPE_RUN_DIR", "run")
    monkeypatch.setattr("pytscope_lightning.classes.callback_class", broken)
    assert callbacks() == []
    assert f"PYTSCOPE_RUN_DIR is set, but nothing can be recorded ({error.__name__}" in caplog.text


def test_it_stands_back_where_the_user_gave_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTSCOPE_RUN_DIR", str(tmp_path / "other"))
    case: Any = Case(tmp_path, pace=0, count=4)
    case.fitted(max_epochs=1, callbacks=callbacks())
    assert len(case.timeline()) == 4
    assert not (tmp_path / "other").exists()


def test_it_records_where_the_user_gave_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTSCOPE_RUN_DIR", str(tmp_path / "run"))
    case: Any = Case(tmp_path, pace=0, count=4, recorded=False)
    case.fitted(max_epochs=1, callbacks=callbacks())
    assert len(case.timeline()) == 4


@pytest.mark.parametrize("folder", ["second", "run"])
def test_of_two_of_the_users_own_the_first_records(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, folder: str
) -> None:
    case: Any = Case(tmp_path, pace=0, count=4, recorded=False)
    two = [PytscopeCallback(tmp_path / name) for name in ("run", folder)]
    case.fitted(max_epochs=1, callbacks=two, validate=True)
    case.trainer.fit_loop.max_epochs = 2
    case.trainer.fit(case.modules[0], case.data())
    assert [path.parent.name for path in tmp_path.glob("*/rank0*")] == ["run"]
    assert len(pytscope.open(tmp_path / "run").rank(0)) == 8
    said = (
        "pytscope: the Trainer has more than one PytscopeCallback: the first records into "
        f"{tmp_path / 'run'}, that for {tmp_path / folder} does not record"
    )
    assert [r.message for r in caplog.records if r.name == "pytscope"] == [said]


MISSING = """
import sys
class Missing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in ("lightning", "pytorch_lightning"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from pytscope.model.errors import MissingPackage
try:
    from pytscope.integrations.lightning import PytscopeCallback
except MissingPackage as error:
    print(error)
"""


def test_a_missing_framework_gives_one_sentence() -> None:
    words = [sys.executable, "-c", MISSING]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        words, env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "PytscopeCallback is part of pytscope-lightning; lightning, which pytscope-lightning "
        "needs, is not installed: pip install 'pytscope-core[lightning]'\n"
    )

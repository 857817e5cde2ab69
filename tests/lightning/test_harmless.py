"""A recorded fit is the same fit, and leaves nothing behind."""

from __future__ import annotations

import copy
import gc
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("lightning.pytorch", reason="lightning is not installed")

from tests.lightning.made import Case, Model, PytscopeCallback, pl, state_of, torch
from tests.lightning.situations import SITUATIONS
from tests.torch.auto.made import check_count
from tests.torch.auto.touched import differing, touched

from pytscope_lightning.edges import Edges  # isort: skip  # after what it is skipped for
from pytscope_lightning.wrappers import Start  # isort: skip  # as above


@pytest.mark.parametrize("name", list(SITUATIONS))
def test_recording_changes_nothing(tmp_path: Path, name: str) -> None:
    bare: Any = Case(tmp_path / "bare", count=6, pace=0, recorded=False)
    SITUATIONS[name](bare)
    wanted = state_of(bare)
    before = touched(bare.modules[0])
    case: Any = Case(tmp_path / "recorded", count=6, pace=0)
    SITUATIONS[name](case)
    assert state_of(case) == wanted
    assert differing(before, touched(case.modules[0])) == []
    assert left(case.trainer) == []
    check_count(case)


def left(trainer: Any) -> list[str]:
    """Attributes of the Trainer's parts that stand in front of their classes' methods."""
    parts = {
        "trainer": trainer,
        "profiler": trainer.profiler,
        "strategy": trainer.strategy,
        "connector": trainer._logger_connector,
        "loop": trainer.fit_loop.epoch_loop.val_loop,
        **{f"logger {i}": logger for i, logger in enumerate(trainer.loggers)},
    }
    names = (
        "start",
        "stop",
        "profile",
        "run",
        "log_metrics",
        "save_checkpoint",
        "remove_checkpoint",
    )
    return [f"{key}.{n}" for key, part in parts.items() for n in names if n in vars(part)]


def test_what_stands_in_front_of_methods_is_left_behind_by_copies(tmp_path: Path) -> None:
    copies: list[Any] = []

    class Copying(Model):
        def on_train_start(self) -> None:
            copies.append(copy.deepcopy(self.trainer.profiler))

    case: Any = Case(tmp_path, pace=0)
    case.fitted(Copying, profiler="simple")
    (copied,) = copies
    assert not any(type(v).__name__ in ("Start", "Stop") for v in vars(copied).values())
    copied.start("copied")
    copied.stop("copied")
    assert "copied" in copied.recorded_durations
    assert "copied" not in case.trainer.profiler.recorded_durations


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_of_what_two_recordings_touch(copied: Any) -> None:
    profiler = pl.profilers.SimpleProfiler()
    for _ in range(2):
        profiler.start = Start(profiler.start, Edges(SimpleNamespace(), {}))
    other = copied(profiler)
    assert type(other.start).__name__ == "method"
    other.start("copied")
    assert "copied" in other.current_actions
    assert "copied" not in profiler.current_actions


def test_the_users_own_profiler_gets_every_call(tmp_path: Path) -> None:
    def actions(recorded: bool) -> dict[str, int]:
        case: Any = Case(tmp_path / str(recorded), pace=0, count=4, recorded=recorded)
        profiler = pl.profilers.SimpleProfiler()
        case.fitted(profiler=profiler, validate=True)
        assert case.trainer.profiler is profiler
        found = {name: len(took) for name, took in profiler.recorded_durations.items()}
        return {name: n for name, n in found.items() if "PytscopeCallback" not in name}

    assert actions(recorded=True) == actions(recorded=False)


def test_the_default_profiler_serves_the_module_as_ever(tmp_path: Path) -> None:
    class Asking(Model):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            profile = self.trainer.profiler.profile
            with profile("mine") as name:
                assert name == "mine"
            return profile("decorated")(super().training_step)(batch, batch_idx)

    case: Any = Case(tmp_path, pace=0)
    case.fitted(Asking)
    assert case.trainer.global_step == 16
    check_count(case)


def test_a_checkpoint_holds_nothing_of_ours_where_lightning_counts_alike(tmp_path: Path) -> None:
    saved = []
    for recorded in (False, True):
        case: Any = Case(tmp_path / str(recorded), pace=0, count=4, recorded=recorded)
        case.fitted(max_epochs=1)
        case.trainer.save_checkpoint(case.space / "saved.ckpt")
        saved.append(torch.load(case.space / "saved.ckpt", weights_only=False))
    assert [sorted(checkpoint) for checkpoint in saved[:1]] == [sorted(saved[1])]
    assert saved[0]["callbacks"] == saved[1]["callbacks"] == {}


def test_faults_of_ours_do_not_reach_the_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("another Lightning")

    names = ("touching.phases_of", "recording.settings", "recording.learning_rates")
    for name in (*names, "recording.named", "callback.Count.first", "callback.Count.over"):
        with monkeypatch.context() as patch:
            patch.setattr(f"pytscope_lightning.{name}", broken)
            case: Any = Case(tmp_path / name, pace=0, count=4)
            case.fitted(max_epochs=1)
        assert case.trainer.global_step == 4
        assert left(case.trainer) == []
        assert case.callback.profiler is None


def test_a_folder_that_cannot_be_made_is_no_reason_to_stop(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    case: Any = Case(tmp_path, pace=0, count=4)
    case.folder.write_text("a file where the folder should be")
    case.fitted(max_epochs=1, validate=True)
    assert case.trainer.global_step == 4
    assert left(case.trainer) == []
    assert caplog.text.count("starting the recording failed") == 1


def test_nothing_holds_the_module_after_the_fit(tmp_path: Path) -> None:
    case: Any = Case(tmp_path, pace=0, count=4)
    case.fitted(max_epochs=1)
    case.trainer = None
    case.modules.clear()
    del case.callback.log, case.callback.log_dict  # which Lightning has put there
    gc.collect()
    assert [m for m in gc.get_objects() if type(m) is Model and m.case[0] is case] == []


def test_options_are_looked_at_when_they_are_given(tmp_path: Path) -> None:
    for name in ("colect_memory", "memory"):
        with pytest.raises(TypeError) as caught:
            PytscopeCallback(tmp_path, **{name: True})
        said = f"PytscopeCallback has no option '{name}'; did you mean 'collect_memory'?"
        assert str(caught.value) == said
    with pytest.raises(TypeError, match="'model': it records the Trainer's own"):
        PytscopeCallback(tmp_path, model=None)
    with pytest.raises(TypeError) as caught:
        PytscopeCallback()
    assert str(caught.value) == (
        'PytscopeCallback needs the folder of the run: PytscopeCallback("runs/exp")'
    )


def test_a_class_in_place_of_a_callback_is_one_sentence(tmp_path: Path) -> None:
    case: Any = Case(tmp_path, pace=0, count=4, recorded=False)
    before = dict(vars(PytscopeCallback))
    with pytest.raises((TypeError, ValueError)) as caught:
        case.fitted(max_epochs=1, callbacks=[PytscopeCallback])
    if str(caught.value) == "Expected a parent":
        pytest.skip("this version of Lightning refuses a class before it asks it for anything")
    assert str(caught.value) == (
        "the Trainer was given the class PytscopeCallback instead of an instance: "
        'callbacks=[PytscopeCallback("runs/exp")]'
    )
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert dict(vars(PytscopeCallback)) == before

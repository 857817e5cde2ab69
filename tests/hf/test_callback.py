"""The callback itself: given, as a class, by name or later; its settings and its copies."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest

import pytscope
import pytscope_hf
from tests.hf.made import Case, Net, PytscopeCallback, Samples, Truth, arguments_of
from tests.hf.made import transformers as hf


def plain_trainer(folder: Path, callbacks: list[Any] | None, **more: Any) -> Any:
    truth = Truth(0)
    arguments = arguments_of(folder, max_steps=4, **more)
    return hf.Trainer(Net(truth), arguments, train_dataset=Samples(truth, 8), callbacks=callbacks)


def test_the_bare_class_records_into_the_output_folder(tmp_path: Path) -> None:
    plain_trainer(tmp_path / "trained here", [PytscopeCallback]).train()
    run = pytscope.open(tmp_path / "trained here")
    assert (run.name, len(run.rank(0))) == ("trained here", 4)


def test_a_registered_name_can_be_reported_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers.integrations import integration_utils as table

    monkeypatch.setattr(table, "INTEGRATION_TO_CALLBACK", dict(table.INTEGRATION_TO_CALLBACK))
    pytscope_hf.register()
    plain_trainer(tmp_path, None, report_to="pytscope").train()
    assert len(pytscope.open(tmp_path).rank(0)) == 4


def test_a_callback_that_is_added_later_records(tmp_path: Path) -> None:
    trainer = plain_trainer(tmp_path / "out", None)
    trainer.add_callback(PytscopeCallback(tmp_path / "run"))
    trainer.train()
    assert len(pytscope.open(tmp_path / "run").rank(0)) == 4


def test_the_trainers_arguments_are_the_configuration(tmp_path: Path) -> None:
    plain_trainer(tmp_path, [PytscopeCallback]).train()
    config = pytscope.open(tmp_path).config
    assert config["max_steps"] == 4
    assert "learning_rate" in config


def test_a_copied_callback_is_an_idle_one_of_the_same_settings(tmp_path: Path) -> None:
    case = Case(tmp_path, 6, pace=0, options={"warmup": 3})
    copies: list[Any] = []

    def copying(_event: str, _state: Any) -> None:
        if not copies:
            assert case.callback.profiler is not None
            copies.append(copy.deepcopy(case.callback))
            copies.append(pickle.loads(pickle.dumps(case.callback)))

    case.sleepy.failing = copying
    case.train()
    for copied in copies:
        assert copied.profiler is None
        assert (copied.run_dir, copied.options) == (case.folder, {"warmup": 3})


@pytest.mark.parametrize("options", [{"modle": 1}, {"model": 1}, {"optimizer": None}])
def test_an_option_that_is_none_is_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=next(iter(options))):
        PytscopeCallback("runs/exp", **options)


def test_an_unknown_option_is_answered_with_the_nearest_one() -> None:
    for make in (PytscopeCallback, pytscope_hf.PytscopeTracker):
        with pytest.raises(TypeError) as caught:
            make("runs/b", memory=True)
        said = f"{make.__name__} has no option 'memory'; did you mean 'collect_memory'?"
        assert str(caught.value) == said
    with pytest.raises(TypeError, match=r"no option 'xyz'; it has name, warmup, .*, inline$"):
        PytscopeCallback("runs/b", xyz=True)


@pytest.mark.parametrize("folder", ["second", "run"])
def test_of_two_callbacks_the_first_records(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, folder: str
) -> None:
    two = [PytscopeCallback(tmp_path / name) for name in ("run", folder)]
    trainer = plain_trainer(tmp_path / "out", two)
    trainer.train()
    trainer.train()
    assert [path.parent.name for path in tmp_path.glob("*/rank0*")] == ["run"]
    run = pytscope.open(tmp_path / "run")
    assert (run.rank(0).step.tolist(), run.other_attempts) == ([*range(4)], (0,))
    said = (
        "pytscope: the Trainer has more than one PytscopeCallback: the first records into "
        f"{tmp_path / 'run'}, that for {tmp_path / folder} does not record"
    )
    assert [r.message for r in caplog.records if r.name == "pytscope"] == [said]

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

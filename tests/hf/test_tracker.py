"""Loops written with accelerate: a step is a step that the optimizer really made."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pytscope
from pytscope_hf import PytscopeTracker
from tests.hf.made import SGD, Net, Samples, Truth, seed, torch
from tests.torch.auto.made import LOSS, _plain, check_count, check_times

accelerate = pytest.importorskip("accelerate", reason="tests loops of accelerate")


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    from accelerate.state import AcceleratorState, GradientState

    kind = accelerate.Accelerator
    before = dict(vars(kind))
    yield
    assert dict(vars(kind)) == before
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()


class Loop:
    """A loop as it is written with accelerate, recorded or not."""

    def __init__(
        self, folder: Path, *, accumulate: int = 1, pace: float = 1.0, profiled: bool = True
    ) -> None:
        seed()
        self.folder = folder / "run"
        self.space = folder
        self.truth = Truth(pace)
        self.net = Net(self.truth)
        self.losses: list[float] = []
        self.tracker = PytscopeTracker(self.folder)
        self.accelerator = accelerate.Accelerator(
            cpu=True,
            gradient_accumulation_steps=accumulate,
            log_with=[self.tracker] if profiled else None,
        )
        optimizer = SGD(self.net.parameters(), self.truth)
        loader = torch.utils.data.DataLoader(Samples(self.truth, 12), batch_size=1)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(
            self.net, optimizer, loader
        )

    def begin(self) -> None:
        self.accelerator.init_trackers("exp", config={"width": 4})

    def train(self, evaluate: bool = False) -> Loop:
        accelerator, at = self.accelerator, 0
        for batch in self.loader:
            with accelerator.accumulate(self.model):
                loss = self.model(**batch)["loss"]
                self.truth.sleep("loss", LOSS)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
                self.optimizer.zero_grad()
            self.losses.append(float(loss.detach()))
            if accelerator.sync_gradients:
                at += 1
                accelerator.log({"loss": self.losses[-1]}, step=at)
                if at == 3:
                    accelerator.save_state(str(self.space / "state"), safe_serialization=False)
                if evaluate and at == 2:
                    self.evaluate()
        accelerator.end_training()
        return self

    def evaluate(self) -> None:
        self.model.eval()
        with torch.no_grad():
            for batch in torch.utils.data.DataLoader(Samples(self.truth, 2, "eval")):
                self.model(**batch)
        self.model.train()

    def timeline(self) -> Any:
        return pytscope.open(self.folder).rank(0)


@pytest.mark.parametrize(("accumulate", "steps"), [(1, 12), (3, 4), (5, 3)])
def test_steps_are_those_that_were_made(tmp_path: Path, accumulate: int, steps: int) -> None:
    loop = Loop(tmp_path, accumulate=accumulate)
    loop.begin()
    loop.train(evaluate=True)
    timeline = loop.timeline()
    assert timeline.step.tolist() == list(range(steps))
    check_count(loop)
    check_times(loop, skip=0)
    rest = 12 % accumulate or accumulate
    assert [r.micro_batches for r in timeline.records()] == [accumulate] * (steps - 1) + [rest]
    assert "log" in timeline.phases
    saved = [r.step for r in timeline.records() if "checkpoint" in r.phases_ns]
    assert saved == ([3] if steps > 3 else [])


def test_what_the_loop_logs_and_its_configuration_are_kept(tmp_path: Path) -> None:
    loop = Loop(tmp_path, accumulate=3, pace=0)
    loop.begin()
    loop.train()
    run = pytscope.open(loop.folder)
    assert run.config == {"width": 4}
    steps, values = run.series("loss")
    assert steps.tolist() == [0, 1, 2, 3]
    assert values.tolist() == pytest.approx(loop.losses[2::3])
    assert len(run.rank(0).attempts) == 1
    assert loop.tracker.tracker is not None


def test_a_recorded_loop_is_the_same_loop(tmp_path: Path) -> None:
    ended = []
    for on in (False, True):
        loop = Loop(tmp_path / str(on), accumulate=2, pace=0, profiled=on)
        loop.begin()
        loop.train(evaluate=True)
        ended.append((loop.losses, _plain(loop.net.state_dict()), torch.get_rng_state().tolist()))
        _reset()
    assert ended[0] == ended[1]


def _reset() -> None:
    from accelerate.state import AcceleratorState, GradientState

    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()


def test_a_loop_that_goes_on_begins_at_its_step(tmp_path: Path) -> None:
    for step in (0, 4):
        loop = Loop(tmp_path, accumulate=3, pace=0)
        loop.tracker.step = step
        loop.begin()
        loop.train()
        _reset()
    assert loop.timeline().step.tolist() == list(range(8))


def test_a_loop_that_failed_is_given_up_when_it_is_begun_anew(tmp_path: Path) -> None:
    """As a notebook's cell that is run again; what is left in the class, the fixture looks at."""
    failed = Loop(tmp_path, pace=0)
    failed.begin()
    failed.net.failing = failing
    with pytest.raises(ValueError, match="in the loop"):
        failed.train()
    _reset()
    loop = Loop(tmp_path, pace=0)
    loop.begin()
    loop.train()
    assert not failed.tracker.tracker.recording
    assert loop.timeline().step.tolist() == list(range(12))
    assert loop.timeline().attempts[-1].ended_well


def failing(_inputs: Any) -> None:
    raise ValueError("in the loop")


def test_a_tracker_never_raises_into_the_loop(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file where the folder should be")
    loop = Loop(tmp_path, pace=0)
    loop.begin()
    loop.train()
    assert len(loop.losses) == 12


def test_a_copied_tracker_is_an_idle_one(tmp_path: Path) -> None:
    loop = Loop(tmp_path, pace=0)
    loop.begin()
    for copied in (copy.deepcopy(loop.tracker), pickle.loads(pickle.dumps(loop.tracker))):
        assert copied.tracker is None
        assert copied.run_dir == loop.folder
    loop.train()


def test_an_option_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="modle"):
        PytscopeTracker("runs/exp", modle=1)


@pytest.mark.parametrize("config", [None, {"width": 4}])
def test_a_loop_that_is_begun_again_is_one_more_attempt(tmp_path: Path, config: Any) -> None:
    if config is None and not hasattr(accelerate.tracking.GeneralTracker, "start"):
        pytest.skip("this version of accelerate tells a tracker of no start without a config")
    loop = Loop(tmp_path, accumulate=3, pace=0)
    for _ in range(2):
        loop.accelerator.init_trackers("exp", config=config)
        loop.train()
    run = pytscope.open(loop.folder)
    assert (run.other_attempts, len(run.rank(0))) == ((0,), 4)
    (attempt,) = run.rank(0).attempts
    assert [event for event in attempt.events if event["kind"] == "warning"] == []

"""A recorded run is the same run: losses, weights, modes and random states, bit for bit."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.torch.auto.loops import LOOPS
from tests.torch.auto.loops.updates import plain
from tests.torch.auto.made import AutoProfiler, Case, check_count, loader, state_of, torch
from tests.torch.auto.touched import differing, touched

NOT_FETCHED = "data was not measured"
SAID = {
    "list_in_memory": NOT_FETCHED,
    "generator": NOT_FETCHED,
    "prefetching_thread": NOT_FETCHED,
    "rollouts_in_eval_mode": NOT_FETCHED,
    "exception_in_the_optimizer_without_a_loader": NOT_FETCHED,
    "other_optimizer_steps": "has not stepped; from there on steps are those of the SleepySGD",
    "folds": "has stepped no more; from there on steps are those of the SleepySGD",
    "forward_called_directly": "no forward pass was seen",
    "no_optimizer_at_all": "no step was counted",
    "calls_in_other_threads": "no forward pass was seen",
}
"""Loops of which not all can be measured, and what is said of them."""


@pytest.mark.parametrize("name", list(LOOPS))
def test_recording_changes_nothing(tmp_path: Path, name: str) -> None:
    bare = Case(tmp_path / "bare", count=9, pace=0, profiled=False)
    LOOPS[name](bare)
    wanted = state_of(bare)
    case = Case(tmp_path / "recorded", count=9, pace=0)
    before = touched(case.net)
    LOOPS[name](case)
    assert state_of(case) == wanted
    assert differing(before, touched(case.net)) == []
    check_count(case)
    said = case.said()
    wanted_words = [SAID[name]] if name in SAID else []
    assert [words in sentence for words, sentence in zip(wanted_words, said, strict=True)] == [
        True
    ] * len(said), said


def test_nothing_is_put_into_modules_but_their_call_slot(tmp_path: Path) -> None:
    case = Case(tmp_path, pace=0)
    before = touched(case.net)
    with case.recording():
        case.train(torch.ones(1, 4), torch.ones(1, 1))
        during = differing(before, touched(case.net))
        hooks = {k: v for k, v in case.net.__dict__.items() if k.endswith("_hooks")}
    assert not any(hooks.values())
    assert not [name for name in during if name.startswith("Module")]
    assert [name for name in during if name.startswith("module")] == ["module 0 "]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_everything_is_restored_when_an_exception_ends_the_loop(
    tmp_path: Path, error: type[BaseException]
) -> None:
    case = Case(tmp_path, pace=0)
    before = touched(case.net)
    case.net.failures.append(error())
    with pytest.raises(error):
        plain(case)
    assert differing(before, touched(case.net)) == []


def test_a_recording_that_cannot_start_touches_nothing(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file where the folder should be")
    case = Case(tmp_path, pace=0, count=5)
    before = touched(case.net)
    with case.recording():
        for x, y in loader(case.truth, case.count):
            case.train(x, y)
        during = differing(before, touched(case.net))
    assert during == []
    assert len(case.losses) == case.count


def test_a_seam_that_cannot_be_made_takes_the_others_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("another PyTorch")

    monkeypatch.setattr("pytscope_torch.auto.optimizer_steps", broken)
    case = Case(tmp_path, pace=0, count=5)
    before = touched(case.net)
    plain(case)
    assert differing(before, touched(case.net)) == []
    assert len(case.losses) == case.count


def test_what_somebody_else_put_over_ours_stays_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(tmp_path, pace=0, count=5)
    calls: list[str] = []

    places = [
        (torch.autograd, "backward"),
        (torch.utils.data.DataLoader, "__iter__"),
        (torch.optim.Optimizer, "zero_grad"),
        (torch, "save"),
    ]
    for owner, name in places:  # so that the end of the test puts the original back
        monkeypatch.setattr(owner, name, getattr(owner, name))

    def over(owner: Any, name: str) -> Any:
        under = getattr(owner, name)

        def theirs(*args: Any, **kwargs: Any) -> Any:
            calls.append(name)
            return under(*args, **kwargs)

        setattr(owner, name, theirs)
        return theirs

    with case.recording():
        theirs = {(owner, name): over(owner, name) for owner, name in places}
    for (owner, name), value in theirs.items():
        assert vars(owner)[name] is value
    for x, y in loader(case.truth, case.count):
        case.train(x, y)
    torch.save({}, tmp_path / "saved.pt")
    assert sorted(calls) == ["__iter__", *["backward"] * 5, "save", *["zero_grad"] * 5]
    assert not case.profiler.recording


@pytest.mark.parametrize("first", [0, 1])
def test_two_recordings_at_once_end_in_any_order(tmp_path: Path, first: int) -> None:
    case = Case(tmp_path, pace=0, count=5)
    before = touched(case.net)
    profilers = [
        AutoProfiler(tmp_path / str(i), case.net, case.optimizer).start() for i in range(2)
    ]
    for x, y in loader(case.truth, case.count):
        case.train(x, y)
    shallow = copy.copy(case.net)
    shallow.__dict__.update(case.net.__dict__)
    shallow._modules = {"linear": torch.nn.Linear(4, 1), "dropout": torch.nn.Identity()}
    with torch.no_grad():
        x = torch.ones(1, 4)
        assert torch.equal(shallow(x), shallow.forward(x))
    profilers[first].finish()
    profilers[1 - first].finish()
    assert differing(before, touched(case.net)) == []
    for folder in ("0", "1"):
        case.folder = tmp_path / folder
        check_count(case)


def test_loaders_keep_their_length_type_and_early_start(tmp_path: Path) -> None:
    case = Case(tmp_path, pace=0)
    fetched = loader(None, 5, num_workers=2)
    bare = iter(fetched)
    with case.recording():
        batches = iter(fetched)
        assert type(batches) is type(bare)
        assert len(batches) == len(fetched) == 5
        assert [worker.is_alive() for worker in batches._workers] == [True, True]
        assert not isinstance(batches, type(i for i in ()))
        assert sum(1 for _ in batches) == 5


def test_training_in_another_thread_is_said_not_to_be_recorded(tmp_path: Path) -> None:
    case = Case(tmp_path, pace=0, count=5)

    def train() -> None:
        for x, y in loader(case.truth, case.count):
            case.train(x, y)

    with case.recording():
        thread = threading.Thread(target=train)
        thread.start()
        thread.join()
    assert len(case.timeline()) == 0
    assert [s for s in case.said() if "call start() in the thread that trains" in s]


def test_a_copied_profiler_is_an_idle_one_of_the_same_settings(tmp_path: Path) -> None:
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with AutoProfiler(tmp_path / "one", model, optimizer) as profiler:
        copies = [copy.deepcopy(profiler), pickle.loads(pickle.dumps(profiler))]
    for copied in copies:
        assert not copied.recording
        with copied:
            assert copied.recording
        assert not copied.recording


STRICT = """
import sys, torch
from pathlib import Path
from pytscope.auto import AutoProfiler
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.utils.data.TensorDataset(torch.ones(20, 4), torch.ones(20, 1))
scaler = torch.amp.GradScaler("cpu")
profiler = AutoProfiler(sys.argv[1], model, optimizer)
profiler.start()
for x, y in torch.utils.data.DataLoader(data, shuffle=True, num_workers=1):
    loss = ((model(x) - y) ** 2).mean()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    profiler.log(loss=loss)
torch.save(model, sys.argv[1] + "/model.pt")
profiler.finish()
"""


def test_a_strict_interpreter_has_nothing_to_say(tmp_path: Path) -> None:
    words = [sys.executable, "-W", "error", "-c", STRICT, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

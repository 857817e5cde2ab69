"""Anything given to the recorder: it records, says what it left out, and raises nothing."""

from __future__ import annotations

import copy
import pickle
import time
import weakref
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pytscope
from pytscope.recording.plain import plain
from pytscope.recording.profiler import Profiler

from .truth import only, said

torch = pytest.importorskip("torch")


def loop(prof: Profiler, step: Any = 0, steps: int = 20) -> None:
    prof.start(step)
    for _ in prof.iter_data(range(steps)):
        with prof.step():
            prof.mark("forward")
    prof.finish()


@pytest.mark.parametrize(
    ("step", "first"),
    [(7, 7), (7.0, 7), (True, 1), (np.int64(9), 9), (None, 0), (10**15, 10**15)],
)
def test_first_steps(tmp_path: Path, step: Any, first: int) -> None:
    loop(Profiler(tmp_path), step)
    timeline = only(tmp_path)
    assert timeline.step.tolist() == list(range(first, first + 20))
    assert said(timeline) == []


def test_a_first_step_in_a_tensor(tmp_path: Path) -> None:
    loop(Profiler(tmp_path), torch.tensor(4))
    assert only(tmp_path).step[0] == 4


@pytest.mark.parametrize("step", [-5, 2**62, 2**70, 7.5, float("nan"), "x", object()])
def test_first_steps_that_are_none(tmp_path: Path, step: Any) -> None:
    loop(Profiler(tmp_path), step)
    timeline = only(tmp_path)
    assert timeline.step.tolist() == list(range(20))
    (message,) = said(timeline)
    assert message.startswith("step=")


@pytest.mark.parametrize("value", ["many", -3, float("nan"), object(), [1]])
@pytest.mark.parametrize("name", ["warmup", "flops_per_step", "peak_flops", "flush_every"])
def test_arguments_that_are_no_number(tmp_path: Path, name: str, value: Any) -> None:
    loop(Profiler(tmp_path, **{name: value}))
    timeline = only(tmp_path)
    assert len(timeline) == 20
    assert [message.split("=")[0] for message in said(timeline)] == [name]


def test_a_misspelt_mode_of_memory_is_said(tmp_path: Path) -> None:
    for folder, value, wanted in (("a", "rest", 1), ("b", False, 0), ("c", np.False_, 0)):
        loop(Profiler(tmp_path / folder, collect_memory=value))
        timeline = only(tmp_path / folder)
        assert len(timeline) == 20
        odd = [message for message in said(timeline) if message.startswith("collect_memory=")]
        assert len(odd) == wanted
    assert "'rest' is unknown" in said(only(tmp_path / "a"))[0]


def test_arguments_of_other_number_types(tmp_path: Path) -> None:
    options: dict[str, Any] = {"warmup": np.int64(3), "flops_per_step": np.float32(1e9)}
    loop(Profiler(tmp_path, name=Path("named"), peak_flops=10**40, **options))  # type: ignore[arg-type]
    run = pytscope.open(tmp_path)
    assert run.name == "named"
    assert (run.flops_per_step, run.peak_flops) == (1e9, 1e40)
    assert run.timelines[0].attempts[0].warmup == 3


class Faulty(dict[str, Any]):
    def items(self) -> Any:
        raise KeyError


def test_configurations_without_end_or_bottom(tmp_path: Path) -> None:
    cyclic: dict[str, Any] = {}
    cyclic.update({str(i): cyclic for i in range(12)})
    config = {
        "cyclic": cyclic,
        "faulty": Faulty(a=1),
        "tensor": torch.ones(2, requires_grad=True),
        "module": torch.nn.Linear(2, 2),
        1: "int",
        "1": "str",
        "n": np.int64(3),
        "x": np.float32(0.5),
    }
    loop(Profiler(tmp_path, config=config))
    kept = pytscope.open(tmp_path).config
    assert "KeyError" in kept["faulty"]
    assert (kept["n"], kept["x"]) == (3, 0.5)
    assert {"int", "str"} <= {v for v in kept.values() if isinstance(v, str)}
    assert "requires_grad" in kept["tensor"]


def test_dataclasses_with_slots_keep_their_fields() -> None:
    from dataclasses import dataclass

    @dataclass(slots=True)
    class Settings:
        lr: float = 0.1
        betas: tuple[float, float] = (0.9, 0.99)

    assert plain(Settings()) == {"lr": 0.1, "betas": [0.9, 0.99]}


def counting(*faulty: Any) -> Callable[[], Any]:
    """A clock whose every seventh reading is one of the given."""
    calls = iter(range(10**9))

    def clock() -> Any:
        call = next(calls)
        if call % 7 == 6 and faulty:
            value = faulty[call // 7 % len(faulty)]
            if isinstance(value, Exception):
                raise value
            return value
        return time.perf_counter_ns()

    return clock


@pytest.mark.parametrize(
    ("clock", "warned"),
    [
        (counting(OSError("gone")), "raised OSError"),
        (counting(None), "raised TypeError"),
        (counting(2**63, -(2**63)), "jumped"),
        (counting(float("nan")), "raised ValueError"),
        (lambda: time.perf_counter_ns() * 1.0, "gave a float"),
        (lambda: 5, ""),
        (lambda: time.perf_counter_ns() + 2**63, ""),
    ],
)
def test_clocks(tmp_path: Path, clock: Any, warned: str) -> None:
    loop(Profiler(tmp_path, clock=clock))
    timeline = only(tmp_path)
    assert len(timeline) == 20
    assert timeline.attempts[0].finished
    assert (warned in " ".join(said(timeline))) == bool(said(timeline) or not warned)


def test_a_clock_that_goes_back_still_adds_up(tmp_path: Path) -> None:
    back = iter(range(10**9))
    clock = lambda: time.perf_counter_ns() - 10**7 * (next(back) % 3)  # noqa: E731  # one line
    loop(Profiler(tmp_path, clock=clock), steps=100)
    assert len(only(tmp_path)) == 100
    assert [note.kind for note in pytscope.open(tmp_path).notes] == ["clock_back"]


class Raising:
    def __float__(self) -> float:
        raise KeyError

    def __str__(self) -> str:
        raise ValueError

    @property
    def numel(self) -> int:
        raise ZeroDivisionError


GOOD: list[Any] = [
    (torch.ones((), requires_grad=True) * 2, 2.0),
    (torch.ones(1, requires_grad=True) * 2, 2.0),
    (torch.tensor(1.5, dtype=torch.bfloat16), 1.5),
    (torch.tensor(3), 3),
    (torch.tensor(True), 1),  # a value
    (np.float32(1.5), 1.5),
    (np.array([2.5]), 2.5),
    (Decimal("1.5"), 1.5),
    (Fraction(1, 4), 0.25),
    (float("inf"), float("inf")),
    (-(2**63), -(2**63)),
]
BAD: list[Any] = [
    torch.ones(3),
    torch.tensor(1j),
    np.array([1, 2]),
    2**70,
    "x",
    1 + 2j,
    object(),
    [1],
    Decimal("sNaN"),
    Raising(),
]


@pytest.mark.parametrize(("value", "kept"), GOOD, ids=lambda v: repr(v)[:40])
def test_numbers_of_all_sorts(tmp_path: Path, value: Any, kept: float) -> None:
    with Profiler(tmp_path) as prof, prof.step():
        prof.log(loss=value, mine=value)
    timeline = only(tmp_path)
    assert [timeline.column("scalar", name)[1].tolist() for name in ("loss", "mine")] == [
        [kept]
    ] * 2


@pytest.mark.parametrize("value", BAD, ids=lambda v: type(v).__name__)
def test_what_is_no_number_is_said_in_the_record(tmp_path: Path, value: Any) -> None:
    with Profiler(tmp_path) as prof, prof.step():
        prof.log(loss=value)
    timeline = only(tmp_path)
    assert timeline.scalars == ()
    assert len(said(timeline)) == 1


def test_a_logged_tensor_does_not_keep_its_graph(tmp_path: Path) -> None:
    with Profiler(tmp_path) as prof, prof.step():
        loss = (torch.ones(3, requires_grad=True) * 2).sum()
        graph = weakref.ref(loss)
        prof.log(loss=loss, again=loss)
        del loss
        assert graph() is None


def test_exceptions_without_a_text(tmp_path: Path) -> None:
    class Mute(Exception):
        __str__ = Raising.__str__

    with Profiler(tmp_path) as prof:
        with pytest.raises(Mute), prof.step():
            raise Mute
        prof.end_step()
    (event,) = [e for e in only(tmp_path).attempts[0].events if e["kind"] == "exception"]
    assert "ValueError" in event["message"]


def test_names_of_all_sorts(tmp_path: Path) -> None:
    names: list[Any] = ["", None, ["list"], "\ud800", "n" * 500, 3]
    with Profiler(tmp_path) as prof:
        for _ in range(3):
            with prof.step():
                for name in names:
                    prof.mark(name)
                    with prof.phase(name):
                        prof.log(**{str(name): 1.0})
    timeline = only(tmp_path)
    assert len(timeline) == 3
    assert len(timeline.scalars) == len(names)
    assert timeline.attempts[0].damaged_bytes == 0


def test_a_wrapped_loader_is_true_and_copied_as_the_loader_is(tmp_path: Path) -> None:
    class Endless:
        def __iter__(self) -> Any:
            return iter([1, 2])

    class Unsure(Endless):
        def __bool__(self) -> bool:
            return False

    with Profiler(tmp_path) as prof:
        loader = prof.iter_data(Endless())
        assert loader
        assert not prof.iter_data(Unsure())
        assert not prof.iter_data([])
        assert list(copy.copy(loader)) == list(copy.deepcopy(loader)) == [1, 2]


def test_a_copied_profiler_is_idle_and_leaves_the_original_alone(tmp_path: Path) -> None:
    with Profiler(tmp_path, warmup=3) as prof:
        for copied in (copy.deepcopy(prof), pickle.loads(pickle.dumps(prof))):
            assert type(copied) is Profiler
            assert not copied.recording
            with copied.step():
                copied.mark("nothing")
        with prof.step():
            prof.mark("forward")
    assert only(tmp_path).phases == ("forward", "other") or only(tmp_path).phases == ("forward",)

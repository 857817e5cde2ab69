"""Collectors that raise, leave, dawdle or give nonsense: training goes on, the report says so."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from pytscope.recording import collectors as collecting
from pytscope.recording.profiler import Profiler
from tests.core.recording.truth import only

from .trial import report


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError


class Collector:
    """Samples one value of kind `kind`, or does what `faults` says instead."""

    def __init__(
        self, name: str, kind: str = "s", value: Any = 1.5, **faults: Callable[[], Any]
    ) -> None:
        self.name: Any = name
        self.kind, self.value, self.faults = kind, value, faults

    def start(self, info: Mapping[str, Any]) -> Any:
        return self.faults["start"]() if "start" in self.faults else {self.name: self.kind}

    def sample(self) -> Any:
        return self.faults["sample"]() if "sample" in self.faults else (self.value,)

    def stop(self) -> None:
        if "stop" in self.faults:
            self.faults["stop"]()


def train(folder: Path, *given: Any, steps: int = 30) -> str:
    """Train with collectors; what the report says."""
    with Profiler(folder, collectors=given) as prof:
        for _ in prof.iter_data(range(steps)):
            with prof.step():
                prof.mark("forward")
    assert len(only(folder)) == steps
    code, text = report(folder)
    assert code == 0
    return text


def raising(error: BaseException) -> Callable[[], Any]:
    def call() -> Any:
        raise error

    return call


ERRORS = (ValueError("gone"), SystemExit(3), Mute(), RecursionError())


@pytest.mark.parametrize("stage", ["start", "sample", "stop"])
def test_some_that_raise_beside_one_that_works(tmp_path: Path, stage: str) -> None:
    bad = [Collector(f"bad{i}", **{stage: raising(e)}) for i, e in enumerate(ERRORS)]
    text = train(tmp_path, *bad, Collector("good", "i", 7))
    for i, error in enumerate(ERRORS):
        if stage == "start":
            assert f"collector 'bad{i}' did not start" in text
        else:
            assert f"collector: name bad{i}, error {type(error).__name__}" in text
    assert only(tmp_path).column("scalar", "good")[1].tolist() == [7] * 30


def test_one_that_raises_later_keeps_what_it_sampled(tmp_path: Path) -> None:
    values = iter([(1.0,)] * 10)
    text = train(tmp_path, Collector("mine", sample=lambda: next(values)))
    assert "collector: name mine, error StopIteration" in text
    assert len(only(tmp_path).column("scalar", "mine")[0]) == 10


def test_samples_that_are_none(tmp_path: Path) -> None:
    answers: list[Any] = [None, 5, (), (1, 2), "ab", {"a": 1}, ("x",), (1j,), (np.ones(3),)]
    given = [Collector(f"c{i}", sample=lambda a=a: a) for i, a in enumerate(answers)]  # type: ignore[misc]
    train(tmp_path, *given)
    events = [e for e in only(tmp_path).attempts[0].events if e["kind"] == "collector"]
    assert [e["name"] for e in events] == [c.name for c in given]


SAMPLED: list[tuple[str, Any, float | None]] = [
    ("s", np.float32(0.5), 0.5),
    ("s", Decimal("0.25"), 0.25),
    ("s", np.array(2.5), 2.5),
    ("s", float("inf"), float("inf")),
    ("s", 2**70, 2.0**70),
    ("i", np.int64(3), 3),
    ("i", 2.0, 2),
    ("b", np.uint64(2**40), 2**40),
    ("b", float("nan"), None),
    ("i", float("inf"), None),
    ("i", 2**63, None),
    ("s", None, None),
]


def test_values_of_all_sorts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "DEAR_NS", 10**9)  # however slow this machine is just now
    train(tmp_path, *(Collector(f"c{i}", k, v) for i, (k, v, _) in enumerate(SAMPLED)))
    timeline = only(tmp_path)
    assert timeline.attempts[0].events == ()
    for i, (kind, _, kept) in enumerate(SAMPLED):
        where, names = ("memory", timeline.memory) if kind == "b" else ("scalar", timeline.scalars)
        found = timeline.column(where, f"c{i}")[1].tolist() if f"c{i}" in names else []
        assert found == ([] if kept is None else [kept] * 30)


def test_columns_that_are_none(tmp_path: Path) -> None:
    columns = (None, 3, {"used": "q"}, {"used": None}, ["used"])
    given = [Collector(f"c{i}", start=lambda c=c: c) for i, c in enumerate(columns)]  # type: ignore[misc]
    text = train(tmp_path, *given)
    assert all(f"collector 'c{i}' did not start" in text for i in range(len(columns)))
    assert "no column is of kind q; kinds are b, i, s, x" in text


def test_collectors_of_odd_or_no_names(tmp_path: Path) -> None:
    class Nameless:
        start, sample, stop = Collector.start, Collector.sample, Collector.stop
        faults: ClassVar[dict[str, Any]] = {"sample": raising(KeyError("x"))}
        kind = "s"

    class Badly(Nameless):
        @property
        def name(self) -> str:
            raise SystemExit

        def __repr__(self) -> str:
            raise KeyError

    text = train(tmp_path, Nameless(), Badly())
    assert "Nameless object" in text
    assert "<Badly: repr raised KeyError>" in text


def test_what_is_no_list_of_collectors(tmp_path: Path) -> None:
    given: list[Any] = [5, "nobody", None, object(), iter(["nobody"])]
    for i, odd in enumerate(given):
        prof = Profiler(tmp_path / str(i), collectors=odd)
        for _ in range(2):  # an iterator is used up by the first
            with prof, prof.step():
                prof.mark("forward")
        (event,) = only(tmp_path / str(i)).attempts[-1].events
        assert "did not start" in event["message"]
    assert "collector 'nobody' did not start" in report(tmp_path / "1")[1]


def test_one_that_is_slow_is_asked_less_and_its_time_is_named(tmp_path: Path) -> None:
    taken = []

    def slow() -> tuple[float]:
        taken.append(time.perf_counter_ns())
        time.sleep(0.001)
        taken.append(time.perf_counter_ns())
        return (1.0,)

    text = train(tmp_path, Collector("mine", sample=slow), steps=200)
    spent = sum(taken[1::2]) - sum(taken[::2])
    assert len(taken) / 2 < 100
    assert "collector slowed: name mine, every 8" in text
    assert only(tmp_path).phase_ns("log").sum() >= 0.95 * spent


def test_one_that_touches_the_recorder(tmp_path: Path) -> None:
    prof = Profiler(tmp_path)

    def meddling() -> tuple[float]:
        prof.mark("inside")
        prof.log(loss=1.0)
        return (1.0,)

    prof._collector_names = [Collector("mine", sample=meddling)]
    with prof:
        for _ in range(30):
            with prof.step():
                prof.mark("forward")
    assert len(only(tmp_path)) == 30


def test_a_package_whose_collector_cannot_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = tmp_path / "bad-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: bad\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{collecting.GROUP}]\nbad = bad_module:make\n")
    (tmp_path / "bad_module.py").write_text("import sys; sys.exit(4)")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert "collector 'bad' did not start" in train(tmp_path / "run", "bad")

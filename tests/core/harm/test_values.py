"""Whatever is logged, of every type there is: the value or a sentence, never an exception."""

from __future__ import annotations

import datetime as dt
import enum
import math
import sys
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytscope.recording.profiler import Profiler
from tests.core.recording.truth import only, said

from .trial import report

torch = pytest.importorskip("torch")


def logged(folder: Path, values: list[Any]) -> list[float | None]:
    """Log one value a step; what was kept of each."""
    with Profiler(folder) as prof:
        for value in values:
            with prof.step():
                prof.log(loss=value, other=value)
    timeline = only(folder)
    assert len(timeline) == len(values)
    loss, other = (dict(zip(*timeline.column("scalar", n), strict=True)) for n in ("loss", "other"))
    assert loss.keys() == other.keys()
    return [loss.get(i) for i in range(len(values))]


def torch_dtypes() -> list[Any]:
    found = {d for d in vars(torch).values() if isinstance(d, torch.dtype)}
    return sorted(found, key=str)


def test_tensors_of_every_dtype(tmp_path: Path) -> None:
    values, expected = [], []
    for dtype in torch_dtypes():
        try:
            with warnings.catch_warnings(action="ignore"):  # some dtypes are experimental
                value = torch.tensor(1).to(dtype)
            number = value.item()
        except (RuntimeError, TypeError, NotImplementedError, AttributeError):
            continue  # one that cannot be made of a number
        values += [value, value.reshape(1), value.reshape(1, 1, 1)]
        expected += [None if isinstance(number, complex) else float(number)] * 3
    assert len(values) > 3 * 15
    assert expected.count(None) >= 3
    assert logged(tmp_path, values) == expected
    assert "is no real number; it is left out" in report(tmp_path)[1]


def test_numpy_scalars_of_every_dtype(tmp_path: Path) -> None:
    values: list[Any] = []
    expected: list[float | None] = []
    for code in np.typecodes["All"]:
        dtype = np.dtype(code)
        if dtype.kind in "OSUVMm":
            continue
        value = np.ones((), dtype)
        values += [value[()], value, value.reshape(1)]
        expected += [None if dtype.kind == "c" else 1.0] * 3
    assert logged(tmp_path, values) == expected


class Level(enum.IntEnum):
    LOW = 3


class Money(float):
    """A float that shows itself otherwise."""

    def __repr__(self) -> str:
        raise ValueError


class Hostile:
    def __getattr__(self, name: str) -> Any:
        raise SystemExit(name)

    def __float__(self) -> float:
        raise MemoryError


class Tagged(torch.Tensor):
    """A subclass that lets nobody read it."""

    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> Any:
        msg = "not yours"
        raise RuntimeError(msg)


KEPT: list[tuple[Any, float]] = [
    (torch.ones((), requires_grad=True).exp(), math.e),
    (torch.nn.Parameter(torch.ones(1)), 1.0),
    (torch.full((1,), 2.0).to_sparse().sum(), 2.0),
    (torch.tensor(float("nan")), math.nan),
    (torch.tensor(2**62), 2.0**62),
    (torch.ones((), dtype=torch.float64, requires_grad=True).conj(), 1.0),
    (torch.tensor(1 + 0j).real, 1.0),
    (Level.LOW, 3.0),
    (Money(1.5), 1.5),
    (True, 1.0),
    (np.True_, 1.0),
    (np.longdouble(1.5), 1.5),
    (np.ma.array([1.5]), 1.5),
    (Decimal("1e-3"), 0.001),
    (Fraction(1, 8), 0.125),
    (sys.float_info.max, sys.float_info.max),
    (5e-324, 5e-324),
    (-(2**63), -(2.0**63)),
    (dt.timedelta(seconds=1) / dt.timedelta(milliseconds=500), 2.0),
]
LEFT_OUT: list[Any] = [
    torch.ones(0),
    torch.ones(2),
    torch.ones(3, 3).to_sparse(),
    torch.ones((), device="meta"),
    torch.tensor(1j),
    torch.ones(1).as_subclass(Tagged),
    torch.nn.Linear(1, 1),
    torch.float32,
    np.array("1.5"),
    np.array([None]),
    np.datetime64("2020-01-01"),
    np.ones(2),
    np.complex64(1j),
    10**400,
    Decimal("sNaN"),
    Fraction(10**400),
    b"1.5",
    "loss",
    [1.0],
    {"loss": 1.0},
    (x for x in [1.0]),
    lambda: 1.0,
    Hostile(),
    Hostile,
    NotImplemented,
    ...,
    sys,
    ValueError("1.0"),
    dt.timedelta(seconds=1),
]


def test_numbers_in_disguise(tmp_path: Path) -> None:
    found = logged(tmp_path, [value for value, _ in KEPT])
    for (value, number), kept in zip(KEPT, found, strict=True):
        assert kept == pytest.approx(number, rel=1e-6, nan_ok=True), type(value)
    assert said(only(tmp_path)) == []


def test_what_is_no_number(tmp_path: Path) -> None:
    with Profiler(tmp_path) as prof:
        for value in LEFT_OUT:
            with prof.step():
                prof._said.clear()
                prof.log(loss=value)
            assert len(prof._said) == 1, value
    timeline = only(tmp_path)
    assert timeline.scalars == ()
    assert len(timeline) == len(LEFT_OUT)
    text = report(tmp_path)[1]
    assert "a logged value of type Tensor is no single number; it is left out" in text
    assert "is on the meta device and has no value" in " ".join(said(timeline))


def test_values_under_a_transform_and_another_device(tmp_path: Path) -> None:
    """Under vmap a scalar has no value of its own, under FakeTensorMode none at all."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with Profiler(tmp_path) as prof:

        def traced(x: Any) -> Any:
            prof.log(loss=x, other=x * 2)
            return x * 2

        with prof.step():
            assert torch.vmap(traced)(torch.ones(3)).tolist() == [2.0] * 3
        with prof.step():
            assert torch.func.grad(traced)(torch.tensor(3.0)).item() == 2.0
        with prof.step(), FakeTensorMode():
            prof.log(loss=torch.ones(()))
    timeline = only(tmp_path)
    assert len(timeline) == 3
    assert 1 <= len(said(timeline)) <= 3


def test_names_of_all_sorts(tmp_path: Path) -> None:
    class Nameless:
        def __str__(self) -> str:
            raise KeyError

    names: list[Any] = [Nameless(), b"bytes", 1.5, ("a", "b"), "\x1b[2J\n", "\ud800", "", None]
    with Profiler(tmp_path) as prof:
        for _ in range(30):
            with prof.step():
                for name in names:
                    prof.mark(name)
                    with prof.phase(name):
                        prof.mark(name)
    timeline = only(tmp_path)
    assert len(timeline) == 30
    assert "<Nameless>" in timeline.phases
    code, text = report(tmp_path)
    assert code == 0
    assert "\x1b" not in text


def test_more_warnings_than_one_recording_keeps(tmp_path: Path) -> None:
    with Profiler(tmp_path) as prof:
        for i in range(300):
            with prof.step():
                prof.log(loss=type(f"Kind{i}", (), {})())
    assert len(said(only(tmp_path))) == 100
    assert "and 92 more like it" in report(tmp_path)[1]

"""What AutoProfiler makes of its arguments model and optimizer, right ones and others."""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pytscope

torch = pytest.importorskip("torch", reason="looks at modules and optimizers")
given = pytest.importorskip("pytscope_torch.given", reason="pytscope-torch is not installed")

from pytscope_torch.auto import AutoProfiler  # noqa: E402  # needs what is skipped above

NET = torch.nn.Linear(2, 1)
OTHER = torch.nn.Linear(2, 1)
SGD = torch.optim.SGD(NET.parameters(), lr=0.1)
ADAM = torch.optim.Adam(OTHER.parameters())


PARTS = torch.nn.ModuleDict({"both": torch.nn.ModuleList([NET, OTHER])})
MANY = torch.nn.ModuleList(torch.nn.Linear(1, 1) for _ in range(9))
EMPTY = torch.nn.ModuleList()


class Wrapper:
    """Holds an optimizer, as wrappers do."""

    optimizer = SGD


class Odd:
    """Has an attribute that cannot be read, and a new one inside of each other."""

    @property
    def optimizer(self) -> Any:
        return Odd()

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError


WRAPPER = Wrapper()


@pytest.mark.parametrize(
    ("model", "optimizer", "models", "owner", "said"),
    [
        (None, None, (), None, []),
        (NET, SGD, (NET,), SGD, []),
        ([NET, OTHER], (SGD, ADAM), (NET, OTHER), SGD, []),
        (iter([NET, OTHER]), iter([ADAM]), (NET, OTHER), ADAM, []),
        ({"g": NET, "d": OTHER}, {"g": SGD, "d": ADAM}, (NET, OTHER), SGD, []),
        (PARTS, SGD, (NET, OTHER), SGD, []),
        (MANY, SGD, (MANY,), SGD, []),
        (EMPTY, SGD, (EMPTY,), SGD, []),
        (NET, WRAPPER, (NET,), WRAPPER, []),
        (SGD, None, (), SGD, [r"model=.* optimizer \(SGD\).* optimizer="]),
        (SGD, NET, (NET,), SGD, ["model=", r"optimizer=.* module \(Linear\).* model="]),
        ([NET, SGD], ADAM, (NET,), ADAM, ["model="]),
        ("model", "adam", (), None, ["model=.* type str", "optimizer=.* type str"]),
        ({"lr": 0.1}, 3, (), None, ["model=.* type float", "optimizer=.* type int"]),
        (itertools.cycle([torch.ones(2)]), NET.parameters(), (), None, ["model=", "optimizer="]),
        (Odd(), Odd(), (), None, ["model=.* type Odd", "optimizer=.* type Odd"]),
    ],
)
def test_each_is_taken_for_what_it_is(
    model: Any, optimizer: Any, models: tuple[Any, ...], owner: Any, said: list[str]
) -> None:
    told: list[str] = []
    assert given.sorted_out(model, optimizer, told.append) == (models, owner)
    assert len(told) == len(said)
    for text, wanted in zip(told, said, strict=True):
        assert re.match(wanted, text)


@pytest.mark.parametrize("swapped", [True, False])
def test_a_loop_is_recorded_whatever_was_passed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, swapped: bool
) -> None:
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    caplog.set_level(logging.WARNING, "pytscope")
    wrong = (optimizer, net) if swapped else ({"lr": 0.1}, "sgd")
    with AutoProfiler(tmp_path, *wrong, inline=True):
        for _ in range(5):
            net(torch.ones(2, 4)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    run = pytscope.open(tmp_path)
    assert len(run.shown) == 5
    assert {"forward", "backward", "optimizer"} <= set(run.shown.phases)
    known = [record.getMessage() for record in caplog.records]
    assert [text.count("was given") for text in known if "=" in text][:2] == [1, 1], known

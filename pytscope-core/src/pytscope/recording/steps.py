"""Cutting events into steps: those of one shape are put together, their order is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from pytscope.recording.keys import BROKEN, END, is_value
from pytscope.recording.plans import Plan
from pytscope.recording.prefix import alike, first_step
from pytscope.recording.tile import Tiling

MAX_LETTERS = 4096
ENDS = "\0\1"
VALUES = 0xF0000
"""Letters from here on stand for logged values, those below for stamps."""
STEP = re.compile(f"[^{ENDS}]*[{ENDS}][{chr(VALUES)}-\U0010ffff]*")
"""A step: all to its end, and the values after that."""


class Letters:
    """A letter for each key, so that steps are found and compared as text."""

    def __init__(self) -> None:
        self._letters: dict[object, str] = dict(zip((END, BROKEN), ENDS, strict=True))

    def text(self, keys: list[Any]) -> str:
        """The keys, a letter each."""
        try:
            return "".join(map(self._letters.__getitem__, keys))
        except KeyError:
            letters = self._letters
            for key in dict.fromkeys(keys):
                if key not in letters:
                    letters[key] = chr((VALUES if is_value(key) else 0x100) + len(letters))
            return self.text(keys)

    @property
    def full(self) -> bool:
        """Whether it is time to start afresh: names made up for each step must not pile up."""
        return len(self._letters) > MAX_LETTERS


def runs(keys: list[Any], letters: Letters) -> Iterator[tuple[int, int]]:
    """Keys a step, and how many steps in a row have the same ones.

    Args:
        keys: Keys that end with a step end and its values.
        letters: Letters for them.
    """
    size = first_step(keys)
    if (
        size
        and not len(keys) % size
        and BROKEN not in keys[:size]
        and alike(keys, size, len(keys) // size)
    ):
        yield size, len(keys) // size
        return
    for shape, same in groupby(STEP.findall(letters.text(keys))):
        yield len(shape), len(list(same))


class Steps:
    """Steps with the same keys.

    Attributes:
        keys: The keys of each.
        values: Their values, one step after the other.
        at: The stamp each began with, the end of the step before.
        plan: The plan of their shape, or None for a very long step.
        tiling: The tiling of a very long step, or None.
    """

    __slots__ = ("at", "keys", "plan", "tiling", "values")

    def __init__(
        self,
        keys: tuple[object, ...],
        values: list[Any],
        at: list[int],
        plan: Plan | None = None,
        tiling: Tiling | None = None,
    ) -> None:
        self.keys = keys
        self.values = values
        self.at = at
        self.plan = plan
        self.tiling = tiling

    def columns(self) -> list[list[Any]]:
        """Per key, its value in each step."""
        size = len(self.keys)
        return [self.values[i::size] for i in range(size)]

    def step(self, place: int) -> Steps:
        """One of them."""
        size = len(self.keys)
        values = self.values[place * size : (place + 1) * size]
        return Steps(self.keys, values, [self.at[place]], self.plan, self.tiling)


class Batch:
    """Steps in a row.

    Attributes:
        groups: The steps of each plan together, every very long step by itself.
        order: Of each step, which group it is in.
        ends: Of each step, the stamp of its end.
    """

    def __init__(self) -> None:
        self.groups: list[Steps] = []
        self.order: list[int] = []
        self.ends: list[int] = []
        self._places: dict[int, int] = {}

    def add(self, plan: Plan, keys: tuple[object, ...], values: list[Any], at: int) -> int:
        """Take in steps that follow; returns the end of the last.

        Args:
            plan: Their plan.
            keys: The keys of each.
            values: Their values, one step after the other.
            at: Where the first began.
        """
        place = self._places.setdefault(id(plan), len(self.groups))
        if place == len(self.groups):
            self.groups.append(Steps(keys, [], [], plan))
        group = self.groups[place]
        ends = values[plan.end :: len(keys)]
        group.values += values
        group.at.append(at)
        group.at += ends[:-1]
        self.order += [place] * len(ends)
        self.ends += ends
        end: int = ends[-1]
        return end

    def put(self, step: Steps, end: int) -> int:
        """Take in one step that follows; returns its end."""
        if step.plan is not None and step.values:
            return self.add(step.plan, step.keys, step.values, step.at[0])
        self.order.append(len(self.groups))
        self.groups.append(step)
        self.ends.append(end)
        return end

    def pop(self) -> tuple[Steps, int]:
        """Take the last step out again; returns it and its end."""
        place = self.order.pop()
        group = self.groups[place]
        step = group.step(len(group.at) - 1)
        del group.at[-1:], group.values[len(group.values) - len(step.values) :]
        if not group.at:
            del self.groups[place]  # the last one: nothing came after its first step
            self._places.pop(id(group.plan), None)
        return step, self.ends.pop()

    def halves(self) -> tuple[Batch, Batch]:
        """The first half of the steps, and the others."""
        first, second = Batch(), Batch()
        taken = [0] * len(self.groups)
        for place, end in zip(self.order, self.ends, strict=True):
            half = first if len(first.order) < len(self.order) // 2 else second
            half.put(self.groups[place].step(taken[place]), end)
            taken[place] += 1
        return first, second

"""`NoiseStore`: what earlier repeats of a configuration came out at, kept as JSON text."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import attrs

from pytscope.diffing.identity import code_of, identity, repeats_key, seed_of
from pytscope.diffing.metrics import own_values
from pytscope.diffing.repeated import spread_of_repeats
from pytscope.diffing.spread import Spread
from pytscope.model.errors import UsageError
from pytscope.runs.run import Run

FORMAT = "pytscope.noise/1"
MOST_REPEATS = 100
"""Repeats kept of a configuration, the latest."""
MOST_CONFIGURATIONS = 500
"""Configurations kept, those that were added to last."""


@attrs.frozen
class Repeat:
    """One finished run of a configuration.

    Attributes:
        run: What tells it from others, see `identity`.
        seed: Its seeds, or an empty string.
        values: Its outcomes by name.
        code: The version of its code, or an empty string.
    """

    run: str
    seed: str
    values: Mapping[str, float]
    code: str = ""


@attrs.frozen
class NoiseStore:
    """Repeats by configuration; a value that its methods return anew.

    Attributes:
        repeats: Those of every configuration, the latest last, by `repeats_key`.
    """

    repeats: Mapping[str, tuple[Repeat, ...]] = attrs.field(factory=dict)

    @classmethod
    def read(cls, text: str) -> NoiseStore:
        """Read a store from its text; an empty text is an empty store.

        Raises:
            UsageError: The text is no noise store.
        """
        if not text.strip():
            return cls()
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            msg = f"the noise store is not JSON: {error}"
            raise UsageError(msg) from error
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            msg = f"the noise store does not say that it is one: no format {FORMAT}"
            raise UsageError(msg)
        kept = document.get("configurations")
        if not isinstance(kept, dict):
            msg = "the noise store has no object `configurations`"
            raise UsageError(msg)
        latest = [*kept.items()][-MOST_CONFIGURATIONS:]
        return cls({key: _repeats(rows) for key, rows in latest})

    def text(self) -> str:
        """The store as JSON; the same store has the same text."""
        kept = ",\n".join(
            f"  {json.dumps(key)}: [\n{_rows(repeats)}\n  ]"
            for key, repeats in self.repeats.items()
        )
        inner = f"{{\n{kept}\n }}" if kept else "{}"
        return f'{{\n "format": {json.dumps(FORMAT)},\n "configurations": {inner}\n}}\n'

    def add(self, run: Run) -> NoiseStore:
        """The store with one more repeat.

        A run that is there already, one without a configuration or command line, one
        that did not finish and one without an outcome change nothing.
        """
        key, known = repeats_key(run), identity(run)
        values = own_values(run)
        if not key or not values or not _finished(run):
            return self
        before = self.repeats.get(key, ())
        if any(repeat.run == known for repeat in before):
            return self
        mine = (*before, Repeat(known, seed_of(run), values, code_of(run)))[-MOST_REPEATS:]
        others = [(k, v) for k, v in self.repeats.items() if k != key]
        return NoiseStore(dict([*others, (key, mine)][-MOST_CONFIGURATIONS:]))

    def spread(self, key: str, metric: str, without: Collection[str] = ()) -> Spread | None:
        """How much repeats of a configuration differ, or None with fewer than three.

        Where several seeds are known, the runs of one seed count as one. Values far
        from all others are left out: broken runs are no repeats.

        Args:
            key: Of the configuration.
            metric: Name of the outcome.
            without: Identities of runs to leave out: those that are to be judged.
        """
        known = self.repeats.get(key, ()) if key else ()
        rows = [r for r in known if metric in r.values and r.run not in without]
        seeds = {r.seed for r in rows}
        by_code: dict[str, list[Repeat]] = {}
        for row in rows:
            by_code.setdefault(row.code, []).append(row)
        several = "" not in seeds and len(seeds) > 1
        groups = [_values(own, metric, several=several) for own in by_code.values()]
        return spread_of_repeats(groups, of_one_seed=len(seeds) == 1 and "" not in seeds)


def _rows(repeats: Sequence[Repeat]) -> str:
    """A line for each repeat: much faster than what the json module indents."""
    rows = (
        {"run": r.run, "seed": r.seed, "code": r.code, "values": dict(r.values)} for r in repeats
    )
    return ",\n".join(f"   {json.dumps(row)}" for row in rows)


def _values(rows: Sequence[Repeat], metric: str, *, several: bool) -> list[float]:
    """One value a run, or one a seed where several are known."""
    if not several:
        return [r.values[metric] for r in rows]
    seeds = dict.fromkeys(r.seed for r in rows)
    return [_mean(r.values[metric] for r in rows if r.seed == s) for s in seeds]


def _mean(values: Any) -> float:
    known = list(values)
    return math.fsum(known) / len(known)


def _finished(run: Run) -> bool:
    return bool(run.timelines) and all(
        line.attempts and line.attempts[-1].finished for line in run.timelines
    )


def _repeats(rows: Any) -> tuple[Repeat, ...]:
    """The repeats that can be read; what is odd is left out."""
    found = []
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict) or not isinstance(row.get("run"), str):
            continue
        given = row.get("values")
        values = {
            name: float(value)
            for name, value in (given.items() if isinstance(given, dict) else ())
            if isinstance(value, int | float)
            and not isinstance(value, bool)
            and abs(value) < math.inf
        }
        found.append(
            Repeat(row["run"], str(row.get("seed") or ""), values, str(row.get("code") or ""))
        )
    return tuple(found[-MOST_REPEATS:])


def spread_of(
    store: NoiseStore | None, first: Sequence[Run], second: Sequence[Run], metric: str
) -> Spread | None:
    """The spread of the first configuration of a comparison that has enough repeats.

    Args:
        store: The store, or None.
        first: Runs of the first arm, whose configurations come first.
        second: Runs of the second arm, which are judged and so no repeats.
        metric: Name of the outcome.
    """
    if store is None or not store.repeats:
        return None
    judged = frozenset(map(identity, second))
    for key in dict.fromkeys(map(repeats_key, (*first, *second))):
        found = store.spread(key, metric, judged)
        if found is not None:
            return found
    return None

"""Loaders that came when the rest of what PyTorch was set to had been written, as facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from pytscope.diffing.facts import flat
from pytscope.model.comparison import ABSENT
from pytscope.model.jsonable import jsonable
from pytscope.runs.run import Run, Timeline

OWN = frozenset(("kind", "t", "last"))
Settings = Mapping[str, Any]


@attrs.frozen
class _Loader:
    """What a loader was made with, and what of that the one most like it before had not."""

    settings: Settings
    news: frozenset[str]


def late_loader_facts(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """What is new about each run's late loaders, up to the step that all have reached.

    They are numbered on, and told are the settings that the one most like it before them had
    not. Nothing is told of runs whose last attempts begin at different steps, which have met
    other loaders before, nor of such that different versions recorded.

    Args:
        runs: The runs; of each, the lowest rank counts, as for other facts.
    """
    nothing: list[dict[str, Any]] = [{} for _ in runs]
    timelines = [run.timelines[0] for run in runs if run.timelines and run.timelines[0].attempts]
    known = [loaders for run in runs if (loaders := _told_at_first(run)) is not None]
    begins = {timeline.attempts[-1].first_step for timeline in timelines}
    alike = len(begins) == len({_recorder(run) for run in runs}) == 1
    if not len(timelines) == len(known) == len(runs) or not alike:
        return nothing
    late = [list(_late(timeline)) for timeline in timelines]
    reached = min(_reached(*pair) for pair in zip(timelines, late, strict=True))
    told = [
        dict(_told([one for one in its if one["after_steps"] <= reached], before))
        for its, before in zip(late, known, strict=True)
    ]
    return [
        {
            f"torch.loaders[{number}]{key}": loader.settings[key]
            for number, loader in own.items()
            for key in loader.settings
            if any(number in one and key in one[number].news for one in told)
        }
        for own in told
    ]


def _told_at_first(run: Run) -> list[Settings] | None:
    """Loaders that the rest tells of; None where nothing was told."""
    torch = run.environment.get("torch")
    loaders = jsonable(torch.get("loaders")) if isinstance(torch, Mapping) else None
    if not isinstance(loaders, list):
        return None
    return [one if isinstance(one, Mapping) else {} for one in loaders]


def _recorder(run: Run) -> str:
    packages = run.environment.get("packages")
    return str(packages.get("pytscope-torch")) if isinstance(packages, Mapping) else ""


def _late(timeline: Timeline) -> Iterator[Settings]:
    for event in timeline.attempts[-1].events:
        if event.get("kind") == "loader" and isinstance(event.get("after_steps"), int):
            yield event


def _reached(timeline: Timeline, late: Sequence[Settings]) -> int:
    """Steps of the last attempt up to which all loaders that came are known."""
    attempt = timeline.attempts[-1]
    steps = timeline.step[timeline.attempt == attempt.number]
    made = int(steps[-1]) + 1 - attempt.first_step if len(steps) else 0
    ends: list[int] = [one["after_steps"] for one in late if one.get("last")]
    # One that comes after the very last step is of what follows training.
    return min((made - 1, *ends))


def _told(late: Sequence[Settings], known: Sequence[Settings]) -> Iterator[tuple[int, _Loader]]:
    """Every late loader by its number."""
    before = [dict(flat(dict(one), "")) for one in known]
    for event in late:
        plain = {key: value for key, value in jsonable(dict(event)).items() if key not in OWN}
        whole = dict(flat(plain, ""))
        news = min((_news(whole, one) for one in before), key=len, default=frozenset(whole))
        yield len(before), _Loader(whole, news)
        before.append(whole)


def _news(told: Settings, before: Settings) -> frozenset[str]:
    return frozenset(key for key, value in told.items() if before.get(key, ABSENT) != value)

"""Which recorded facts are not the same in all runs, the likeliest to change numbers first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from pytscope.diffing.batches import fingerprint_facts
from pytscope.diffing.facts import INITIAL_WEIGHTS, at_start, facts, same, sections
from pytscope.diffing.implied import AFTER, GENERATORS, START, implied
from pytscope.diffing.kinds import sort_of
from pytscope.diffing.late_loaders import late_loader_facts
from pytscope.diffing.own_folder import without_own
from pytscope.diffing.ranks import telling
from pytscope.diffing.restated import REPEATS, repeats, restated
from pytscope.model.comparison import ABSENT, NOT_GIVEN, Difference, Kind, Likelihood
from pytscope.runs.run import Run

Told = Sequence[Mapping[str, Any]]
"""Facts of each run."""

NOT_EVERY = "Not every run records it, so it cannot be compared."
"""Why a part of provenance counts that some runs have not: it may differ, or not."""
_KINDS = {kind: place for place, kind in enumerate(Kind)}
_LIKELIHOODS = {likelihood: place for place, likelihood in enumerate(Likelihood)}
_CUDA_ALONE = re.compile(
    r"torch\.precision\.(tf32|bf16|fp32_matmul)|(torch\.)?(determinism\.)?cudnn|torch\.(cuda|hip)$|"
    r"env\.(CUDA|CUBLAS|NCCL|NVIDIA|PYTORCH_CUDA|HIP|ROCR)|packages\.(nvidia-|triton$)",
)
"""Facts that touch nothing on a CPU."""


def differences(runs: Sequence[Run], arms: Sequence[int]) -> tuple[Difference, ...]:
    """Compare everything recorded of runs that is not measured.

    What says nothing about numbers, such as a process's id, is left out. A part
    of provenance that a run does not have at all is one difference.

    Args:
        runs: The runs.
        arms: The arm of each, 0 or 1.

    Returns:
        The differences: by likelihood, then by kind, then by name.
    """
    told = [facts(run) for run in runs]
    bare = [not run.environment for run in runs]
    if any(bare) and not all(bare):
        told = [{k: v for k, v in own.items() if k.startswith("config.")} for own in told]
    if len({_begin(run) for run in runs}) > 1:
        told = [{k: v for k, v in own.items() if not at_start(k)} for own in told]
    for own, *more in zip(told, fingerprint_facts(runs), late_loader_facts(runs), strict=True):
        for one in more:
            own.update(one)
    missing = _missing_sections(told)
    if any(bare) and not all(bare):
        missing["environment"] = [not one for one in bare]
    found = [_missing(name, has, arms) for name, has in missing.items()]
    for name in dict.fromkeys(key for own in told for key in own):
        top = _top(name)
        values = [_value(own, name) for own in told]
        if top not in missing and _differ(values) and _differ(without_own(name, values, runs)):
            found.append(_difference(name, values, arms))
    found += _on_ranks(runs, arms, {one.key: one for one in found})
    kept = [_adjusted(one, told, found) for one in found if not implied(one.key, found)]
    return tuple(sorted(kept, key=_rank))


def _value(own: Mapping[str, Any], name: str) -> Any:
    """The value of a fact, or that there is none: of an option, that it was not given."""
    given = name.startswith("argv.") and "argv.script" in own
    return own.get(name, NOT_GIVEN if given else ABSENT)


def _differ(values: Sequence[Any]) -> bool:
    return not all(same(values[0], value) for value in values[1:])


def _top(name: str) -> str:
    """The part of provenance that a fact is of."""
    return name.partition(".")[0].partition("[")[0]


def _on_ranks(
    runs: Sequence[Run], arms: Sequence[int], known: Mapping[str, Difference]
) -> list[Difference]:
    """What differs on other ranks alone and may change numbers, named with the rank."""
    found = []
    for name, rank, values in telling(runs, known):
        one = _difference(name, values, arms)
        if one.likelihood is not Likelihood.HARDLY:
            found.append(attrs.evolve(one, key=f"{name} on rank {rank}"))
    return found


def _begin(run: Run) -> int:
    attempts = run.timelines[0].attempts if run.timelines else ()
    return attempts[0].first_step if attempts else 0


def _rank(difference: Difference) -> tuple[int, int, str]:
    return _LIKELIHOODS[difference.likelihood], _KINDS[difference.kind], difference.key


def _difference(name: str, values: Sequence[Any], arms: Sequence[int]) -> Difference:
    known = sort_of(name)
    why = NOT_EVERY if _top(name) == "git" and ABSENT in values else known.why
    return Difference(name, known.kind, known.likelihood, tuple(values), why, _within(values, arms))


def _within(values: Sequence[Any], arms: Sequence[int]) -> bool:
    first = dict(reversed(list(zip(arms, values, strict=True))))
    return any(not same(first[arm], value) for arm, value in zip(arms, values, strict=True))


def _missing_sections(told: Told) -> dict[str, list[bool]]:
    """Parts that some runs do not have, and which have them.

    A configuration is the user's: without one it is empty, and its settings differ.
    """
    known = [sections(own) for own in told]
    every = frozenset().union(*known) - {"config", "env"}
    return {top: [top in own for own in known] for top in sorted(every) if not _all(top, known)}


def _all(top: str, known: Sequence[frozenset[str]]) -> bool:
    return all(top in own for own in known)


def _missing(top: str, has: Sequence[bool], arms: Sequence[int]) -> Difference:
    kinds = {"packages": Kind.PACKAGES, "git": Kind.CODE}
    values = tuple("recorded" if there else ABSENT for there in has)
    kind = kinds.get(top, Kind.ENVIRONMENT)
    return Difference(top, kind, Likelihood.PERHAPS, values, NOT_EVERY, _within(values, arms))


def _adjusted(one: Difference, told: Told, found: Sequence[Difference]) -> Difference:
    """A difference of something that these runs did not use hardly changes anything."""
    if one.likelihood is Likelihood.HARDLY:
        return one
    if (said := restated(one, found)) is not None:
        named = one.key != "argv.words"  # what an option is called tells what it does
        likelihood = one.likelihood if named else Likelihood.HARDLY
        return attrs.evolve(one, likelihood=likelihood, why=f"{REPEATS}{said}.")
    if one.key == INITIAL_WEIGHTS and _types_differ(found):
        why = "Element types differ, so the hash does not tell whether the values do."
        return attrs.evolve(one, likelihood=Likelihood.PERHAPS, why=why)
    if one.key == "torch.weights.hash" and _alike(told, INITIAL_WEIGHTS):
        why = "The initial weights are the same, so it follows from something else."
        return attrs.evolve(one, likelihood=Likelihood.HARDLY, why=why)
    on_cpu = all(own.get("torch.devices") == "none" for own in told)
    if on_cpu and _CUDA_ALONE.match(one.key):
        why = "No run used an accelerator."
        return attrs.evolve(one, likelihood=Likelihood.HARDLY, why=why)
    for generator in GENERATORS[:2]:
        names = (f"seeds.{generator}", f"{START}.{generator}", f"{AFTER}.{generator}")
        if one.key in names and all(_unused(own, generator) for own in told):
            why = "Nothing drew from this generator in the first step."
            return attrs.evolve(one, likelihood=Likelihood.HARDLY, why=why)
    return one


def _alike(told: Told, name: str) -> bool:
    first = told[0].get(name)
    return first is not None and all(own.get(name) == first for own in told)


def _types_differ(found: Sequence[Difference]) -> bool:
    return any(one.key == "torch.model.dtypes" for one in found)


def _unused(own: Mapping[str, Any], generator: str) -> bool:
    start, after = own.get(f"{START}.{generator}"), own.get(f"{AFTER}.{generator}")
    return start is not None and start == after


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Facts that changed from one start of a run to the next and may change numbers.

    A part of provenance that one of them did not live to record has not changed.

    Args:
        before: Facts of the start before.
        after: Facts of the next one.
    """
    tops = {"config", "env"} | ({*map(_top, before)} & {*map(_top, after)})
    names = (n for n in {**before, **after} if not at_start(n) and _top(n) in tops)
    known = ((name, _value(before, name), _value(after, name)) for name in names)
    found = [_difference(n, (a, b), (0, 1)) for n, a, b in known if not same(a, b)]
    kept = [_adjusted(one, (before, after), found) for one in found if not implied(one.key, found)]
    told = (one for one in kept if one.why != NOT_EVERY and not repeats(one))
    return [one for one in sorted(told, key=_rank) if one.likelihood is not Likelihood.HARDLY]

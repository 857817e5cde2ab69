"""What to change about a loader, by what the run recorded of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from pytscope.runs.run import Run, Timeline

START_WITH = 4
"""Workers to begin with where there are none, if there are CPUs for them."""
TORCH_PREFETCH = 2
CHEAPER = (
    "make each batch cheaper: decode and resize once and store the result, augment on the device "
    "or in whole batches, read larger files from a faster disk"
)


@attrs.frozen
class Loader:
    """What a rank recorded of its loader and of where it runs; None where it did not.

    Attributes:
        workers: Worker processes.
        persistent: Whether they are kept over epochs.
        pinned: Whether batches are put into pinned memory.
        prefetch: Batches that each worker makes ahead.
        cpus: CPUs for each rank of the machine.
        accelerator: Whether it trains on one.
        loaders: Number of loaders that were recorded.
    """

    workers: int | None = None
    persistent: bool | None = None
    pinned: bool | None = None
    prefetch: int | None = None
    cpus: int | None = None
    accelerator: bool | None = None
    loaders: int = 0

    @property
    def restarts(self) -> bool:
        """Whether workers are known to start anew with every epoch."""
        return bool(self.workers) and self.persistent is False


def recorded_loader(run: Run, timeline: Timeline, accelerator: str | None) -> Loader:
    """Read what a rank recorded.

    Args:
        run: The run.
        timeline: The rank.
        accelerator: Kind of the device as instrumentation saw it; empty without one.
    """
    environment = timeline.metadata.get("environment") or run.environment
    torch = _mapping(environment.get("torch"))
    found = torch.get("loaders")
    loaders = [one for one in _list(found) if isinstance(one, Mapping)]
    first = loaders[0] if loaders else {}
    devices = torch.get("devices")
    known = None if accelerator is None else bool(accelerator)
    return Loader(
        workers=_number(first.get("num_workers")),
        persistent=_switch(first.get("persistent_workers")),
        pinned=_switch(first.get("pin_memory")),
        prefetch=_number(first.get("prefetch_factor")),
        cpus=_cpus(environment, _ranks_beside(run, environment)),
        accelerator=bool(devices) if known is None and isinstance(devices, list | tuple) else known,
        loaders=len(loaders),
    )


def _ranks_beside(run: Run, environment: Mapping[str, Any]) -> int:
    """Ranks that recorded the same host, this one included; 1 where it is not known."""
    host = environment.get("host")
    if not host or not isinstance(host, str):
        return 1
    others = (one.metadata.get("environment") or run.environment for one in run.timelines)
    return sum(_mapping(other).get("host") == host for other in others)


def _cpus(environment: Mapping[str, Any], ranks: int) -> int | None:
    cpus = _number(environment.get("cpus"))
    if not cpus:
        return None
    text = str(_mapping(environment.get("env")).get("LOCAL_WORLD_SIZE", ""))
    share = int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 1  # noqa: PLR2004  # no machine has a million ranks
    return max(1, cpus // max(share, ranks, 1))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _number(value: Any) -> int | None:
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if fits else None


def _switch(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def fix(loader: Loader, *, anew: bool, bursts: bool = False) -> str:
    """What to change, the cause that the record confirms first.

    Args:
        loader: What was recorded.
        anew: Whether the waiting comes as it does when workers start anew.
        bursts: Whether single batches are late.
    """
    if loader.workers is None:
        return _general(loader, anew=anew)
    said = list(_sentences(loader, anew=anew, bursts=bursts))
    if loader.loaders > 1:
        said.append(f"(Of {loader.loaders} recorded loaders, this is about the first.)")
    return " ".join(said)


def _sentences(loader: Loader, *, anew: bool, bursts: bool) -> Iterator[str]:
    if anew and loader.restarts:
        yield (
            "persistent_workers=True first: the run recorded it as False, so workers start anew "
            "with every epoch."
        )
    yield _workers(loader)
    if bursts and loader.workers:
        ahead = 2 * (loader.prefetch or TORCH_PREFETCH)
        yield f"prefetch_factor={ahead} rides over slow batches; look for samples of unusual size."
    if loader.accelerator and loader.pinned is False:
        yield "pin_memory=True, with non_blocking=True in the copy."


def _workers(loader: Loader) -> str:
    now, cpus = loader.workers or 0, loader.cpus
    limit = "for as long as cores are free" if cpus is None else f"up to the {_cpus_named(cpus)}"
    if not now:
        first = min(START_WITH, cpus or START_WITH)
        return (
            f"The run recorded num_workers=0, so the training thread makes the batches: "
            f"num_workers={first}, persistent_workers=True, then more while the wait shrinks, "
            f"{limit}."
        )
    if cpus is not None and now >= cpus:
        return f"There are {now} workers for {_cpus_named(cpus)}, so {CHEAPER}."
    if cpus is None:
        return f"More than the {now} recorded workers, {limit}; then {CHEAPER}."
    return (
        f"num_workers={min(2 * now, cpus)} instead of the recorded {now}, {limit}; then {CHEAPER}."
    )


def _cpus_named(cpus: int) -> str:
    return "1 CPU of a rank" if cpus == 1 else f"{cpus} CPUs of a rank"


def _general(loader: Loader, *, anew: bool) -> str:
    kept, more = "persistent_workers=True", "more num_workers"
    cores = "as cores are free" if loader.cpus is None else f"up to the {_cpus_named(loader.cpus)}"
    pinned = {True: ", pin_memory=True", None: ", on a GPU pin_memory=True"}.get(
        loader.accelerator, ""
    )
    lead = (
        f"keep the workers over epochs ({kept}); else {more}, {cores}"
        if anew
        else f"{more}, {cores}, with {kept}"
    )
    return (
        f"In general, for the run did not record its loader: {lead}; a larger prefetch_factor"
        f"{pinned}; then {CHEAPER}. AutoProfiler records the loader, and advice is specific then."
    )

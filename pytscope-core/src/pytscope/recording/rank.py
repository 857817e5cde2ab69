"""Which rank this process is, from what launchers leave in the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol


class ProcessGroup(Protocol):
    """What knows an initialised process group: the adapter of pytscope-torch."""

    def process_group(self) -> tuple[int, int] | None:
        """Rank and world size of the default group, or None without one."""


class RankInfo(NamedTuple):
    """A process's place among its launcher's processes.

    Attributes:
        rank: Global rank; 0 for a process on its own.
        world: Number of ranks, or None when nothing told.
        local_rank: Rank on this host, or None.
        job: The launcher's name of the job, or None.
        restart: How often the launcher has restarted the job, or None.
        source: What told the rank: `process group`, a variable, or `alone`.
    """

    rank: int
    world: int | None
    local_rank: int | None
    job: str | None
    restart: int | None
    source: str


_RANKS = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    ("PMIX_RANK", "PMIX_SIZE", "PMIX_LOCAL_RANK"),
)
_JOBS = ("TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID")


def detect_rank(environ: Mapping[str, str], adapter: object | None = None) -> RankInfo:
    """Find this process's rank.

    An initialised process group is believed first, then the variables of
    torchrun, Slurm, Open MPI, PMI and PMIx, in this order. A Slurm job of one
    task says nothing, since its batch script carries the variables too.
    Variables that are no such numbers are passed over.

    Args:
        environ: The environment.
        adapter: The adapter of pytscope-torch, or None.
    """
    job = next((environ[name] for name in _JOBS if environ.get(name)), None)
    restart = _count(environ, "TORCHELASTIC_RESTART_COUNT")
    if restart is None:
        restart = _count(environ, "SLURM_RESTART_COUNT")
    group = adapter.process_group() if hasattr(adapter, "process_group") else None
    if group is not None:
        local = _count(environ, "LOCAL_RANK")
        return RankInfo(group[0], group[1], local, job, restart, "process group")
    for name, size, local_name in _RANKS:
        rank, world = _count(environ, name), _count(environ, size)
        if rank is None or (name == "SLURM_PROCID" and (world or 1) < 2):  # noqa: PLR2004  # alone
            continue
        known = world if world is not None and rank < world else None
        return RankInfo(rank, known, _count(environ, local_name), job, restart, name)
    return RankInfo(0, None, None, job, restart, "alone")


def _count(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name, "").strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None  # noqa: PLR2004  # ranks are small

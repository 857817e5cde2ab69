"""Launchers' variables, and who is believed."""

from __future__ import annotations

import pytest

from pytscope.recording.rank import RankInfo, detect_rank


class Group:
    """An adapter with an initialised process group, or without one."""

    def __init__(self, group: tuple[int, int] | None) -> None:
        self.group = group

    def process_group(self) -> tuple[int, int] | None:
        return self.group


ALONE = RankInfo(0, None, None, None, None, "alone")


def test_a_process_on_its_own() -> None:
    assert detect_rank({}) == ALONE


def test_torchrun() -> None:
    environ = {
        "RANK": "5",
        "WORLD_SIZE": "8",
        "LOCAL_RANK": "1",
        "TORCHELASTIC_RUN_ID": "job-7",
        "TORCHELASTIC_RESTART_COUNT": "2",
    }
    assert detect_rank(environ) == RankInfo(5, 8, 1, "job-7", 2, "RANK")


@pytest.mark.parametrize(
    ("environ", "rank", "world", "source"),
    [
        ({"SLURM_PROCID": "3", "SLURM_NTASKS": "4", "SLURM_LOCALID": "1"}, 3, 4, "SLURM_PROCID"),
        (
            {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"},
            1,
            2,
            "OMPI_COMM_WORLD_RANK",
        ),
        ({"PMI_RANK": "1", "PMI_SIZE": "2"}, 1, 2, "PMI_RANK"),
        ({"PMIX_RANK": "6"}, 6, None, "PMIX_RANK"),
    ],
)
def test_other_launchers(
    environ: dict[str, str], rank: int, world: int | None, source: str
) -> None:
    found = detect_rank(environ)
    assert (found.rank, found.world, found.source) == (rank, world, source)


def test_the_first_of_several_launchers_is_believed() -> None:
    environ = {"RANK": "1", "WORLD_SIZE": "2", "SLURM_PROCID": "0", "SLURM_NTASKS": "4"}
    assert detect_rank(environ).source == "RANK"


def test_a_process_group_is_believed_first() -> None:
    found = detect_rank({"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}, Group((3, 4)))
    assert found == RankInfo(3, 4, 1, None, None, "process group")


def test_an_adapter_without_a_group_says_nothing() -> None:
    assert detect_rank({"RANK": "1", "WORLD_SIZE": "2"}, Group(None)).source == "RANK"
    assert detect_rank({}, object()) == ALONE


def test_the_batch_script_of_a_slurm_job_of_one_task_is_alone() -> None:
    environ = {"SLURM_PROCID": "0", "SLURM_NTASKS": "1", "SLURM_JOB_ID": "9"}
    assert detect_rank(environ) == ALONE._replace(job="9")


@pytest.mark.parametrize("text", ["", "one", "-1", "1.5", "0x1", "²", "9" * 30])
def test_garbage_is_passed_over(text: str) -> None:
    assert detect_rank({"RANK": text}) == ALONE
    found = detect_rank({"RANK": text, "PMI_RANK": "1", "PMI_SIZE": "2"})
    assert found.source == "PMI_RANK"


@pytest.mark.parametrize("world", ["2", "0", "many"])
def test_a_world_that_cannot_hold_the_rank_is_unknown(world: str) -> None:
    found = detect_rank({"RANK": "2", "WORLD_SIZE": world})
    assert (found.rank, found.world) == (2, None)


def test_slurm_counts_restarts_too() -> None:
    environ = {"SLURM_JOB_ID": "9", "SLURM_RESTART_COUNT": "1"}
    assert detect_rank(environ) == ALONE._replace(job="9", restart=1)

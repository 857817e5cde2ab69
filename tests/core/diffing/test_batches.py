"""Fingerprints of what runs were fed, as one fact of each."""

from __future__ import annotations

import pytest

from pytscope.diffing.batches import FACT, fingerprint_facts
from pytscope.runs.run import Run
from tests.core.diffing.parting import BATCHES, LOSS, changed, made

ONCE = [(0, 24)]
RESUMED = [(0, 12), (12, 12)]


def fed(batches: list[int], attempts: list[tuple[int, int]] = RESUMED) -> Run:
    return made(batches=batches, attempts=attempts)


def facts(*runs: Run) -> list[str]:
    return [one[FACT] for one in fingerprint_facts(runs)]


def test_a_resumed_step_counts_where_it_is_that_of_the_other_run() -> None:
    first, second = facts(fed(BATCHES, ONCE), fed(BATCHES))
    assert first == second
    assert first.endswith(" of 24 steps")


def test_one_whose_batches_cover_what_was_skipped_does_not() -> None:
    skipped = [other + (step == 12) for step, other in enumerate(BATCHES)]
    first, second = facts(fed(BATCHES, ONCE), fed(skipped))
    assert first == second
    assert first.endswith(" of 23 steps")


@pytest.mark.parametrize("since", [0, 12])
def test_one_that_other_batches_follow_does(since: int) -> None:
    first, second = facts(fed(BATCHES, ONCE), fed(changed(BATCHES, since)))
    assert first != second
    assert first.endswith(" of 24 steps")


def test_nothing_is_said_of_a_last_step_alone() -> None:
    skipped = [other + (step == 12) for step, other in enumerate(BATCHES[:13])]
    late = made(loss=LOSS[:13], rate=None, batches=skipped, attempts=[(0, 12), (12, 1)])
    first, second = facts(fed(BATCHES, ONCE), late)
    assert first == second
    assert first.endswith(" of 12 steps")

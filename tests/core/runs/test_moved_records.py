"""Records doubled, out of order, or of two processes in one file: told apart, or counted."""

import random

import attrs
import pytest

from pytscope.runs.run import Run
from tests.core.runs.diagnosing import diagnose
from tests.core.runs.pts_bytes import EPOCH_NS, attempt, mixed_steps, plain_steps
from tests.core.runs.reading import assert_same, read, write

STEPS = mixed_steps(30)
RECORDS = attempt(STEPS, block=3)
HEAD, BLOCKS, END = RECORDS[:3], RECORDS[3:-1], RECORDS[-1]
OTHERS = [
    attrs.evolve(step, segments=(("forward", 7_000_001 + i),))
    for i, step in enumerate(plain_steps(30))
]
OTHER_RECORDS = attempt(OTHERS, block=4, startup=(("other", 2222),), epoch_ns=EPOCH_NS + 5_000_000)


@pytest.mark.parametrize("seed", range(40))
def test_a_block_written_twice_counts_once(tmp_path, seed):
    chance = random.Random(seed)
    records = [*HEAD, *BLOCKS]
    doubled = [chance.choice(BLOCKS) for _ in range(chance.randint(1, 4))]
    for block in doubled:
        records.insert(chance.randint(3, len(records)), block)
    run, report = diagnose(write(tmp_path, [*records, END]))
    timeline = run.timelines[0]
    assert_same(timeline, STEPS)
    first = timeline.attempts[0]
    assert (first.lost_ns, first.lost_steps) == (0, 0)
    assert first.damaged_bytes == sum(map(len, doubled))
    many = "1 block" if len(doubled) == 1 else f"{len(doubled)} blocks"
    assert any(note.message.startswith(f"{many} of steps") for note in run.notes)
    assert report.analyses["coverage"].damaged_bytes == first.damaged_bytes


@pytest.mark.parametrize("seed", range(40))
def test_blocks_in_any_order_read_as_written(tmp_path, seed):
    blocks = random.Random(seed).sample(BLOCKS, len(BLOCKS))
    timeline = read(tmp_path, [*HEAD, *blocks, END]).timelines[0]
    assert_same(timeline, STEPS)
    first = timeline.attempts[0]
    assert (first.lost_ns, first.lost_steps, first.damaged_bytes) == (0, 0, 0)


def test_a_block_that_overlaps_others_is_left_out(tmp_path):
    shifted = attempt(STEPS, block=5)[4]
    run = read(tmp_path, [*HEAD, *BLOCKS[:3], shifted, *BLOCKS[3:], END])
    assert_same(run.timelines[0], STEPS)
    assert run.timelines[0].attempts[0].damaged_bytes == len(shifted)


def test_a_file_appended_to_itself_is_a_second_run(tmp_path):
    run = read(tmp_path, RECORDS * 2)
    assert run.other_attempts == (0,)
    assert_same(run.timelines[0], STEPS)


def interleaved(seed: int) -> list[bytes]:
    """Two processes' records, each in its own order, the first one's first line first."""
    chance = random.Random(seed)
    mine, theirs = list(RECORDS), list(OTHER_RECORDS)
    records = [mine.pop(0)]
    while mine or theirs:
        source = mine if mine and (not theirs or chance.random() < 0.5) else theirs
        records.append(source.pop(0))
    return records


def assert_one_process(run: Run) -> None:
    """Every step is of the same one of the two processes."""
    timeline = run.timelines[0]
    ours = timeline.segments(0) == STEPS[0].segments
    assert_same(timeline, STEPS if ours else OTHERS)
    first = timeline.attempts[0]
    assert (first.finished, first.lost_ns, first.lost_steps) == (True, 0, 0)


@pytest.mark.parametrize("seed", range(60))
def test_two_processes_in_one_file_are_told_apart(tmp_path, seed):
    records = interleaved(seed)
    first, second = (read(tmp_path, records, attempt=number) for number in (0, 1))
    assert_one_process(first)
    assert_one_process(second)
    both = {run.timelines[0].segments(0) for run in (first, second)}
    assert both == {STEPS[0].segments, OTHERS[0].segments}
    moved = [note for note in first.notes if note.kind == "second_file"]
    assert len(moved) == 1
    assert "two processes wrote" in moved[0].message


def test_a_killed_run_and_its_restart_are_not_taken_for_two_at_once(tmp_path):
    restart = attempt(STEPS[15:], block=3, step=15, epoch_ns=EPOCH_NS + 10**15)
    run = read(tmp_path, [*HEAD, *BLOCKS[:5], *restart])
    assert [note for note in run.notes if note.kind == "second_file"] == []
    assert run.timelines[0].step.tolist() == list(range(30))

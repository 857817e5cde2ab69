"""The same samples with other values: augmentation, or data that changed."""

from __future__ import annotations

import attrs

from pytscope.model.comparison_causes import CauseId
from pytscope.model.findings import Confidence
from pytscope.runs.run import Run
from tests.core.diffing.parting import BATCHES, LOSS, changed, environment, made, only

SURE, PERHAPS = Confidence.CONFIRMED, Confidence.SUGGESTIVE


def test_augmentation_by_a_generator_of_its_own():
    """What shows it: the same samples have other values when they come again."""
    column = {"batch_samples_fingerprint": [5 * (i % 6) for i in range(24)]}
    b = made(loss=changed(LOSS, 0), batches=changed(BATCHES, 0), scalars=column)
    assert only(made(scalars=column), b).id is CauseId.AUGMENTATION_OWN_GENERATOR


def test_without_that_the_data_may_as_well_have_changed():
    column = {"batch_integers_fingerprint": BATCHES}
    b = made(loss=changed(LOSS, 0), batches=changed(BATCHES, 0), scalars=column)
    assert only(made(scalars=column), b).id is CauseId.SAMPLE_CONTENTS


def test_samples_that_keep_their_values_are_data_that_changed_whatever_is_unseeded():
    column = {"batch_samples_fingerprint": [5 * (i % 6) for i in range(24)]}
    ours, theirs = ([start + 7 * (i % 6) for i in range(24)] for start in (1000, 5000))
    there = environment(initial_random_states={"python": "p0", "numpy": "n9", "torch": "t0"},
                        random_states={"python": "p0", "numpy": "n10", "torch": "t1"})  # fmt: skip
    a = made(batches=ours, scalars=column)
    b = made(loss=changed(LOSS, 0), batches=theirs, scalars=column, provenance=there)
    cause = only(a, b)
    assert (cause.id, cause.confidence) == (CauseId.SAMPLE_CONTENTS, SURE)
    assert "have the values that they had" in cause.detail


def test_a_few_samples_whose_contents_changed():
    some = [v + (i in (5, 13)) for i, v in enumerate(BATCHES)]
    column = {"batch_samples_fingerprint": BATCHES}
    cause = only(made(scalars=column), made(loss=changed(LOSS, 5), batches=some, scalars=column))
    assert cause.id is CauseId.SAMPLE_CONTENTS
    assert "Of the 19 batches from there on 2 differ" in cause.detail


def test_samples_whose_contents_changed():
    columns = {"batch_samples_fingerprint": BATCHES, "batch_integers_fingerprint": BATCHES}
    other = {**columns, "batch_integers_fingerprint": changed(BATCHES, 3)}
    b = made(loss=changed(LOSS, 3), batches=changed(BATCHES, 3), scalars=other)
    assert only(made(scalars=columns), b).id is CauseId.SAMPLE_CONTENTS


def of_two_ranks(second: Run) -> Run:
    """A run whose rank 0 is as any, and whose rank 1 is another run's."""
    plain = made(scalars={"batch_samples_fingerprint": BATCHES}, ranks=2)
    return attrs.evolve(plain, timelines=(plain.timelines[0], second.timelines[1]))


def test_how_many_batches_differ_is_counted_on_the_rank_where_they_do():
    columns = {"batch_samples_fingerprint": BATCHES}
    a = of_two_ranks(made(scalars=columns, ranks=2))
    every = changed(BATCHES, 0)
    b = of_two_ranks(made(loss=changed(LOSS, 0), batches=every, scalars=columns, ranks=2))
    cause = only(a, b)
    assert "on rank 1 on the batches differ" in cause.detail
    assert "0 differ" not in cause.detail
    assert "a generator of the data set's own may draw" in cause.detail


def test_samples_that_come_again_are_looked_for_on_every_rank():
    drawn = {"batch_samples_fingerprint": [5 * (i % 6) for i in range(24)]}
    a = of_two_ranks(made(scalars=drawn, ranks=2))
    b = of_two_ranks(
        made(loss=changed(LOSS, 0), batches=changed(BATCHES, 0), scalars=drawn, ranks=2)
    )
    assert only(a, b).id is CauseId.AUGMENTATION_OWN_GENERATOR

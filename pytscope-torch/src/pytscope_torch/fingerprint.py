"""64-bit fingerprints of each step's batches: were two runs fed the same?"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from pytscope.recording.harmless import tried
from pytscope.recording.keys import END, EXHAUSTED, FETCH, Open, Sample
from pytscope_torch.quietly import quietly
from pytscope_torch.seams import Undo, together
from pytscope_torch.seams.handovers import handovers
from pytscope_torch.seams.indices import Indices, draws
from pytscope_torch.stamps import BACKWARD, EVALUATE, FORWARD, Stamps
from pytscope_torch.states import HASH_BYTES, probed, raw, sampled

ELEMENTS = 64
"""Elements of a tensor that count, evenly spaced in memory."""
MOST_TENSORS = 8
DEEPEST = 4
BLOCK = Open("log")
"""Of the time that hashing a batch takes, when it has come."""
BATCH, INTEGERS, SAMPLES = (
    "batch_fingerprint",
    "batch_integers_fingerprint",
    "batch_samples_fingerprint",
)


class Fingerprints:
    """Hashes what a step's fetches brought, and gives the step the hashes.

    Of each batch up to eight tensors in host memory, of each its type, its
    shape and 64 elements. A step of several batches has one hash of all of
    them, in their order. Where some of the tensors are of integers and some are
    not, the step has a hash of those of integers, too: labels and tokens stay
    what they are under augmentation. And it has one of the numbers that the
    sampler drew, where samples have numbers.

    Batches that a pass in eval mode follows are an evaluation's, and left out; so
    are those that a loader gives, one after the other, before the first step: a
    loop that goes on where it was passes over them. Who fetches ahead of the loop
    and tells so keeps what he has until he gives it. Where a framework may fetch
    ahead and does not, what belongs to the first step of a resumed run is not known.

    Attributes:
        stamps: The recording's stamps, from its start on.
        resumed: Whether the recording goes on from a step.
    """

    def __init__(self) -> None:
        self._indices = Indices()
        self._used: list[Fetched] = []
        self._waiting: list[Fetched] = []
        self._kept: list[Fetched] | None = None
        self._ahead = False
        self._columns: dict[tuple[str, ...], Sample] = {}
        self.stamps: Stamps | None = None
        self.resumed = False

    def seam(self) -> Undo:
        """Have samplers tell which numbers they draw, and accelerate's loaders what they give."""
        return together([draws(self._indices.drawn), handovers(self)])

    def fetched(self, batch: Any, iterator: Any) -> None:
        """A fetch has brought a batch, from a loader's iterator."""
        stamps = self.stamps
        if stamps is not None:
            since = stamps.now()
            with quietly():
                tried(lambda: self._take(stamps, batch, iterator), lambda _: None)
            stamps.block(BLOCK, since)

    def _take(self, stamps: Stamps, batch: Any, iterator: Any) -> None:
        drawn = probed(lambda: self._indices.taken(iterator))
        one = fetched(batch, id(iterator), drawn)
        if self._kept is not None:
            self._kept.append(one)
            return
        self._settle(passes(stamps.events, fetches=None if stamps.told else 1))
        self._add(stamps, (one,))
        self._ahead = stamps.told and self.resumed and not stamps.steps

    def _add(self, stamps: Stamps, given: Sequence[Fetched]) -> None:
        if not stamps.steps and not stamps.told:
            for one in given:
                self._forget(one.source)
        self._waiting += given

    def ahead(self, kept: list[Fetched]) -> Callable[[], None] | None:
        """Somebody fetches what the loop may get later.

        Args:
            kept: Takes what comes until the returned function is called.

        Returns:
            None where nothing is recorded, or where all is one phase as a whole.
        """
        stamps = self.stamps
        if stamps is None or not stamps.here() or stamps.inside:
            return None
        self._settle(passes(stamps.events, fetches=None if stamps.told else 0))
        before, self._kept = self._kept, kept

        def over() -> None:
            self._kept = before

        return over

    def give(self, batches: Sequence[Fetched]) -> None:
        """The loop gets what was fetched, for the step that goes on or begins."""
        stamps = self.stamps
        if stamps is None or not stamps.here() or stamps.inside:
            return
        if self._kept is not None:  # by who fetches ahead himself
            self._kept += batches
            return
        self._add(stamps, batches)
        self._ahead = False

    def give_itself(self, batch: Any, source: int) -> None:
        """The loop gets a batch that is none of those fetched.

        Args:
            batch: The batch.
            source: Which iterator it is from.
        """
        stamps = self.stamps
        if stamps is not None and stamps.here() and not stamps.inside:
            since = stamps.now()
            with quietly():
                self.give([fetched(batch, source, None)])
            stamps.block(BLOCK, since)

    def _settle(self, seen: Sequence[object]) -> None:
        """What became of the batches that were waiting, by the passes since, in their order."""
        if self._waiting and seen and seen[0] is EVALUATE:
            self._forget(self._waiting[-1].source)
        if FORWARD in seen or BACKWARD in seen:
            self._used += self._waiting
            self._waiting = []

    def _forget(self, source: int) -> None:
        """Leave out what an iterator gave and no training pass has used."""
        self._waiting = [one for one in self._waiting if one.source != source]

    def __call__(self, values: list[Any]) -> None:
        """Add the step's fingerprints to its values."""
        if not (self._waiting or self._used) or self.stamps is None:
            return
        self._settle(passes(self.stamps.events, fetches=0))
        fed = [*self._used, *self._waiting]
        self._used, self._waiting = [], []
        told = {} if self._ahead and len(fed) > 1 else self._told(fed)
        self._ahead = False
        if told:
            names = tuple(told)
            column = self._columns.setdefault(names, Sample("i", names))
            values += (column, tuple(told.values()))

    def _told(self, fed: Sequence[Fetched]) -> dict[str, int]:
        """Signed 64-bit integers by name."""
        floats = any(one.floats for one in fed)
        found = {
            BATCH: [one.batch for one in fed],
            INTEGERS: [one.integers for one in fed] if floats else [],
            SAMPLES: [] if any(one.samples is None for one in fed) else [o.samples for o in fed],
        }
        known = {name: [*filter(None, hashes)] for name, hashes in found.items()}
        return {name: joined(hashes) for name, hashes in known.items() if hashes}


class Fetched(NamedTuple):
    """What a fetch brought.

    Attributes:
        source: Which iterator it was from.
        batch: Hash of all its tensors that count, or None.
        integers: Hash of those of integers, or None.
        floats: Whether there are others.
        samples: Hash of its samples' numbers, or None.
    """

    source: int
    batch: bytes | None
    integers: bytes | None
    floats: bool
    samples: bytes | None


def fetched(batch: Any, source: int, drawn: bytes | None) -> Fetched:
    """The hashes of a batch.

    Args:
        batch: As the loader gave it.
        source: Which iterator it was from.
        drawn: The numbers of its samples, or None.
    """
    every, integers, floats = [], [], False
    for _, tensor in zip(range(MOST_TENSORS), tensors(batch, DEEPEST), strict=False):
        part = probed(partial(sampled, tensor, ELEMENTS))
        if part is None:
            continue
        data = f"{tensor.dtype}{tuple(tensor.shape)}".encode() + raw(part)
        every.append(data)
        if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
            floats = True
        else:
            integers.append(data)
    known = None if drawn is None else digest((drawn,))
    return Fetched(source, digest(every), digest(integers), floats, known)


def digest(parts: Iterable[bytes]) -> bytes | None:
    """A 64-bit hash of some bytes; None of none at all."""
    data = b"".join(parts)
    return hashlib.blake2b(data, digest_size=HASH_BYTES).digest() if data else None


def joined(hashes: Sequence[bytes]) -> int:
    """Hashes of batches as that of a step: a single one is it."""
    one = hashes[0] if len(hashes) == 1 else digest(hashes) or b""
    return int.from_bytes(one, "little", signed=True)


def passes(events: Sequence[Any], fetches: int | None) -> list[object]:
    """The passes of the step that goes on since a fetch, in their order.

    Args:
        events: Keys and their stamps, in turn.
        fetches: Fetches at the end of the list to pass over; None passes over all,
            and looks for training's alone.
    """
    found: list[object] = []
    for place in range(len(events) // 2 * 2 - 2, -1, -2):
        key = events[place]
        if key is END or (fetches == 0 and (key is FETCH or key is BLOCK)):
            break
        if key is EXHAUSTED and fetches is not None:  # it gave nothing
            fetches += 1
        elif key is FETCH and fetches:
            fetches -= 1
        elif key is FORWARD or key is BACKWARD or (key is EVALUATE and fetches is not None):
            found.append(key)
    return found[::-1]


def tensors(batch: Any, depth: int) -> Iterator[torch.Tensor]:
    """The tensors in host memory of a batch, in its order."""
    if isinstance(batch, torch.Tensor):
        if batch.device.type == "cpu":
            yield batch
    elif depth and isinstance(batch, Mapping):
        for value in batch.values():
            yield from tensors(value, depth - 1)
    elif depth and isinstance(batch, (list, tuple)):
        for value in batch:
            yield from tensors(value, depth - 1)

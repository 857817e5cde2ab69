"""A 64-bit fingerprint of each step's batches: were two runs fed the same?"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from pytscope.recording.harmless import tried
from pytscope.recording.keys import Open, Sample
from pytscope_torch.provenance import HASH_BYTES, raw, sampled
from pytscope_torch.quietly import quietly
from pytscope_torch.stamps import Stamps

ELEMENTS = 64
"""Elements of a tensor that count, evenly spaced in memory."""
MOST_TENSORS = 8
DEEPEST = 4
COLUMN = Sample("i", ("batch_fingerprint",))
BLOCK = Open("log")


class Fingerprints:
    """Hashes what a step's fetches brought, and gives the step the hash.

    Of each batch up to eight tensors in host memory, of each its type, its
    shape and 64 elements. A step of several batches has one hash of all of
    them, in their order; an evaluation's are among them.
    """

    def __init__(self) -> None:
        self._digest: Any = None
        self.stamps: Stamps | None = None

    def fetched(self, batch: Any) -> None:
        """A fetch has brought a batch."""
        stamps = self.stamps
        if stamps is not None:
            since = stamps.now()
            with quietly():
                tried(lambda: self._take(batch), lambda _: None)
            stamps.block(BLOCK, since)

    def _take(self, batch: Any) -> None:
        for count, tensor in enumerate(tensors(batch, DEEPEST)):
            if count >= MOST_TENSORS:
                return
            part = sampled(tensor, ELEMENTS)
            if part is not None:
                if self._digest is None:
                    self._digest = hashlib.blake2b(digest_size=HASH_BYTES)
                self._digest.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
                self._digest.update(raw(part))

    def __call__(self, values: list[Any]) -> None:
        """Add the step's fingerprint to its values."""
        digest, self._digest = self._digest, None
        if digest is not None:
            values += (COLUMN, (int.from_bytes(digest.digest(), "little", signed=True),))


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

"""What recording takes of the training thread besides its stamps."""

from __future__ import annotations


class Spent:
    """Nanoseconds of the training thread, as they were measured.

    Attributes:
        once_ns: For the start and the end, and for what the first steps are looked at.
        samples_ns: For what is sampled or written after steps.
    """

    __slots__ = ("once_ns", "samples_ns")

    def __init__(self) -> None:
        self.once_ns = 0
        self.samples_ns = 0

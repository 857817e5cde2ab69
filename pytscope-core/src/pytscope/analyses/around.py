"""`Around`: what of a phase lies before the first step of an attempt, and after its last."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from pytscope.analyses.units import duration


@attrs.frozen(kw_only=True)
class Around:
    """A phase outside of the steps, on one rank.

    Attributes:
        before: Attempts that have it before their first step.
        before_ns: How long it was there.
        after: Attempts that have it after their last step.
        after_ns: How long it was there.
    """

    before: int = 0
    before_ns: int = 0
    after: int = 0
    after_ns: int = 0

    @property
    def number(self) -> int:
        """How often it is there; once for each attempt and side, however it is divided."""
        return self.before + self.after

    def joined(self, other: Around) -> Around:
        """Two phases as one line: their times summed, the more frequent one's attempts."""
        return Around(
            before=max(self.before, other.before),
            before_ns=self.before_ns + other.before_ns,
            after=max(self.after, other.after),
            after_ns=self.after_ns + other.after_ns,
        )

    @property
    def ns(self) -> int:
        """How long it was there in all."""
        return self.before_ns + self.after_ns

    @property
    def amounts(self) -> str:
        """How long it was there, as text: `87.7 ms after the last step`."""
        sides = ((self.before_ns, "before the first"), (self.after_ns, "after the last"))
        said = [f"{duration(ns)} {where}" for ns, where in sides if ns]
        return " and ".join(said) + " step" if said else ""

    def counted(self, between: int, steps: str = "steps") -> str:
        """How often it was between steps, before the first and after the last, as text.

        Args:
            between: Steps that hold it.
            steps: What those are called, such as `rated steps`.
        """
        return ", ".join(self._counted(between, steps))

    def _counted(self, between: int, steps: str) -> Iterator[str]:
        if between:
            yield f"{between:,} between {steps}"
        for number, where in ((self.before, "before the first"), (self.after, "after the last")):
            if number:
                yield f"{number:,} {where}" + (" of an attempt" if number > 1 else "")

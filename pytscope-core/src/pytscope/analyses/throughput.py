"""`Throughput`: how much of something a run gets through in a second."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from pytscope.analyses.few import few
from pytscope.analyses.units import count, rate


@attrs.frozen
class Throughput:
    """A logged count, such as `tokens`, over the wall of the rated steps that logged it.

    Attributes:
        per_s: Of the shown rank, a second; None when its rated steps logged none.
        steps: Rated steps of the shown rank that logged it.
        sum_per_s: The sum of every rank's own rate. Ranks that log the same
            data, as tensor-parallel ones may, are counted each.
        ranks: Number of ranks that logged it.
        by_rank: Each rank's own rate; of more than 64 ranks the least, the median
            and the greatest.
    """

    per_s: float | None
    steps: int
    sum_per_s: float
    ranks: int
    by_rank: Mapping[int, float] = attrs.field(factory=dict)

    @classmethod
    def of(cls, by_rank: Mapping[int, float], shown: int, steps: int) -> Throughput:
        """Make one of the rates of the ranks that logged it; at least one.

        Args:
            by_rank: A second, by rank.
            shown: The shown rank.
            steps: Rated steps of the shown rank that logged it.
        """
        kept = few(by_rank.items(), lambda item: (item[1], item[0]))
        total = sum(by_rank[rank] for rank in sorted(by_rank))
        return cls(by_rank.get(shown), steps, total, len(by_rank), dict(sorted(kept)))

    def notes(self, what: str, rated: int, rank: int, ranks: int) -> Iterator[str]:
        """What must be said beside the rate.

        Args:
            what: What was counted.
            rated: Rated steps of the shown rank.
            rank: The shown rank.
            ranks: Ranks of the run.
        """
        if self.per_s is not None and self.steps < rated:
            yield f"{what}/s over the {count(self.steps, 'step')} that logged it, of {rated:,}"
        if ranks > 1:
            whose = f"all {ranks:,} ranks"
            if self.ranks < ranks:
                whose = f"the {self.ranks:,} of {ranks:,} ranks that logged it"
            own = "not logged" if self.per_s is None else rate(self.per_s, what)
            yield f"{own} on rank {rank}, {rate(self.sum_per_s, what)} summed over {whose}"

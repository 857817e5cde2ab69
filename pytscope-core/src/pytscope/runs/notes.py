"""`ReadNote`: what reading met."""

from __future__ import annotations

import attrs


@attrs.frozen
class ReadNote:
    """Something about reading that the coverage must say.

    Attributes:
        kind: `damaged`, `second_file`, `clock_step`, `clock_back`, `unreadable_file`,
            `empty_file`, `foreign_file`, `missed_launch`, `newer_format`,
            `unknown_record`, `unknown_column`, `limit`, or another that a source
            brings.
        message: What was met, with its count.
        rank: Rank concerned, or None.
    """

    kind: str
    message: str
    rank: int | None = None

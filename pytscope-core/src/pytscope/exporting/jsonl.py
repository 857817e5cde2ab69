"""JSON lines: every step record in full, as `pytscope/schemas/step-1.json` describes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice

from pytscope.runs.codec import step_document
from pytscope.runs.run import Run
from pytscope.runs.step_records import BATCH


def jsonl_text(run: Run) -> Iterator[str]:
    """Step records as lines of JSON, by rank and in recording order.

    Args:
        run: The run.

    Yields:
        Some thousand lines, each with its newline; ASCII.
    """
    encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
    for timeline in run.timelines:
        documents = map(step_document, timeline.records())
        while lines := list(map(encode, islice(documents, BATCH))):
            yield "\n".join(lines) + "\n"

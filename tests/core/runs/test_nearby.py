"""Runs described for a hint: their age and length, cheaply."""

import os
import time

import pytest

from pytscope.model.errors import RunUnreadable
from pytscope.runs import nearby
from pytscope.runs.nearby import described
from pytscope.runs.source import Source
from pytscope.runs.sources.run_directory import run_directory
from tests.core.runs.pts_bytes import attempt, plain_steps
from tests.core.runs.reading import write

SOURCES = (run_directory,)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (5, "just now"),
        (130, "2 min ago"),
        (3 * 3600 + 5, "3 h ago"),
        (86_400, "1 day ago"),
        (9 * 86_400, "9 days ago"),
        (-3600, None),
    ],
)
def test_age_and_length(tmp_path, seconds, said):
    run = write(tmp_path / "run", attempt(plain_steps(1)))
    at = time.time() - seconds
    os.utime(run / "rank00000.pts", (at, at))
    about = f"{said}, 1 step" if said else "1 step"
    assert described(run, SOURCES) == f"{run} ({about})"
    assert described(run / "rank00000.pts", SOURCES) == f"{run / 'rank00000.pts'} ({about})"


def test_what_is_no_run_is_only_named(tmp_path):
    assert described(tmp_path, SOURCES) == str(tmp_path)


def test_a_large_run_is_not_opened(tmp_path, monkeypatch):
    run = write(tmp_path / "run", attempt(plain_steps(3)))
    monkeypatch.setattr(nearby, "MOST_BYTES", 10)
    assert described(run, SOURCES) == f"{run} (just now)"


def test_a_run_that_cannot_be_read_is_still_named(tmp_path):
    def fails(path, attempt=None):
        raise RunUnreadable("no")

    (tmp_path / "file").write_text("x")
    assert (
        described(tmp_path, [Source("bad", lambda path: True, fails)]) == f"{tmp_path} (just now)"
    )

from __future__ import annotations

import io
import os
import pty

import pytest

from pytscope.cli.terminal import Terminal


def stream(encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding)


@pytest.mark.parametrize(
    ("environ", "interactive", "color"),
    [
        ({}, False, False),
        ({}, True, True),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": "0"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "xterm-256color"}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"FORCE_COLOR": ""}, False, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, False, True),
    ],
)
def test_the_environment_decides_only_for_auto(environ, interactive, color):
    if interactive:
        leader, follower = pty.openpty()
        with os.fdopen(follower, "w", encoding="utf-8") as terminal:
            seen = Terminal.of(terminal, environ)
        os.close(leader)
    else:
        seen = Terminal.of(stream("utf-8"), environ)
    assert seen.color("auto") is color
    assert seen.color("always") is True
    assert seen.color("never") is False


@pytest.mark.parametrize(
    ("encoding", "unicode"),
    [("utf-8", True), ("UTF8", True), ("utf-8-sig", True), ("ascii", False), ("latin-1", False)],
)
def test_only_utf8_shows_everything(encoding, unicode):
    assert Terminal.of(stream(encoding), {}).unicode is unicode


def test_a_closed_standard_output_is_no_terminal():
    closed = Terminal.of(None, {})
    assert not closed.interactive
    assert not closed.unicode

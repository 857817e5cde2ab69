from __future__ import annotations

from pytscope.plugins.wording import LIMIT, did_you_mean, listed, one_line


def test_one_line_takes_the_first_that_says_something() -> None:
    assert one_line("\n \n first \nsecond") == "first"
    assert one_line(" \n") == ""


def test_one_line_escapes_what_moves_the_cursor() -> None:
    assert one_line("a\x1b[2Jb\u202ec") == "a\\x1b[2Jb\\u202ec"


def test_one_line_is_bounded() -> None:
    line = one_line("x" * 10_000)
    assert len(line) == LIMIT
    assert line.endswith("…")
    assert one_line("x" * LIMIT) == "x" * LIMIT


def test_did_you_mean_names_the_closest_whatever_the_case() -> None:
    assert did_you_mean("timing.jiter", ["TIMING.JITTER", "A.B"]) == (
        "; did you mean 'TIMING.JITTER'?"
    )
    assert did_you_mean("zzz", ["TIMING.JITTER"]) == ""
    assert did_you_mean("zzz", []) == ""


def test_did_you_mean_does_not_depend_on_the_order_of_what_is_known() -> None:
    known = ["aab", "aac", "aaB"]
    assert did_you_mean("aa", known) == did_you_mean("aa", reversed(known))


def test_listed() -> None:
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a"]) == "a"
    assert listed([]) == "nothing"

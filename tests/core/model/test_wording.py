from __future__ import annotations

from pytscope.model.wording import LIMIT, closest, did_you_mean, listed, one_line


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


def test_the_closest_names_come_likeliest_first_and_are_bounded() -> None:
    known = ["night-1", "night-2", "Night-1", "day"]
    assert closest("nigth-1", known, 2) == ["Night-1", "night-1"]
    assert closest("nigth-1", known, 9) == ["Night-1", "night-1", "night-2"]


def test_names_are_listed_with_commas_and_the_number_of_the_rest() -> None:
    assert listed(["a", "b", "c"]) == "a, b, c"
    assert listed(iter("abc"), 3) == "a, b, c"
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"
    assert listed(map(str, range(2000)), 1) == "0 and 1,999 more"
    assert listed([]) == "none"


def test_one_line_trusts_no_method_of_a_text() -> None:
    class Liar(str):
        __slots__ = ()

        def splitlines(self, keepends: bool = False) -> list[str]:
            raise RuntimeError

        strip = isascii = splitlines  # type: ignore[assignment]  # as hostile as can be

    assert one_line(Liar("said")) == "said"
    assert type(one_line(Liar("said"))) is str

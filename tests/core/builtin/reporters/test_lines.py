from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from pytscope.builtin.reporters.cells import cells, cut, pad, shorten
from pytscope.builtin.reporters.lines import Span, Tone, paint, paragraph

TEXTS = st.text(st.sampled_from("ab  字😀e\u0301\ufe0f❤"), max_size=80)
SPANS = st.lists(st.builds(Span, TEXTS, st.sampled_from(Tone)), max_size=5)


def wrapped(text: str, width: int, prefix: str = "", hang: int = 0) -> list[str]:
    return paint(paragraph([Span(prefix)], [Span(text)], width, hang), color=False).splitlines()


def test_words_wrap_with_a_hanging_indent():
    assert wrapped("one two three four", 10, "* ", 2) == ["* one two", "  three", "  four"]


def test_long_words_are_cut_to_the_line():
    assert wrapped("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    assert wrapped("字字字", 5) == ["字字", "字"]


def test_no_line_begins_as_a_command_where_a_long_word_is_cut():
    assert wrapped("abcdefgh::error::x", 8) == ["abcdefg", "h::erro", "r::x"]
    assert wrapped("abcdefgh::error::xyz", 10) == ["abcdefgh::", "error::xyz"]


def test_text_that_does_not_fit_beside_its_prefix_goes_below():
    assert wrapped("longword", 12, "prefix  ", 2) == ["prefix", "  longword"]


@given(SPANS, st.integers(10, 40), st.integers(0, 8))
def test_no_line_is_too_long_and_no_character_is_lost(spans, width, hang):
    lines = paragraph([], spans, width, hang)
    plain = paint(lines, color=False)
    assert all(cell_len(line) <= width for line in plain.splitlines())
    text = "".join(span.text for span in spans)
    assert "".join(plain.split()) == "".join(text.split())


@given(TEXTS, st.integers(0, 40))
def test_cut_is_the_longest_start_that_fits(text, room):
    at = cut(text, room)
    assert cells(text[:at]) <= room
    assert at == len(text) or cells(text[: at + 1]) > room


@given(TEXTS)
def test_cells_are_never_fewer_than_the_terminal_takes(text):
    assert cells(text) >= cell_len(text)


def test_shorten_and_pad():
    assert shorten("abcdef", 4) == "abc…"
    assert shorten("abcd", 4) == "abcd"
    assert pad("字", 4) == "字  "
    assert pad("字", 4, right=True) == "  字"
    assert pad("abcdef", 3) == "abcdef"

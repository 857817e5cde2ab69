"""Escaped text is only ever text, seen by a CommonMark parser and by GitHub's filters."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pytscope.builtin.reporters.markup import Markup, escaped
from pytscope.model.panels import Table
from tests.core.report_samples import HOSTILE

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
NASTY = (
    *HOSTILE,
    "@torch.compile by @user and a@b.example",
    "fixes #12, GH-26, gh-1, owner/repo#7",
    "https://evil.example HTTP://x ftp://y www.z.example WWW.q mailto:a@b.c",
    "![img](http://x) [link](x) [ref] [^1] <http://x> <b>bold</b> <!-- x --> </details>",
    "&amp; &lt;b&gt; &#35; & <script>alert(1)</script>",
    "`code` ``two`` *a* **b** _c_ __d__ ~~e~~ ~f~ a_b_c a__b",
    "@_",
    "# head", "## #", "- item", "+ item", "* item", "1. item", "12) item", "> quote", "---", "===",
    "***", "```", "~~~", "| a | b |", "a | b", "|---|", ":---", "\\", "\\\\|", "x\\", "head #",
    "x ##",
    ":smile: :+1: a:b:c 10:20:30 :tada:", "$x$ $$y$$ costs $5", "<details>", "<!--", "-->", "]]>",
)  # fmt: skip
TEXTS = st.text(st.characters(exclude_categories=()), max_size=40) | st.sampled_from(NASTY)
PIECES = st.lists(st.sampled_from(list("@#$:`*_~[](){}<>|\\!&-+=.0aA \t/w") + list(NASTY)))
ALLOWED = {"<!-- -->", "<span>", "</span>", "<code>", "</code>"}
TOGETHER = re.compile(
    r"@\w|#[0-9]|\bgh-[0-9]|://|\bwww\.|:[\w+-]+:|\$[^$]*\$", re.IGNORECASE | re.ASCII
)


def shown(source: str) -> str:
    """The text that a parser makes of an escaped line; fails when it makes anything else of it."""
    blocks = PARSER.parse(source)
    assert [b.type for b in blocks] == ["paragraph_open", "inline", "paragraph_close"], source
    seen = ""
    for token in blocks[1].children or ():
        assert token.type in ("text", "text_special", "html_inline", "code_inline"), token
        if token.type == "html_inline":
            assert token.content in ALLOWED
        else:
            assert not TOGETHER.search(token.content) or token.type == "code_inline"
            seen += token.content
    return seen


@pytest.mark.parametrize("text", NASTY)
@pytest.mark.parametrize("ascii_only", [False, True])
def test_what_is_nasty_is_shown_as_it_is(text, ascii_only):
    markup = Markup(ascii_only)
    plain = markup.plain(text)
    assert plain.isascii() or not ascii_only
    if plain:
        assert shown(markup.text(text)) == plain
        assert shown(markup.code(text)) == plain


@given(TEXTS | PIECES.map("".join))
@settings(max_examples=200, deadline=None)
def test_random_text_is_shown_as_it_is(text):
    markup = Markup()
    plain = markup.plain(text)
    assert "\n" not in markup.text(text)
    if plain.strip():
        assert shown(markup.text(text)).strip() == plain.strip()
        assert shown(markup.code(text)).strip() == plain.strip()


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_a_cell_stays_in_its_cell(rows):
    lines = Markup().table(Table(("a", "b"), tuple(rows), (1,)), code=(0,))
    tokens = PARSER.parse("\n".join(lines))
    kinds = [t.type for t in tokens]
    assert kinds.count("table_open") == 1
    assert kinds.count("td_open") == 2 * len(rows)
    assert kinds.count("tr_open") == len(rows) + 1


def test_ordinary_words_stay_readable():
    for text in ("12.01 ms (52.0% of wall), 1.05-1.20 s", "num_workers=8 -> pin_memory=True"):
        assert escaped(text) == text
    assert Markup().code("TIMING.DATALOADER_BOUND") == "`TIMING.DATALOADER_BOUND`"
    assert Markup().code("") == ""


def test_no_signs_between_colons_are_read_as_a_picture():
    for text in (":+1:", ":a_b:", ":_:", ":-_-:", "x :_a: y"):
        assert "<!-- -->" in escaped(text), text
        assert escaped(text).replace("<!-- -->", "").replace("\\", "") == text

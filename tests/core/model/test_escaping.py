from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from pytscope.model.escaping import ascii_only, visible

ANY = st.text(st.characters(exclude_categories=()))


def test_controls_become_visible():
    assert visible("a\x1b[2J\n\x9b\u202e\udc80b") == r"a\x1b[2J\n\x9b\u202e\udc80b"


def test_ordinary_text_stays():
    text = "Größe 日本 😀 e\u0301 · — 100 %"
    assert visible(text) == text


def test_what_a_ci_service_takes_for_a_command_is_shown():
    assert visible("::error::x\n  ::a b::", keep="\n") == "\\x3a:error::x\n  \\x3a:a b::"
    assert visible("x ##[add-mask]y ##vso[task]z") == "x \\x23#[add-mask]y \\x23#vso[task]z"
    for harmless in ("at::native::add", "a :: b", "## heading", "C#[x]", "f::g ::"):
        assert visible(harmless) == harmless


def test_kept_characters_stay():
    assert visible("a\nb\tc", keep="\n") == "a\nb\\tc"


@given(ANY)
def test_nothing_visible_is_hidden_or_unencodable(text):
    shown = visible(text)
    shown.encode("utf-8")
    assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert visible(shown) == shown


@given(ANY)
def test_ascii_is_ascii_and_keeps_ascii(text):
    shown = ascii_only(text)
    assert shown.isascii()
    if text.isascii():
        assert shown == text


def test_signs_of_reports_have_a_likeness():
    assert ascii_only("● a — b · c → d ≥ 1 µs …") == "* a -- b - c -> d >= 1 us ..."
    assert ascii_only("é") == r"\xe9"

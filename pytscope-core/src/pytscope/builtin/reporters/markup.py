"""GitHub-flavoured Markdown in which text from runs and plugins is only ever text.

Escaped text shows the characters it is made of and does nothing: no markup, no
HTML, no links, and on GitHub no mentions, no references and no formulas.
"""

from __future__ import annotations

import re

import attrs

from pytscope.model.escaping import ascii_only, visible
from pytscope.model.panels import Table

_APART = "<!-- -->"
"""Keeps two characters from being read together; shows and copies as nothing."""

_BREAKS = re.compile(r"[ \t\r\n]+")
_CODE_SAFE = re.compile(r"[^`|\\ ]+(?: [^`|\\ ]+)*")
_MARKUP = re.compile(r"[\\`*\[\]|~]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])|#(?=#*$)")
_LEADING = re.compile(r"[#+\-=>:]|[0-9]{1,9}[.)](?= |$)")
_TOGETHER = (
    (re.compile(r"@(?=\\?\w)"), "@" + _APART),  # mentions, addresses
    (re.compile(r"#(?=[0-9])"), "#" + _APART),  # issues
    (re.compile(r"\b(gh-)(?=[0-9])", re.IGNORECASE), rf"\1{_APART}"),
    (re.compile(r"://"), f":{_APART}//"),  # links
    (re.compile(r"\b(www)\.", re.IGNORECASE), rf"\1{_APART}."),
    (re.compile(r":(?=(?:\\?[0-9A-Za-z_+-])+:)"), ":" + _APART),  # emoji
    (re.compile(r"\$"), "<span>$</span>"),  # formulas
)


@attrs.frozen
class Markup:
    """Writes Markdown of a character set.

    Attributes:
        ascii: Whether only ASCII may be used.
    """

    ascii: bool = False

    def plain(self, text: str) -> str:
        """One line of printable text, not escaped for Markdown."""
        shown = visible(_BREAKS.sub(" ", text).strip(" "))
        return ascii_only(shown) if self.ascii else shown

    def text(self, text: str) -> str:
        """Running text as itself."""
        return escaped(self.plain(text))

    def code(self, text: str) -> str:
        """A name, as it is, in a fixed width."""
        shown = self.plain(text)
        if _CODE_SAFE.fullmatch(shown):
            return f"`{shown}`"
        return f"<code>{escaped(shown)}</code>" if shown else ""

    def table(self, table: Table, code: tuple[int, ...] = ()) -> list[str]:
        """A table.

        Args:
            table: The table.
            code: Indices of columns of names.
        """
        rule = ["---:" if i in table.right else "---" for i in range(len(table.header))]
        header = [self.text(cell) or " " for cell in table.header]
        rows = (
            [self.code(cell) if i in code else self.text(cell) for i, cell in enumerate(row)]
            for row in table.rows
        )
        return ["", *(f"| {' | '.join(row)} |" for row in (header, rule, *rows)), ""]


def escaped(line: str) -> str:
    """A printable line so that Markdown and GitHub show it as it is."""
    text = line.replace("&", "&amp;").replace("<", "&lt;")
    text = _MARKUP.sub(lambda found: "\\" + found[0], text)
    for together, apart in _TOGETHER:
        text = together.sub(apart, text)
    if start := _LEADING.match(text):
        text = f"{text[: start.end() - 1]}\\{text[start.end() - 1 :]}"
    return text

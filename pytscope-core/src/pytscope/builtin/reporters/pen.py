"""The pen: everything that reaches a text report is written with it."""

from __future__ import annotations

import re
from collections.abc import Iterable

import attrs

from pytscope.builtin.reporters.lines import Line, Span, Tone, paragraph
from pytscope.model.escaping import ascii_only, visible
from pytscope.plugins.declare import RenderOptions

NARROWEST = 40
_BREAKS = re.compile(r"[ \t\r\n]+")


@attrs.frozen
class Pen:
    """Writes safe text of a width and character set.

    Attributes:
        width: Cells a line may take.
        ascii: Whether only ASCII may be used.
    """

    width: int = 88
    ascii: bool = False

    @classmethod
    def of(cls, options: RenderOptions) -> Pen:
        """The pen that the options ask for; no line is narrower than 40 cells."""
        return cls(max(NARROWEST, options.width), options.ascii)

    def text(self, text: str) -> str:
        """One line of text: what is not printable becomes visible."""
        shown = visible(text)
        return ascii_only(shown) if self.ascii else shown

    def prose(self, text: str) -> str:
        """Running text: line breaks and tabs become spaces, the rest as in `text`."""
        return self.text(_BREAKS.sub(" ", text).strip(" "))

    def lamp(self, tone: Tone) -> Span:
        """The light in front of a section."""
        return Span(self.text("● "), tone)

    def heading(self, tone: Tone, title: str, rest: str = "") -> list[Line]:
        """A section's first line: light, title, and what is to be read first."""
        body = [Span(self.text(title), Tone.TITLE)]
        if rest:
            body.append(Span(self.text(" — ") + self.prose(rest)))
        return paragraph([self.lamp(tone)], body, self.width, 2)

    def lines(
        self,
        prefix: str | Iterable[Span],
        text: str | Iterable[Span],
        *,
        hang: int | None = None,
        tone: Tone = Tone.PLAIN,
    ) -> list[Line]:
        """Running text after a prefix, with a hanging indent.

        Args:
            prefix: Start of the first line, safe already.
            text: Prose, or spans that are safe already.
            hang: Indent of later lines; as wide as the prefix by default.
            tone: Tone of the prose.
        """
        before = [Span(prefix)] if isinstance(prefix, str) else list(prefix)
        body = [Span(self.prose(text), tone)] if isinstance(text, str) else text
        indent = sum(span.cells for span in before) if hang is None else hang
        return paragraph(before, body, self.width, indent)

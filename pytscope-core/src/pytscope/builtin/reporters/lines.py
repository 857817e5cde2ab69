"""Lines of toned spans: wrapped by hand, then painted or printed plain.

Colour is the last thing to happen to a line, so that it cannot change a
character of it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator

import attrs
from rich.color import ColorSystem
from rich.style import Style

from pytscope.builtin.reporters.cells import cells, cut


class Tone(enum.Enum):
    """What colour may say about a span; its style, in rich's words."""

    PLAIN = ""
    TITLE = "bold"
    FAINT = "dim"
    OK = "color(71)"
    WATCH = "color(214)"
    BAD = "bold color(203)"
    BAR_LOW = "color(94)"
    BAR_MIDDLE = "color(172)"
    BAR_HIGH = "color(220)"


@attrs.frozen
class Span:
    """A stretch of safe text of one tone."""

    text: str
    tone: Tone = Tone.PLAIN

    @property
    def cells(self) -> int:
        """Terminal cells it takes."""
        return cells(self.text)


Line = tuple[Span, ...]


def paragraph(prefix: Iterable[Span], body: Iterable[Span], width: int, hang: int) -> list[Line]:
    """Wrap text after a prefix that stays as it is.

    Args:
        prefix: Start of the first line; its spaces are kept.
        body: Text that breaks at spaces, and inside words only when a word is
            longer than a line; runs of spaces count as one.
        width: Cells a line may take.
        hang: Indentation of the second and later lines, less than `width - 1`.
    """
    lines: list[Line] = []
    current = list(prefix)
    used, fresh = _width(current), True
    margin = Span(" " * hang)
    for word in _words(body):
        room = width - used - (not fresh)
        if _width(word) > room and not (fresh and used <= hang):
            lines.append(tuple(current))
            current, used, fresh = [margin], hang, True
        elif not fresh:
            current.append(Span(" "))
            used += 1
        rest = word
        while _width(rest) > width - used:
            head, rest = _broken(rest, width - used)
            lines.append((*current, *head))
            current, used = [margin], hang
        current.extend(rest)
        used, fresh = used + _width(rest), False
    return [*lines, tuple(current)]


def _width(spans: Iterable[Span]) -> int:
    return sum(span.cells for span in spans)


def _words(body: Iterable[Span]) -> Iterator[list[Span]]:
    """Spans between spaces; a word may be made of several spans."""
    word: list[Span] = []
    for span in body:
        first, *others = span.text.split(" ")
        if first:
            word.append(Span(first, span.tone))
        for part in others:
            if word:
                yield word
            word = [Span(part, span.tone)] if part else []
    if word:
        yield word


def _broken(word: list[Span], room: int) -> tuple[list[Span], list[Span]]:
    """As `_split`, but a line never begins as commands to CI services do."""
    head, rest = _split(word, room)
    commands = "".join(span.text for span in rest).startswith("::")
    return _split(word, room - 1) if commands and room > 1 else (head, rest)


def _split(word: list[Span], room: int) -> tuple[list[Span], list[Span]]:
    """The part of a word that fits, and the rest."""
    head: list[Span] = []
    for place, span in enumerate(word):
        if span.cells > room:
            at = cut(span.text, room)
            rest = [Span(span.text[at:], span.tone), *word[place + 1 :]]
            return ([*head, Span(span.text[:at], span.tone)] if at else head), rest
        head.append(span)
        room -= span.cells
    return head, []


def paint_sections(sections: Iterable[list[Line]], *, color: bool) -> str:
    """Sections with an empty line between them, those without a line left out, as text."""
    lines: list[Line] = []
    for section in filter(None, sections):
        lines += [(), *section] if lines else section
    return paint(lines, color=color)


def paint(lines: Iterable[Line], *, color: bool) -> str:
    """Lines as text, with escapes for colour or without."""
    return "".join(_painted(_trimmed(line), color=color) + "\n" for line in lines)


def _trimmed(line: Line) -> Line:
    """The line without blanks at its end, whatever their tone."""
    spans = list(line)
    while spans and not spans[-1].text.rstrip(" "):
        spans.pop()
    if spans:
        spans[-1] = attrs.evolve(spans[-1], text=spans[-1].text.rstrip(" "))
    return tuple(spans)


def _painted(line: Line, *, color: bool) -> str:
    if not color:
        return "".join(span.text for span in line)
    return "".join(_STYLES[s.tone].render(s.text, color_system=_SYSTEM) for s in line)


_SYSTEM = ColorSystem.EIGHT_BIT
_STYLES = {tone: Style.parse(tone.value) for tone in Tone}

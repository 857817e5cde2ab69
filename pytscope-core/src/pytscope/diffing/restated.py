"""Words of a command line that say again what other recorded facts say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from pytscope.diffing.kinds import RATE
from pytscope.diffing.words import last_part, words_of
from pytscope.model.comparison import ABSENT, NOT_GIVEN, Difference
from pytscope.model.wording import listed

REPEATS = "It repeats "
"""How the reason begins of a difference that another one says, too."""
_TOP = "argv."
_WORDS = ("argv.words",)
_TOKEN = re.compile(r"[^\s=,:;'\"{}\[\]()]+")
_MOST_TOKENS = 1000


def restated(one: Difference, found: Sequence[Difference]) -> str | None:
    """What a difference of the command line repeats, or None where it says something new.

    An option repeats a setting of its name with its values, whether or not every run
    was given it. Other words do when all that differs in them are values of facts.

    Args:
        one: Any difference.
        found: All differences.
    """
    if not one.key.startswith(_TOP):
        return None
    others = [other for other in found if not other.key.startswith(_TOP)]
    if one.key not in _WORDS:
        return next((o.key for o in others if _named_alike(one, o) and _given(one, o)), None)
    tokens = [[*_tokens(value)] for value in one.values]
    if len({len(own) for own in tokens}) != 1 or len(tokens[0]) > _MOST_TOKENS:
        return None
    said: dict[str, None] = {}
    for texts in zip(*tokens, strict=True):
        if len(set(texts)) > 1:
            key = next((o.key for o in others if _texts_alike(texts, o.values)), None)
            if key is None:
                return None
            said[key] = None
    return listed(said, 4) if said else None


def repeats(one: Difference) -> bool:
    """Whether a difference was found to say only what another one says, too."""
    return one.why.startswith(REPEATS)


def _tokens(value: Any) -> Iterator[str]:
    for word in value if isinstance(value, list) else [value]:
        yield from _TOKEN.findall(str(word))


def _named_alike(one: Difference, other: Difference) -> bool:
    names = [set(words_of(last_part(each.key))) for each in (one, other)]
    return bool(names[0] & names[1]) or (one.why == other.why == RATE)


def _given(one: Difference, other: Difference) -> bool:
    """Whether every run that was given an option has its value as a setting."""
    pairs = zip(one.values, other.values, strict=True)
    return all(mine in (ABSENT, NOT_GIVEN) or _alike(mine, value) for mine, value in pairs)


def _texts_alike(texts: Sequence[str], values: Sequence[Any]) -> bool:
    return all(_alike(text, value) for text, value in zip(texts, values, strict=True))


def _alike(said: Any, value: Any) -> bool:
    """Whether a word of a command line is a value."""
    if isinstance(value, list):
        words = said if isinstance(said, list) else [*_tokens(said)]
        return len(words) == len(value) and all(map(_alike, words, value))
    text, other = str(said), str(value)
    if isinstance(value, bool) or isinstance(said, bool):
        return text.lower() == other.lower()
    return text == other or (_number(text) is not None and _number(text) == _number(other))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

"""Words of names, and options of a command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_INDEX = re.compile(r"\[\d+\]")
_OPTION = re.compile(r"--?[A-Za-z][\w.-]*")
_SETTING = re.compile(r"\+{0,2}([A-Za-z][\w./-]*)=(.*)", re.DOTALL)


def last_part(name: str) -> str:
    """The last part of a dotted name, without the index of a list."""
    return _INDEX.sub("", name).rpartition(".")[2]


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case: `maxGradNorm` is `max grad norm`."""
    return tuple(word.lower() for word in _PARTS.findall(name))


def options_of(words: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Options of a command line and their values, and the other words.

    `--name value`, `--name=value`, `-n value` and `name=value` are options;
    one without a value is true, one that is given again has a list.

    Args:
        words: The words after the program's name.
    """
    options: dict[str, Any] = {}
    rest: list[str] = []
    waiting = ""
    for word in words:
        name, equals, value = word.partition("=")
        setting = _SETTING.fullmatch(word)
        if waiting:
            valued = not (setting or _OPTION.fullmatch(name))
            _add(options, waiting, word if valued else True)
            waiting = ""
            if valued:
                continue
        if _OPTION.fullmatch(name):
            if equals:
                _add(options, name.lstrip("-"), value)
            else:
                waiting = name.lstrip("-")
        elif setting:
            _add(options, setting[1], setting[2])
        else:
            rest.append(word)
    if waiting:
        _add(options, waiting, True)
    return options, rest


def _add(options: dict[str, Any], name: str, value: Any) -> None:
    if name not in options:
        options[name] = value
    elif isinstance(options[name], list):
        options[name].append(value)
    else:
        options[name] = [options[name], value]

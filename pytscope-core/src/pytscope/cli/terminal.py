"""What standard output can show. The only reader of terminals and their environment."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import TextIO

import attrs

from pytscope.plugins.selection import truthy


@attrs.frozen
class Terminal:
    """Facts about a stream that text is written to.

    Attributes:
        interactive: Whether a person looks at it.
        unicode: Whether it takes any character.
        no_color: Whether the environment asks for no colour.
        force_color: Whether the environment asks for colour everywhere.
        dumb: Whether it is a terminal without escapes.
    """

    interactive: bool = False
    unicode: bool = True
    no_color: bool = False
    force_color: bool = False
    dumb: bool = False

    @classmethod
    def of(cls, stream: TextIO | None, environ: Mapping[str, str]) -> Terminal:
        """Read the facts.

        `NO_COLOR` counts when it is not empty; `FORCE_COLOR` when it is not
        empty and no word for no.

        Args:
            stream: Usually `sys.stdout`; None when it is closed.
            environ: Usually `os.environ`.
        """
        return cls(
            interactive=stream is not None and not stream.closed and stream.isatty(),
            unicode=_unicode(getattr(stream, "encoding", None)),
            no_color=bool(environ.get("NO_COLOR")),
            force_color=truthy(environ.get("FORCE_COLOR", "")),
            dumb=environ.get("TERM") == "dumb",
        )

    def color(self, choice: str) -> bool:
        """Whether to use colour.

        Args:
            choice: `always`, `never` or `auto`.
        """
        if choice != "auto":
            return choice == "always"
        if self.no_color:
            return False
        return self.force_color or (self.interactive and not self.dumb)


def _unicode(encoding: str | None) -> bool:
    try:
        return codecs.lookup(encoding or "ascii").name.startswith("utf-8")
    except LookupError:
        return False

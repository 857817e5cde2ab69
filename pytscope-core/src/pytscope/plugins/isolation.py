"""The guard: the one place where a plugin's failure becomes a `Problem`.

Every touch of a plugin's objects (importing, registering, calling, iterating,
reading attributes, printing) happens inside `guard`, so that the worst a
plugin can do to a report is to add one line to it.
"""

from __future__ import annotations

import contextlib
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import TypeVar, final

import attrs

from pytscope.model.errors import PluginError
from pytscope.model.report import PluginInfo, PluginState, Problem, credited
from pytscope.plugins.wording import one_line

T = TypeVar("T")


@attrs.frozen
class Origin:
    """Who brings a declared object.

    Attributes:
        plugin: Entry-point name.
        distribution: Distribution name, or an empty string.
        version: Its version, or an empty string.
        builtin: Whether it is part of pytscope-core.
    """

    plugin: str
    distribution: str = ""
    version: str = ""
    builtin: bool = False

    @classmethod
    def of(cls, owner: PluginInfo) -> Origin:
        """The origin of everything a listed plugin brings."""
        return cls(owner.name, owner.distribution, owner.version, owner.builtin)

    @property
    def order(self) -> tuple[bool, str, str]:
        """Built-ins first, then by plugin and distribution."""
        return (not self.builtin, self.plugin, self.distribution)

    def __str__(self) -> str:
        return credited(self.plugin, self.distribution, self.version)

    def row(self, state: PluginState, reason: str = "") -> PluginInfo:
        """The plugin's row of the listing, without what it registers."""
        return PluginInfo(
            self.plugin,
            self.distribution,
            self.version,
            state,
            reason=reason,
            builtin=self.builtin,
        )

    def problem(self, stage: str, message: str, trace: str = "") -> Problem:
        """A failure of this origin's."""
        return Problem(
            plugin=one_line(self.plugin),
            distribution=one_line(self.distribution),
            version=one_line(self.version),
            stage=one_line(stage),
            message=one_line(message),
            traceback=trace,
        )


@final
@attrs.frozen
class Failure:
    """What `guard` returns in place of a result.

    Tell it apart with `type(result) is Failure`: `isinstance` would ask a
    plugin's object for its class.
    """

    problem: Problem


class Refusal(Exception):
    """The host declines something a plugin handed over; the message says it all."""


def guard(
    origin: Origin, stage: str, call: Callable[[], T], *, reraise: bool = False
) -> T | Failure:
    """Call into a plugin and survive whatever it does.

    Plain `Exception`s (a recursion without end included) and `SystemExit` are
    caught; an interrupt from the keyboard passes. Text that the plugin prints
    goes to standard error, since standard output carries the report, and a
    warning stays a warning whatever `-W` says.

    Args:
        origin: Whose code is called.
        stage: What is being done, as `Problem.stage` names it.
        call: The whole of it: results are to be materialised inside.
        reraise: Raise instead, for plugin authors who want the traceback.

    Returns:
        What the call returned, or a `Failure`.

    Raises:
        PluginError: The call failed and `reraise` is set.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr), _warnings_stay_warnings(reraise):
            return call()
    except (Exception, SystemExit) as error:
        message = _described(error)
        if reraise:
            sentence = f"plugin {origin}, {stage}: {message}"
            raise PluginError(sentence) from error
        trace = "" if isinstance(error, Refusal) else _traced(error)
        return Failure(origin.problem(stage, message, trace))


@contextlib.contextmanager
def _warnings_stay_warnings(strict: bool) -> Iterator[None]:
    with warnings.catch_warnings():
        if not strict and any(entry[0] == "error" for entry in warnings.filters):
            warnings.simplefilter("default")
        yield


def _described(error: BaseException) -> str:
    """One line on an exception whose own methods may be hostile."""
    try:
        line = one_line(str(error))
        kind = one_line(type(error).__name__)
    except (Exception, SystemExit):  # noqa: BLE001  # an exception's own methods are plugin code
        return "failed with an exception that cannot be shown"
    if isinstance(error, Refusal):
        return line
    if isinstance(error, SystemExit):
        return f"called sys.exit({line})"
    return f"{kind}: {line}" if line else kind


def _traced(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))
    except (Exception, SystemExit):  # noqa: BLE001  # formatting calls the exception's methods
        return ""

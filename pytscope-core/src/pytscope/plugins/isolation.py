"""The guard: the one place where a plugin's failure becomes a `Problem`.

Every touch of a plugin's objects (importing, registering, calling, iterating,
reading attributes, printing) happens inside `guard`, so that the worst a
plugin can do to a report is to add one line to it.
"""

from __future__ import annotations

import contextlib
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import TypeVar, final

import attrs

from pytscope.model.errors import PluginError
from pytscope.model.report import PluginInfo, PluginState, Problem, credited
from pytscope.model.wording import listed, one_line
from pytscope.plugins.surroundings import kept, untraced

LONGEST_TRACE = 20_000
"""Characters kept of a traceback; an endless recursion's is longer."""

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


@attrs.frozen(eq=False)
class Guard:
    """Calls into plugins and survives whatever they do.

    Everything they may raise is caught but an interrupt from the keyboard,
    which passes with a note of who was running. What they print goes to
    standard error, since standard output carries the report; what they change
    of the process is put back; a warning stays a warning whatever `-W` says.

    Attributes:
        reraise: Raise failures, for plugin authors who want the traceback.
        noted: What to tell of calls besides their results: what they changed.
        spent_ns: Time taken, by origin and stage.
        clock: Tells the time in nanoseconds.
    """

    reraise: bool = False
    noted: list[Problem] = attrs.field(factory=list)
    spent_ns: dict[tuple[Origin, str], int] = attrs.field(factory=dict)
    clock: Callable[[], int] = time.perf_counter_ns

    def another(self, *, reraise: bool) -> Guard:
        """A guard with the same clock that has nothing to tell yet."""
        return Guard(reraise, clock=self.clock)

    def __call__(self, origin: Origin, stage: str, call: Callable[[], T]) -> T | Failure:
        """Call.

        Args:
            origin: Whose code is called.
            stage: What is being done, as `Problem.stage` names it.
            call: The whole of it: results are to be materialised inside.

        Returns:
            What the call returned, or a `Failure`.

        Raises:
            PluginError: The call failed and failures are to be raised.
        """
        changed: list[str] = []
        began = self.clock()
        try:
            with kept(changed), _warnings_stay_warnings(self.reraise):
                return self._caught(origin, stage, call)
        finally:
            took = self.clock() - began
            self.spent_ns[origin, stage] = self.spent_ns.get((origin, stage), 0) + took
            if changed:
                said = f"it changed {listed(changed)}; that was put back"
                self.noted.append(origin.problem(stage, said))

    def _caught(self, origin: Origin, stage: str, call: Callable[[], T]) -> T | Failure:
        try:
            return untraced(call)
        except BaseException as error:
            if _interrupts(error):
                if not origin.builtin:
                    error.add_note(f"while plugin {origin} ran: {one_line(stage)}")
                raise
            message = _described(error)
            if self.reraise:
                sentence = f"plugin {origin}, {stage}: {message}"
                raise PluginError(sentence) from error
            trace = "" if _is(error, Refusal) else _traced(error)
            return Failure(origin.problem(stage, message, trace))


def guard(
    origin: Origin, stage: str, call: Callable[[], T], *, reraise: bool = False
) -> T | Failure:
    """Call into a plugin when nothing but the result is of interest; as `Guard` does it."""
    return Guard(reraise)(origin, stage, call)


@contextlib.contextmanager
def _warnings_stay_warnings(strict: bool) -> Iterator[None]:
    with warnings.catch_warnings():
        if not strict and any(entry[0] == "error" for entry in warnings.filters):
            warnings.simplefilter("default")
        yield


def _is(error: BaseException, kind: type[BaseException]) -> bool:
    """`isinstance`, without asking an exception for its class."""
    return issubclass(type(error), kind)


def _interrupts(error: BaseException) -> bool:
    """Whether it is an interrupt from the keyboard, or a group with one."""
    inner: tuple[BaseException, ...] = ()
    if _is(error, BaseExceptionGroup):
        with contextlib.suppress(Exception):  # the attributes of an exception are plugin code
            inner = tuple(error.exceptions)  # type: ignore[attr-defined]  # a group, as was asked
    return _is(error, KeyboardInterrupt) or any(map(_interrupts, inner))


def _described(error: BaseException) -> str:
    """One line on an exception whose own methods may be hostile."""
    try:
        line = one_line(str(error))
        kind = one_line(type(error).__name__)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001  # an exception's own methods are plugin code
        return "failed with an exception that cannot be shown"
    if _is(error, Refusal):
        return line
    if _is(error, SystemExit):
        return f"called sys.exit({line})"
    return f"{kind}: {line}" if line else kind


def _traced(error: BaseException) -> str:
    try:
        trace = "".join(traceback.format_exception(error))
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001  # formatting calls the exception's methods
        return ""
    if len(trace) <= LONGEST_TRACE:
        return trace
    half = LONGEST_TRACE // 2
    return f"{trace[:half]}\n[…]\n{trace[-half:]}"

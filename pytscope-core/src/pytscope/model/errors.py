"""The exception tree of the public API; each class carries the CLI's exit code."""

from __future__ import annotations


class PytscopeError(Exception):
    """Something a user can act on: the message says what, where and what to do.

    Attributes:
        exit_code: The status the `pytscope` command ends with.
        hint: One more sentence on what to do, or an empty string.
    """

    exit_code = 3

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(PytscopeError):
    """An option, argument or configuration value that cannot be honoured."""

    exit_code = 2


class RunNotFound(PytscopeError):
    """No file or folder at the given path."""


class RunUnreadable(PytscopeError):
    """A path exists, but holds nothing that a source can open as a run."""


class NothingUsable(PytscopeError):
    """A run was opened, and the asked-for part of it holds no usable step."""


class PluginError(PytscopeError):
    """A plugin failed and the caller asked for failures to be raised."""

    exit_code = 4


class MissingPackage(PytscopeError, ImportError):
    """Something that another package brings was asked for, and that package is not there.

    An `ImportError` too, so that code which tries the import and goes on
    without it keeps working.
    """

    exit_code = 2


class Abstention(Exception):
    """An analyzer or rule declines; the host turns it into an outcome."""


class NotMeasured(Abstention):
    """The run lacks a measurement.

    Args:
        needs: What to record or pass so that it can be measured next time.
    """

    def __init__(self, needs: str) -> None:
        super().__init__(needs)
        self.needs = needs


class NotApplicable(Abstention):
    """The question does not arise for this run.

    Args:
        why: The reason, as a clause.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Inconclusive(Abstention):
    """There is data, but too little of it to tell.

    Args:
        smallest_visible_effect: The smallest effect that this data could have
            shown, with its unit, or what is needed to decide.
    """

    def __init__(self, smallest_visible_effect: str) -> None:
        super().__init__(smallest_visible_effect)
        self.smallest_visible_effect = smallest_visible_effect

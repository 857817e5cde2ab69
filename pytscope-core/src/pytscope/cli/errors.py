"""What goes wrong as sentences on standard error and an exit code."""

from __future__ import annotations

from collections.abc import Callable

import click

from pytscope.cli.output import ReaderGone, abandon_stdout, say
from pytscope.model.errors import PytscopeError

INPUT = 3
INTERRUPTED = 130
READER_GONE = 141


def exit_code(call: Callable[[], int]) -> int:
    """The code of a call, whatever it raises that a user can act on.

    Args:
        call: Runs the command and returns its code.
    """
    try:
        return call()
    except PytscopeError as error:
        _tell(str(error), error.hint)
        return error.exit_code
    except click.ClickException as error:
        return _usage(error)
    except (click.Abort, KeyboardInterrupt) as error:
        _interrupted(error)
        return INTERRUPTED
    except ReaderGone:
        return READER_GONE
    except OSError as error:
        abandon_stdout()
        place = f"{error.filename}: " if error.filename else ""
        _tell(f"{place}{error.strerror or error}")
        return INPUT


def _interrupted(error: BaseException) -> None:
    """Say what was running, where the guard of plugins noted it."""
    cause = error.__cause__ or error
    for note in getattr(cause, "__notes__", ()):
        say(f"interrupted {note}")


def _usage(error: click.ClickException) -> int:
    context = getattr(error, "ctx", None)
    if context is not None and error.format_message() == context.get_help():
        say(error.format_message(), keep="\n")  # the command was given no argument at all
    else:
        hint = f"See '{context.command_path} --help'." if context is not None else ""
        _tell(error.format_message(), hint)
    return error.exit_code


def _tell(message: str, hint: str = "") -> None:
    say(f"error: {message}")
    if hint:
        say(f"help: {hint}")

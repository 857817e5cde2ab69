"""The `pytscope` command. One file a verb; each parses, calls, prints, and gives an exit code.

Exit codes: 0 done; 1 a gate failed (`--fail-on`); 2 usage; 3 nothing to
read, no usable step in it, or nowhere to write; 4 `--strict` and something
failed or was lost; 130 interrupted; 141 the reader
of standard output went away.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its code.

    Args:
        arguments: The command line after the program's name; `sys.argv` by default.
    """
    from pytscope.cli.errors import exit_code
    from pytscope.cli.group import pytscope
    from pytscope.cli.reserved import PROGRAM, end_soon

    program = arguments is None
    rest: list[Callable[[], None]] = []

    def call() -> int:
        obj = PROGRAM if program else None
        done = pytscope.main(arguments, "pytscope", standalone_mode=False, obj=obj)
        if callable(done):
            rest.append(done)
            return 0
        return int(done or 0)

    code = exit_code(call)
    for script in rest:  # what a script raises is between it and the interpreter
        script()
    if program and not rest:
        end_soon(code)
    sys.exit(code)

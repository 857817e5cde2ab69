"""The baseline's file, read."""

from __future__ import annotations

from pathlib import Path

from pytscope.gates.baseline import Baseline, NotABaseline, read_baseline
from pytscope.model.errors import PytscopeError
from pytscope.model.wording import one_line

_MOST_BYTES = 16 << 20
_RENEW = "--update-baseline writes it from a run."


class BaselineUnreadable(PytscopeError):
    """There is no baseline to compare with."""


def read_baseline_file(path: Path) -> Baseline:
    """Read a baseline.

    Raises:
        BaselineUnreadable: It is not there, cannot be read, or is none.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        text = data.decode("utf-8-sig")
        if len(data) > _MOST_BYTES:
            msg = f"it is larger than {_MOST_BYTES >> 20} MiB"
            raise NotABaseline(msg)
        return read_baseline(text)
    except FileNotFoundError as error:
        msg = f"there is no baseline at {path}"
        raise BaselineUnreadable(msg, hint=_RENEW) from error
    except OSError as error:
        msg = f"the baseline {path} cannot be read: {error.strerror or error}"
        raise BaselineUnreadable(msg) from error
    except ValueError as error:  # also text that is not UTF-8
        msg = f"{path} is no baseline: {one_line(str(error))}"
        raise BaselineUnreadable(msg, hint=_RENEW) from error

"""Looking at tensors without anybody noticing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.utils import _python_dispatch as dispatch


@contextmanager
def quietly() -> Iterator[None]:
    """Keep what is done to tensors from the modes that the program has switched on.

    One that counts operators, refuses some or estimates memory sees the program's own alone.
    """
    with torch._C.DisableTorchFunction():  # noqa: SLF001  # there is no public way
        if not dispatch._len_torch_dispatch_stack():  # noqa: SLF001  # as above
            yield
            return
        with dispatch._disable_current_modes():  # noqa: SLF001  # as above
            yield

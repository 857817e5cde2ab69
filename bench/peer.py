"""pytscope 0.2.1 under another name, so that both recorders live in one process."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

NAME = "pytscope_0_2_1"
VERSION = "0.2.1"


def load(site: Path) -> ModuleType:
    """Import the package that `pip install --target site pytscope==0.2.1` left there.

    Its modules import each other relatively, so that the name given here is the
    name they all have.
    """
    folder = site / "pytscope"
    found = importlib.util.spec_from_file_location(
        NAME, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if found is None or found.loader is None or not folder.is_dir():
        how = f"pip install --no-deps --target {site} pytscope=={VERSION}"
        msg = f"no pytscope {VERSION} in {site}: {how}"
        raise SystemExit(msg)
    module = importlib.util.module_from_spec(found)
    sys.modules[NAME] = module
    found.loader.exec_module(module)
    if module.__version__ != VERSION:
        msg = f"{site} holds pytscope {module.__version__}, not {VERSION}"
        raise SystemExit(msg)
    return module


def in_memory(profiler: Any) -> Any:
    """A recorder of the peer that keeps nothing and writes nothing."""
    profiler.start()
    profiler.store.append = lambda _record: None
    return profiler


@contextmanager
def as_rank(rank: int) -> Iterator[None]:
    """What makes the peer's recorder a disabled one."""
    before = {name: os.environ.get(name) for name in ("RANK", "WORLD_SIZE")}
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(rank + 1))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value

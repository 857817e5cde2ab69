"""What every test of the Trainer starts from."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="package")
def _imported_for_good() -> Iterator[None]:
    """Every training collects garbage first: not among all that was imported."""
    pytest.importorskip("transformers", reason="tests the Hugging Face callback")
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """On a busy machine, two threads of operators wait for each other inside a phase."""
    torch = pytest.importorskip("torch", reason="tests the Hugging Face callback")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def _environment() -> Iterator[None]:
    """`TrainingArguments` leave settings for accelerate in the environment."""
    before = dict(os.environ)
    os.environ.setdefault("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")  # old ones load their RNG states
    yield
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)

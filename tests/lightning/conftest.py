"""What holds for every test here: one thread for operators, and Lightning's own warnings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

OWN = (
    "ignore:.*does not have many workers:UserWarning",  # advice on loaders; the loaders here sleep
    "ignore:.*number of training batches .* is smaller than the logging interval:UserWarning",
    "ignore:.*but have no `val_dataloader`:UserWarning",
    "ignore:.*`dataloader_iter`:UserWarning",  # one case uses this experimental way
    "ignore:.*has no length:UserWarning",  # an iterable dataset, as some cases want
    "ignore:.*Trying to infer the `batch_size`:UserWarning",
    "ignore:.*Checkpoint directory .* exists and is not empty:UserWarning",  # resumes write there
    "ignore:.*checkpoint that ended before the epoch ended:UserWarning",  # as above
    "ignore:.*callbacks used to create the checkpoint need to be provided:UserWarning",
    "ignore:.*Using ModelCheckpoint with manual optimization:UserWarning",
    "ignore:.*returned `None`. If this was on purpose:UserWarning",  # one case's purpose
    "ignore:.*GPU available but not used:UserWarning",
    "ignore:.*Swapping scheduler:UserWarning",
    "ignore:.*lr_scheduler.step\\(\\)` before `optimizer.step:UserWarning",  # torch's own
    "ignore:`isinstance\\(treespec, LeafSpec\\)` is deprecated:FutureWarning",  # with torch 2.13
    "ignore:`isinstance\\(treespec, LeafSpec\\)` is deprecated:DeprecationWarning",  # as above
)
"""Warnings that Lightning raises of itself, whoever records; narrow, so that ours fail tests."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for words in reversed(OWN):
                item.add_marker(pytest.mark.filterwarnings(words))


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    torch = pytest.importorskip("torch", reason="tests the callback for Lightning")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)

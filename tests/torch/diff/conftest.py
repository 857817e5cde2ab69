"""Runs of one commit of a repository of their own; one thread for operators."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that git knows, where nobody changes a file between two runs."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed, so the code is not known")
    folder = tmp_path_factory.mktemp("code")
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    for arguments in (("init", "-q"), (*identity, "commit", "-q", "--allow-empty", "-m", "t")):
        subprocess.run(["git", *arguments], cwd=folder, check=True, timeout=30)
    return folder


@pytest.fixture(autouse=True)
def _apart(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    torch = pytest.importorskip("torch", reason="trains with torch")
    monkeypatch.chdir(repository)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(False)

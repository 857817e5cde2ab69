"""What is kept of a process, what is not, and that reading it changes nothing."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytscope.recording import provenance

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


# --- command line ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "kept"),
    [
        (["train.py", "--lr", "0.1"], ["train.py", "--lr", "0.1"]),
        (["--api-key=abc"], ["--api-key=***"]),
        (["--token", "abc", "x"], ["--token", "***", "x"]),
        (["--token", "--fast"], ["--token", "--fast"]),
        (["wandb.api_key=abc"], ["wandb.api_key=***"]),
        (["--db", "postgres://me:pw@host/db"], ["--db", "postgres://***@host/db"]),
        (["--url=https://h/x?token=abc&n=1"], ["--url=https://h/x?token=***&n=1"]),
        (["-H", "Authorization: Bearer abc"], ["-H", "Authorization: Bearer ***"]),
        (["hf_abcdefghijklmnopqrst"], ["hf_***"]),
        (["--max-tokens=4096", "--tokens", "2e9"], ["--max-tokens=4096", "--tokens", "2e9"]),
        (["--max-tokens=abc"], ["--max-tokens=***"]),
        (["--tokenizer", "gpt2", "--author=me"], ["--tokenizer", "gpt2", "--author=me"]),
        (["--PASSWORD", "a b"], ["--PASSWORD", "***"]),
    ],
)
def test_secrets_of_the_command_line_are_masked(argv: list[str], kept: list[str]) -> None:
    assert provenance.masked_argv(argv) == kept


def test_long_words_are_cut() -> None:
    assert provenance.masked_argv(["x" * 5000]) == ["x" * 1000]


# --- environment ----------------------------------------------------------------


def test_only_allowed_variables_are_kept() -> None:
    environ = {
        "OMP_NUM_THREADS": "4",
        "NCCL_DEBUG": "INFO",
        "TORCH_NCCL_ASYNC": "1",
        "SLURM_JOB_ID": "7",
        "TOKENIZERS_PARALLELISM": "false",
        "HOME": "/home/me",
        "PATH": "/bin",
        "MY_VARIABLE": "1",
    }
    kept = provenance.allowed_environment(environ)
    assert sorted(kept) == [
        "NCCL_DEBUG",
        "OMP_NUM_THREADS",
        "SLURM_JOB_ID",
        "TOKENIZERS_PARALLELISM",
        "TORCH_NCCL_ASYNC",
    ]


@pytest.mark.parametrize("word", ["TOKEN", "KEY", "SECRET", "PASSWORD", "AUTH", "CREDENTIAL"])
def test_a_secret_name_is_dropped_even_under_an_allowed_prefix(word: str) -> None:
    environ = {f"TORCH_{word}": "abc", f"NCCL_x_{word.lower()}_y": "abc"}
    assert provenance.allowed_environment(environ) == {}


def test_values_are_cut_and_logins_masked() -> None:
    environ = {"NCCL_A": "v" * 5000, "TORCH_STORE": "tcp://me:pw@host:1"}
    kept = provenance.allowed_environment(environ)
    assert kept == {"NCCL_A": "v" * 1000, "TORCH_STORE": "tcp://***@host:1"}


# --- quick ----------------------------------------------------------------------


def test_quick_is_plain_and_leaks_nothing() -> None:
    secret = "hunter2hunter2"
    environ = {"AWS_SECRET_ACCESS_KEY": secret, "HF_TOKEN": secret, "RANK": "1"}
    found = provenance.quick(environ, ["t.py", f"--password={secret}"])
    assert secret not in json.dumps(found)
    assert found["pid"] == os.getpid()
    assert found["python"].startswith("3.")
    assert found["env"] == {"RANK": "1"}


def test_a_probe_that_fails_is_named_and_the_rest_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> Any:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "cwd", gone)
    found = provenance.quick({}, [])
    assert found["cwd"] == {"error": "FileNotFoundError"}
    assert found["host"]


# --- seeds ----------------------------------------------------------------------


def test_seeds_tell_states_apart_without_moving_them() -> None:
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002  # the global state is what is fingerprinted
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002  # as above
    first = provenance.seeds()
    assert provenance.seeds() == first
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002  # as above
    random.random()
    second = provenance.seeds()
    assert second["python"] != first["python"]
    assert second["numpy"] == first["numpy"]


def test_seeds_import_no_numpy() -> None:
    code = (
        "import sys; from pytscope.recording import provenance\n"
        "found = provenance.seeds()\n"
        "assert 'numpy' not in found and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# --- git ------------------------------------------------------------------------


def run_git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    command = ["git", *identity, *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    run_git(tmp_path, "init", "-q", "-b", "trunk")
    (tmp_path / "train.py").write_text("lr = 0.1\n")
    run_git(tmp_path, "add", ".")
    run_git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


@needs_git
def test_a_clean_tree(repository: Path) -> None:
    sha = run_git(repository, "rev-parse", "HEAD")
    assert provenance.git(repository) == {
        "sha": sha,
        "branch": "trunk",
        "dirty": False,
        "diff_sha256": None,
    }


@needs_git
def test_changes_make_it_dirty_and_tell_themselves_apart(repository: Path) -> None:
    (repository / "train.py").write_text("lr = 0.2\n")
    changed = provenance.git(repository)
    (repository / "train.py").write_text("lr = 0.3\n")
    other = provenance.git(repository)
    assert changed["dirty"] is other["dirty"] is True
    assert len({changed["diff_sha256"], other["diff_sha256"]}) == 2
    assert changed["sha"] == other["sha"]


@needs_git
def test_untracked_sources_count_and_run_files_do_not(repository: Path) -> None:
    (repository / "runs").mkdir()
    (repository / "runs" / "rank00000.pts").write_bytes(b"x")
    assert provenance.git(repository)["dirty"] is False
    (repository / "model.py").write_text("depth = 1\n")
    one = provenance.git(repository)
    (repository / "model.py").write_text("depth = 2\n")
    two = provenance.git(repository)
    assert one["dirty"] is two["dirty"] is True
    assert one["diff_sha256"] != two["diff_sha256"]


@needs_git
def test_reading_leaves_the_index_alone(repository: Path) -> None:
    """A file whose time changed would be refreshed in the index by a plain `git status`."""
    os.utime(repository / "train.py", (1, 1))
    index = repository / ".git" / "index"
    before = index.read_bytes()
    assert provenance.git(repository)["dirty"] is False
    assert index.read_bytes() == before
    assert not (repository / ".git" / "index.lock").exists()


@needs_git
def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q")
    found = provenance.git(tmp_path)
    assert found["sha"] is None
    assert found["reason"]


@needs_git
def test_a_folder_without_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    found = provenance.git(tmp_path)
    assert found["sha"] is None
    assert "not a git repository" in found["reason"]


def test_a_machine_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance.git(tmp_path)["reason"] == "git is not installed"


def test_a_git_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "git"
    slow.write_text(f"#!{sys.executable}\nimport time; time.sleep(60)\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(provenance, "GIT_TIMEOUT_S", 0.2)
    found = provenance.git(tmp_path)
    assert found["sha"] is None
    assert "took longer" in found["reason"]


# --- slow -----------------------------------------------------------------------


def test_slow_lists_installed_packages_in_order(tmp_path: Path) -> None:
    packages = provenance.slow(tmp_path)["packages"]
    assert list(packages) == sorted(packages)
    assert packages["pytest"] == pytest.__version__

"""What a run was made of: interpreter, host, command line, code, packages, seeds.

Every probe stands alone: one that fails leaves its error's name, and nothing
here touches a random number generator, the git index or the network.
"""

from __future__ import annotations

import hashlib
import os
import platform
import random
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytscope.recording.harmless import harmless, tried
from pytscope.recording.packages import installed

GIT_TIMEOUT_S = 2.0
WAIT_S = 3.0
"""Longest wait at the end of a short run for what it was made of."""
LOWEST = 19
MAX_VALUE = 1000
MASK = "***"
_KEPT = frozenset(
    """
    CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER CUDA_LAUNCH_BLOCKING CUBLAS_WORKSPACE_CONFIG
    HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES HOSTNAME CONDA_DEFAULT_ENV VIRTUAL_ENV
    RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK MASTER_ADDR MASTER_PORT
    PYTHONHASHSEED PYTHONOPTIMIZE PYTHONDONTWRITEBYTECODE TOKENIZERS_PARALLELISM
    OMP_NUM_THREADS OMP_PROC_BIND OMP_PLACES MKL_NUM_THREADS OPENBLAS_NUM_THREADS
    NUMEXPR_NUM_THREADS MALLOC_CONF LD_PRELOAD
    """.split()  # noqa: SIM905  # forty names read better without quotes
)
_KEPT_PREFIXES = (
    "NCCL_", "GLOO_", "TORCH_", "TORCHELASTIC_", "TORCHINDUCTOR_", "TORCHDYNAMO_", "PYTORCH_",
    "SLURM_JOB", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_NODE", "SLURM_RESTART", "KMP_", "XLA_",
    "NVIDIA_TF32", "ACCELERATE_", "FSDP_", "DEEPSPEED_",
)  # fmt: skip
_WORDS = r"(?:TOKEN(?!IZER)|KEY|SECRET|PASSW|AUTH(?!OR(?!IZ))|CREDENTIAL|COOKIE|SESSION)"
_SECRET = re.compile(_WORDS, re.IGNORECASE)
_COUNT = re.compile(r"tokens", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9][0-9_.]*(e[0-9]+)?[kmbt]?", re.IGNORECASE)
_INSIDE = (
    (re.compile(r"(?<=://)[^/@\s]+@"), f"{MASK}@"),
    (re.compile(rf"([?&;][^=&;\s]*{_WORDS}[^=&;\s]*=)[^&;\s]+", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(r"\b(bearer|basic)\s+\S+", re.IGNORECASE), rf"\1 {MASK}"),
    (re.compile(r"\b(hf_|gh[a-z]_|github_pat_|glpat-|sk-|xox[a-z]-|AKIA)[\w-]{12,}"), rf"\1{MASK}"),
)
"""Secrets within a text: logins in addresses, query parameters, headers, known token forms."""
MAX_SOURCES = 500
MAX_SOURCE_BYTES = 1 << 20


class Background:
    """Reads what takes a moment beside the first steps, behind every other thread.

    Args:
        note: Takes it, as the event `provenance`.
    """

    def __init__(self, note: Callable[[str, dict[str, Any]], None]) -> None:
        self._note = note
        self._thread = threading.Thread(target=self._run, name="pytscope-provenance", daemon=True)

    def start(self) -> None:
        """Start reading, if a thread is to be had."""
        with suppress(RuntimeError):
            self._thread.start()

    def wait(self) -> None:
        """Wait until it is done, but not for long."""
        if self._thread.ident is not None:
            self._thread.join(WAIT_S)

    def _run(self) -> None:
        with harmless("reading provenance"):
            if sys.platform == "linux":  # where a thread has a priority of its own
                with suppress(OSError):
                    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST)
            self._note("provenance", slow(None))


def quick(environ: Mapping[str, str], argv: Sequence[str]) -> dict[str, Any]:
    """What costs nothing to read: interpreter, platform, host, command line, variables.

    Args:
        environ: The environment; only an allow-list of it is kept, and never
            a name that looks like a secret.
        argv: The command line; values that look like secrets are masked.
    """
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "executable": sys.executable,
        "platform": _probe(platform.platform),
        "host": _probe(socket.gethostname),
        "cpus": os.cpu_count(),
        "pid": os.getpid(),
        "cwd": _probe(lambda: str(Path.cwd())),
        "argv": _probe(lambda: masked_argv(argv)),
        "env": _probe(lambda: allowed_environment(environ)),
    }


def allowed_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that bear on a training run, by an allow-list of names."""
    return {
        name: _without_secrets(value)
        for name, value in sorted(environ.items())
        if (name in _KEPT or name.startswith(_KEPT_PREFIXES)) and not _SECRET.search(name)
    }


def masked_argv(argv: Sequence[str]) -> list[str]:
    """The command line with the values of secret-looking options masked.

    Both `--api-key=X` and `api_key=X` count as options, and the word after
    `--api-key` as its value. A number of tokens is no secret.
    """
    out: list[str] = []
    secret = ""
    for word in map(str, argv):
        name, equals, value = word.partition("=")
        if secret and not word.startswith("-"):
            out.append(_masked(secret, word))
            secret = ""
        elif equals and _SECRET.search(name):
            out.append(f"{name[:MAX_VALUE]}={_masked(name, value)}")
            secret = ""
        else:
            out.append(_without_secrets(word))
            secret = word if word.startswith("-") and _SECRET.search(word) else ""
    return out


def _masked(name: str, value: str) -> str:
    return value if _COUNT.search(name) and _NUMBER.fullmatch(value) else MASK


def _without_secrets(text: str) -> str:
    for pattern, masked in _INSIDE:
        text = pattern.sub(masked, text)
    return text[:MAX_VALUE]


def seeds() -> dict[str, Any]:
    """Fingerprints of the random states at the start, none of them advanced."""
    found: dict[str, Any] = {
        "python": _probe(lambda: _sha256(repr(random.getstate()))),
        "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED"),
    }
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        found["numpy"] = _probe(lambda: _sha256(repr(numpy_random.get_state())))
    return found


def slow(cwd: Path | None) -> dict[str, Any]:
    """What takes a moment: the code's version and the installed packages.

    Args:
        cwd: Folder whose repository is the run's code, or None for where the
            process works.
    """
    return {"git": git(cwd), "packages": _probe(lambda: installed(sys.path))}


def git(cwd: Path | None) -> dict[str, Any]:
    """Commit, branch, and whether and how the working tree differs from it.

    Returns:
        `sha branch dirty diff_sha256`, those that git could not tell as None,
        with a `reason`. The hash covers the diff of tracked files against the
        commit, and the untracked Python sources; other untracked files, such
        as the run itself, say nothing about the code.
    """
    found: dict[str, Any] = {"sha": None, "branch": None, "dirty": None, "diff_sha256": None}
    try:
        names = _git(cwd, "rev-parse", "HEAD", "--abbrev-ref", "HEAD")
        found["sha"], found["branch"] = names.decode(errors="replace").split("\n")[:2]
        diff = _git(cwd, "diff", "--no-ext-diff", "--no-textconv", "--binary", "HEAD")
        untracked = _git(cwd, "ls-files", "--others", "--exclude-standard", "-z", "--", "*.py")
    except FileNotFoundError:
        found["reason"] = "git is not installed"
    except subprocess.TimeoutExpired:
        found["reason"] = f"git took longer than {GIT_TIMEOUT_S:g} s"
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines()
        found["reason"] = said[0][:200] if said else "git failed"
    except OSError as error:
        found["reason"] = f"git did not run: {error.strerror}"
    else:
        found["dirty"] = bool(diff or untracked)
        if found["dirty"]:
            found["diff_sha256"] = _difference(cwd, diff, untracked)
    return found


def _difference(cwd: Path | None, diff: bytes, untracked: bytes) -> str:
    digest = hashlib.sha256(diff)
    for name in untracked.split(b"\0")[:MAX_SOURCES]:
        digest.update(b"\0" + name + b"\0")
        try:
            with Path(cwd or "", os.fsdecode(name)).open("rb") as source:
                digest.update(source.read(MAX_SOURCE_BYTES))
        except OSError:
            continue  # gone since, or the empty name after the last
    return digest.hexdigest()


_PASSIVE = (
    "--no-optional-locks",
    *("-c", "core.fsmonitor=false"),  # starts no daemon
    *("-c", "diff.autoRefreshIndex=false"),  # else `diff` writes the index, locks or not
)


def _git(cwd: Path | None, *arguments: str) -> bytes:
    done = subprocess.run(  # noqa: S603  # fixed arguments, no shell
        ["git", *_PASSIVE, *arguments],  # noqa: S607  # the user's own git
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=GIT_TIMEOUT_S,
        check=True,
        env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
    )
    return done.stdout


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _probe(read: Callable[[], Any]) -> Any:
    return tried(read, lambda error: {"error": type(error).__name__})

"""What PyTorch was set to in a run, as its event `torch`.

Nothing here advances a random number generator, initialises a device or waits
for one. What must be read at one moment is read when the first step is over, in
the training thread and in about a millisecond; hashing is a thread's work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import torch
from torch import nn

from pytscope.recording.harmless import harmless, tried
from pytscope_torch.groups import optimizer_settings, steps_made
from pytscope_torch.loading import loader_settings
from pytscope_torch.quietly import quietly
from pytscope_torch.seams.interruptions import compiled_code
from pytscope_torch.seams.modules import is_compiled
from pytscope_torch.states import Weights, hashed, probed, random_states

MOST_LOADERS = 8
MOST_LATE = 40
"""The same with those that come when it has been written: the last of them says so."""
WRITTEN_AFTER = 2
"""Steps after which it is written: a model that was not given is first seen in the second."""
WAIT_S = 2.0
KINDS = ("cpu", "cuda", "xpu", "mps")
WRAPPERS = ("DistributedDataParallel", "FullyShardedDataParallel", "DataParallel", "FSDPModule")


class Provenance:
    """Finds out what PyTorch was set to, and writes it once.

    Args:
        note: Takes the event: its kind and its values.

    Attributes:
        wanted: Whether it has not been written yet.
    """

    def __init__(self, note: Callable[[str, dict[str, Any]], None]) -> None:
        self.wanted = True
        self._note = note
        self._modules: Callable[[], list[nn.Module]] = list
        self._optimizer: Callable[[], Any] = lambda: None
        self._loaders: list[dict[str, Any]] = []
        self._autocast: dict[str, str] | None = None
        self._initial = Taken()
        self._first = Taken()
        self._optimizer_told: dict[str, Any] | None = None
        self._thread: threading.Thread | None = None

    def of(self, modules: Callable[[], list[nn.Module]], optimizer: Callable[[], Any]) -> None:
        """Look at the modules whose calls are stamped, and the optimizer that owns the steps."""
        self._modules = modules
        self._optimizer = optimizer
        with quietly():
            self._initial = Taken(random_states(), probed(lambda: Weights(self._parameters(), 0)))
            self._optimizer_told = probed(lambda: optimizer_settings(optimizer()))

    def device(self) -> torch.device | None:
        """Where the model is, as far as is known."""
        with quietly():
            return next((p.device for _, p in self._parameters()), None)

    def compiled(self) -> bool:
        """Whether this process has compiled code, or a module is to be compiled when called."""
        return compiled_code() or any(map(is_compiled, self._modules()))

    def loader(self, loader: Any, steps: int) -> None:
        """A loader's iterator was made; of one that comes late, an event of its own tells.

        Args:
            loader: The loader.
            steps: Steps that had ended.
        """
        if len(self._loaders) >= (MOST_LOADERS if self.wanted else MOST_LATE):
            return
        with quietly():
            settings = tried(lambda: loader_settings(loader), lambda _: {})
        if not settings or settings in self._loaders:
            return
        self._loaders.append(settings)
        if not self.wanted:
            last = {"last": True} if len(self._loaders) == MOST_LATE else {}
            self._note("loader", {"after_steps": steps, **settings, **last})

    def called(self) -> None:
        """A module is called for the first time: autocast is on now, if it is used."""
        self._autocast = probed(autocast)

    def step_ended(self, steps: int) -> None:
        """A step is over.

        Args:
            steps: How many are.
        """
        with quietly():
            if steps == 1:
                self._first = Taken(random_states(), probed(lambda: Weights(self._parameters(), 1)))
                self._optimizer_told = probed(self._stepped)
            if steps == WRITTEN_AFTER:
                self._write()

    def stop(self) -> None:
        """Write it, if that has not been done, and wait until it is written."""
        if self.wanted:
            with quietly():
                self._write()
        if self._thread is not None and self._thread.ident is not None:
            self._thread.join(WAIT_S)

    def _parameters(self) -> list[tuple[str, torch.Tensor]]:
        found = [pair for module in self._modules() for pair in module.named_parameters()]
        groups = getattr(self._optimizer(), "param_groups", ())
        return found or [("", p) for group in groups for p in group["params"]]

    def _write(self) -> None:
        self.wanted = False
        values = {
            **settings(),
            "autocast": self._autocast,
            "compile": probed(lambda: compilation(self._modules(), used=self.compiled())),
            "parallelism": probed(lambda: parallelism(self._modules())),
            "model": probed(self._model),
            "loaders": list(self._loaders),
            "optimizer": self._optimizer_told,
        }
        self._thread = threading.Thread(
            target=self._finish, args=(values,), name="pytscope-torch", daemon=True
        )
        with suppress(RuntimeError):  # no thread to be had
            self._thread.start()
            return
        self._finish(values)

    def _stepped(self) -> dict[str, Any] | None:
        """What is known of the optimizer once it has stepped, of one found late not all."""
        found = self._optimizer()
        told = self._optimizer_told or optimizer_settings(found)
        if told is None:
            return None
        known = {} if self._optimizer_told else {"state_at_start": None}
        return {**told, **known, "steps_after_first": steps_made(found)}

    def _model(self) -> dict[str, Any]:
        held = [(p.numel(), p.requires_grad, str(p.dtype)) for _, p in self._parameters()]
        kinds = dict.fromkeys(sorted(kind for _, _, kind in held), 0)
        for n, _, kind in held:
            kinds[kind] += n
        return {
            "parameters": sum(n for n, _, _ in held),
            "trained": sum(n for n, on, _ in held if on),
            "dtypes": {kind.removeprefix("torch."): n for kind, n in kinds.items()},
        }

    def _finish(self, values: dict[str, Any]) -> None:
        with harmless("noting what PyTorch was set to"):
            random_hashes = self._first.random_hashes()
            found = {
                **values,
                "initial_random_states": self._initial.random_hashes(),
                "initial_weights": self._initial.weights_told(),
                "random_states": {**random_hashes, "after_step": 1} if random_hashes else None,
                "weights": self._first.weights_told(),
            }
            self._note("torch", found)


class Taken:
    """What was taken at one moment, to be hashed when asked for.

    Args:
        states: States of random number generators.
        weights: Elements of the weights, or None.
    """

    def __init__(
        self, states: dict[str, Any] | None = None, weights: Weights | None = None
    ) -> None:
        self._states = states or {}
        self._weights = weights

    def random_hashes(self) -> dict[str, Any] | None:
        """A hash of each state; None without any."""
        found = {name: probed(partial(hashed, s)) for name, s in self._states.items()}
        return found or None

    def weights_told(self) -> dict[str, Any] | None:
        """The hash of the weights and what it is of; None when there is nothing to hash."""
        return None if self._weights is None else probed(self._weights.told)


def settings() -> dict[str, Any]:
    """Versions, devices and switches of PyTorch in this process."""
    cuda, cudnn = torch.backends.cuda, torch.backends.cudnn
    return {
        "version": torch.__version__,
        "git": torch.version.git_version,
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "cudnn": probed(cudnn.version) if torch.cuda.is_initialized() else None,
        "devices": probed(devices),
        "threads": torch.get_num_threads(),
        "determinism": {
            "algorithms": probed(torch.are_deterministic_algorithms_enabled),
            "warn_only": probed(torch.is_deterministic_algorithms_warn_only_enabled),
            "cudnn": probed(lambda: cudnn.deterministic),
            "cudnn_benchmark": probed(lambda: cudnn.benchmark),
        },
        "precision": {
            "matmul": probed(torch.get_float32_matmul_precision),
            "tf32_matmul": probed(lambda: cuda.matmul.allow_tf32),
            "tf32_cudnn": probed(lambda: cudnn.allow_tf32),
            "fp32_matmul": probed(lambda: cuda.matmul.fp32_precision),
            "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
            "bf16_reduction": probed(lambda: cuda.matmul.allow_bf16_reduced_precision_reduction),
        },
        "initial_seed": torch.initial_seed(),
    }


def devices() -> list[dict[str, Any]]:
    """Accelerators that this process uses, by name, capability and memory."""
    if not torch.cuda.is_initialized():  # asking would initialise them
        return []
    current = torch.cuda.current_device()
    found = []
    for index in range(torch.cuda.device_count()):
        told = torch.cuda.get_device_properties(index)
        capability = f"{told.major}.{told.minor}"
        row = {"name": told.name, "capability": capability, "memory_bytes": told.total_memory}
        found.append({**row, "current": index == current})
    return found


def autocast() -> dict[str, str]:
    """The element type of autocast by kind of device, where it is on."""
    on = [kind for kind in KINDS if probed(partial(torch.is_autocast_enabled, kind))]
    return {kind: str(torch.get_autocast_dtype(kind)).removeprefix("torch.") for kind in on}


def compilation(modules: Iterable[nn.Module], *, used: bool) -> dict[str, Any]:
    """Whether code was compiled, and how, as far as the modules tell."""
    contexts = (getattr(module, "dynamo_ctx", None) for module in modules)
    callbacks = (getattr(context, "callback", None) for context in contexts)
    told = [backend(callback) for callback in callbacks if callback is not None]
    return {"used": used or bool(told), "modules": told[:MOST_LOADERS]}


def backend(callback: Any) -> dict[str, Any]:
    """Name and options of a compiler, under what Dynamo has wrapped it in."""
    while (inner := getattr(callback, "_torchdynamo_orig_backend", None)) is not None:
        callback = inner
    names = (getattr(callback, name, None) for name in ("compiler_name", "name", "__name__"))
    options = getattr(callback, "config", None)
    found = {"backend": next((name for name in names if isinstance(name, str)), None)}
    return found | ({"options": dict(options)} if isinstance(options, dict) else {})


def parallelism(modules: Iterable[nn.Module]) -> dict[str, Any] | None:
    """How the work is divided among processes; None in a process on its own."""
    parts = [part for module in modules for part in module.modules()]
    kinds = {base.__name__ for part in parts for base in type(part).__mro__}
    meshes = {mesh for part in parts for p in part.parameters(recurse=False) for mesh in _mesh(p)}
    wrappers = [name for name in WRAPPERS if name in kinds]
    if not (wrappers or meshes or _group()):
        return None
    group = torch.distributed if _group() else None
    return {
        "world": group.get_world_size() if group else None,
        "backend": group.get_backend() if group else None,
        "wrappers": wrappers,
        "meshes": sorted(meshes),
    }


def _group() -> bool:
    return bool(torch.distributed.is_available() and torch.distributed.is_initialized())


def _mesh(parameter: torch.Tensor) -> Iterator[str]:
    mesh = getattr(parameter, "device_mesh", None)
    if mesh is not None:
        names = mesh.mesh_dim_names or [""] * mesh.ndim
        dims = (f"{name}={size}" for name, size in zip(names, mesh.shape, strict=True))
        yield " ".join((*dims, str(getattr(parameter, "placements", ""))))

"""What to do about runs that part, for what is on in them, and what they did not record."""

from __future__ import annotations

from collections.abc import Iterator

from pytscope.diffing.evidence import PairEvidence
from pytscope.diffing.facts import INITIAL_WEIGHTS
from pytscope.diffing.roles import Role

_BENCHMARK = ("torch.determinism.cudnn_benchmark", "cudnn_benchmark")
_ALGORITHMS = ("torch.determinism.algorithms", "deterministic_algorithms", "deterministic")


def determinism_advice(evidence: PairEvidence) -> str:
    """How to make the runs' operations deterministic: only what is recorded as off, or on.

    Args:
        evidence: What the runs show.

    Returns:
        Sentences, or an empty string where nothing recorded is amiss.
    """
    return " ".join(_advice(evidence))


def _advice(evidence: PairEvidence) -> Iterator[str]:
    on_device = used_device(evidence)
    if on_device is not False and _any(evidence, _BENCHMARK, value=True):
        yield "Turn torch.backends.cudnn.benchmark off: it picks kernels by their speed."
    if _any(evidence, _ALGORITHMS, value=False):
        yield "Call torch.use_deterministic_algorithms(True): it replaces or names the operations."
        if on_device and _unset(evidence, "env.CUBLAS_WORKSPACE_CONFIG"):
            yield "Set CUBLAS_WORKSPACE_CONFIG=:4096:8, which it asks of cuBLAS."
    threads = [value for value in evidence.told("torch.threads") if isinstance(value, int)]
    if on_device is False and any(value > 1 for value in threads):
        yield "On a CPU, torch.set_num_threads(1) keeps sums in one order."
    for own in evidence.facts:
        if any(k.endswith(".in_order") and v is False for k, v in own.items()):
            yield "Make the loader with in_order=True: batches come as workers finish."
            break


def used_device(evidence: PairEvidence) -> bool | None:
    """Whether a run used an accelerator; None when neither tells."""
    told = [value for value in evidence.told("torch.devices") if isinstance(value, str)]
    if not told:
        return None
    return any(value != "none" for value in told)


def _any(evidence: PairEvidence, names: tuple[str, ...], *, value: bool) -> bool:
    return any(own.get(name) is value for own in evidence.facts for name in names)


def _unset(evidence: PairEvidence, name: str) -> bool:
    return any(not own.get(name) for own in evidence.facts)


def not_recorded(evidence: PairEvidence) -> str:
    """What would have helped and is not recorded in both runs, as a list of words."""
    return ", ".join(_missing(evidence))


def _missing(evidence: PairEvidence) -> Iterator[str]:
    if not evidence.seen(Role.BATCH):
        yield "fingerprints of the batches"
    if not evidence.seen(Role.RATE):
        yield "the learning rate"
    for name, words in (
        (INITIAL_WEIGHTS, "a hash of the initial weights"),
        ("torch.initial_seed", "PyTorch's seed"),
        ("git.sha", "the code's commit"),
        ("git.dirty", "whether the code was changed since its commit"),
    ):
        if any(own.get(name) is None for own in evidence.facts):
            yield words
    if not all(any(key.startswith("packages.") for key in own) for own in evidence.facts):
        yield "the packages"

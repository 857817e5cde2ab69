"""When an operation that depends on timing is named, and how sure that is."""

from __future__ import annotations

from pytscope.model.comparison import CauseKind
from pytscope.model.comparison_causes import CauseId
from pytscope.model.findings import Confidence
from pytscope.testing import make_run
from tests.core.diffing.parting import (
    LOSS,
    changed,
    environment,
    found,
    made,
    only,
)

SURE, PERHAPS = Confidence.CONFIRMED, Confidence.SUGGESTIVE


def test_a_nondeterministic_operation():
    cause = only(made(), made(loss=changed(LOSS, 1, 1e-8)))
    assert (cause.kind, cause.id, cause.confidence) == (
        CauseKind.BACKWARD,
        CauseId.NONDETERMINISM,
        SURE,
    )
    assert "use_deterministic_algorithms" in cause.fix
    assert "benchmark" not in cause.fix


def test_advice_is_for_what_is_on():
    row = {"name": "H200", "capability": "9.0"}
    on = {"algorithms": False, "cudnn_benchmark": True}
    there = environment(devices=[row], determinism=on)
    a, b = made(provenance=there), made(loss=changed(LOSS, 1, 1e-8), provenance=there)
    assert "cudnn.benchmark" in only(a, b).fix
    assert "CUBLAS_WORKSPACE_CONFIG" in only(a, b).fix
    there = environment(determinism={"algorithms": True, "cudnn_benchmark": False})
    a, b = made(provenance=there), made(loss=changed(LOSS, 1, 1e-8), provenance=there)
    assert only(a, b).fix == ""


def test_threads_are_advised_on_where_there_are_several():
    there = environment(threads=8)
    a, b = made(provenance=there), made(loss=changed(LOSS, 1, 1e-8), provenance=there)
    assert "set_num_threads(1)" in only(a, b).fix


def test_it_may_begin_in_the_first_forward_pass():
    cause = only(made(), made(loss=changed(LOSS, 0, 1e-8)))
    assert cause.id is CauseId.NONDETERMINISM
    assert "forward pass of step 0" in cause.detail


def test_gradient_norms_tell_where():
    norm = [1.0 + i for i in range(24)]
    a = made(scalars={"grad_norm": norm})
    b = made(loss=changed(LOSS, 4, 1e-8), scalars={"grad_norm": changed(norm, 4, 1e-8)})
    assert "Gradient norms agree up to step 4" in only(a, b).detail


def test_a_large_gap_is_no_rounding():
    cause = only(made(), made(loss=changed(LOSS, 5)))
    assert cause.kind is CauseKind.UNKNOWN
    assert "equal" in cause.detail


def test_other_packages_explain_rounding():
    there = environment(version="2.1.0")
    ids = [c.id for c in found(made(), made(loss=changed(LOSS, 1, 1e-8), provenance=there))
              .causes]  # fmt: skip
    assert ids == [CauseId.PACKAGES]


def test_little_recorded_is_unknown():
    a, b = (make_run({"forward": 1}, scalars={"loss": v}) for v in (LOSS, changed(LOSS, 5)))
    cause = only(a, b)
    assert cause.kind is CauseKind.UNKNOWN
    assert "fingerprints" in cause.detail


def test_rounding_with_little_recorded_is_not_sure():
    there = environment(version=None)
    cause = only(made(provenance=there), made(loss=changed(LOSS, 1, 1e-8), provenance=there))
    assert (cause.id, cause.confidence) == (CauseId.NONDETERMINISM, PERHAPS)


def test_another_commit_does_not_hide_rounding():
    there = environment()
    there["git"] = {"sha": "def", "branch": "main", "dirty": False, "diff_sha256": None}
    causes = found(made(), made(loss=changed(LOSS, 1, 1e-8), provenance=there)).causes
    assert {cause.id for cause in causes} == {CauseId.CODE, CauseId.NONDETERMINISM}


def test_code_that_is_not_recorded_may_be_what_rounds():
    """Adam hardly minds another limit of the gradients' norm, which nothing recorded tells."""
    there = environment()
    there["git"] = {"sha": None, "reason": "not a git repository"}
    cause = only(made(provenance=there), made(loss=changed(LOSS, 1, 1e-8), provenance=there))
    assert (cause.id, cause.confidence) == (CauseId.NONDETERMINISM, PERHAPS)


def test_code_that_git_could_not_tell_of_one_run_is_not_other_code():
    here, there = environment(), environment()
    here["git"] = {"sha": "def", "branch": "main", "dirty": True, "diff_sha256": "x"}
    untold = {"dirty": None, "diff_sha256": None, "reason": "git took longer than 2 s"}
    there["git"] = {"sha": "def", "branch": "main", **untold}
    cause = only(made(provenance=here), made(loss=changed(LOSS, 1, 1e-8), provenance=there))
    assert (cause.id, cause.confidence) == (CauseId.NONDETERMINISM, PERHAPS)
    assert "whether the code was changed" in cause.detail


def test_where_torch_forbids_such_operations_it_is_not_sure():
    there = environment(determinism={"algorithms": True, "cudnn_benchmark": False})
    cause = only(made(provenance=there), made(loss=changed(LOSS, 1, 1e-8), provenance=there))
    assert (cause.id, cause.confidence) == (CauseId.NONDETERMINISM, PERHAPS)


def test_between_logged_steps_rounding_may_have_grown_but_not_to_anything():
    def sparse(values):
        return [v if i % 10 == 0 else None for i, v in enumerate(values)]

    a = made(loss=sparse(LOSS))
    assert only(a, made(loss=sparse(changed(LOSS, 3, 0.004)))).id is CauseId.NONDETERMINISM
    assert only(a, made(loss=sparse(changed(LOSS, 3, 0.1)))).id is CauseId.UNKNOWN

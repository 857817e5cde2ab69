"""One bad run among several does not refuse the comparison of the others."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

import pytscope
from pytscope.diffing.compare import compare
from pytscope.diffing.gate import RegressionGate
from pytscope.diffing.options import Compared, CompareOptions, Unread
from pytscope.model.errors import NothingUsable, RunNotFound, RunUnreadable
from pytscope.plugins.registry import load_registry
from pytscope.plugins.selection import PluginSelection
from pytscope.testing import make_run
from tests.core.diffing.corpus import noisy_loss

GONE = Unread("runs/gone", RunNotFound("there is nothing at runs/gone"))
TORN = Unread("torn", RunUnreadable("torn is a folder without a run"))


@pytest.fixture(scope="module")
def core() -> Any:
    return load_registry(PluginSelection(autoload=False))


def run(seed: int) -> pytscope.Run:
    return make_run({"forward": 1}, scalars={"loss": noisy_loss(seed, 60)}, name=f"run{seed}")


def empty(seed: int) -> pytscope.Run:
    return attrs.evolve(run(seed), timelines=())


def test_the_others_keep_their_letters_and_are_compared():
    compared = Compared.of([run(1), GONE, run(3)])
    assert (compared.labels, compared.arms) == (("A", "C"), (0, 1))
    (out,) = compared.left_out
    assert (out.label, out.path, out.reason) == ("B", "runs/gone", "there is nothing at it")


def test_without_the_first_the_next_takes_its_place(core):
    found = compare(Compared.of([TORN, run(1), run(2), run(3)]), core)
    assert [(d.first, d.second) for d in found.divergences] == [("B", "C"), ("B", "D")]
    assert [side.arm for side in found.sides] == [0, 1, 1]
    panel = found.panels[0]
    assert panel.id == "left_out"
    said = [row.text for row in panel.rows]
    assert said[0] == "A: torn is a folder without a run"
    assert "compared with B" in said[1]
    assert found.headline.endswith("left out: A")


def test_a_comparison_without_bad_runs_says_nothing_of_them(core):
    found = compare(Compared.of([run(1), run(2)]), core)
    assert found.left_out == ()
    assert "left_out" not in {panel.id for panel in found.panels}
    assert "left out" not in found.headline


@pytest.mark.parametrize(
    ("first", "second"),
    [([GONE], [TORN]), ([GONE, run(1)], []), ([run(1), run(2)], [GONE]), ([GONE], [run(1)])],
)
def test_where_too_few_are_left_the_first_error_stands(first, second):
    bad = next(one for one in (*first, *second) if isinstance(one, Unread))
    with pytest.raises(type(bad.error), match=str(bad.error)):
        Compared.of(first, second)


def test_an_arm_goes_on_with_the_runs_it_has(core):
    compared = Compared.of([run(1), run(2), run(3), GONE], [run(5), TORN, run(6), run(7)])
    assert compared.arms == (0, 0, 0, 1, 1, 1)
    assert compared.labels == tuple("ABCEGH")
    found = compare(compared, core)
    assert found.outcomes[0].test == "Welch t, 3 and 3 runs"
    assert [(out.label, out.arm) for out in found.left_out] == [("D", 0), ("F", 1)]


def test_a_run_without_a_step_is_left_out_too(core):
    cut = CompareOptions(analysis=attrs.evolve(CompareOptions().analysis, steps=(80, 99)))
    long = [
        make_run({"forward": 1}, scalars={"loss": noisy_loss(seed, 100)}, name=f"long{seed}")
        for seed in (1, 2)
    ]
    found = compare(Compared.of([run(3), *long]), core, cut)
    (out,) = found.left_out
    assert (out.label, out.reason) == ("A", "no step of those asked for")
    found = compare(Compared.of([run(1), empty(2), run(3)]), core)
    assert found.left_out[0].reason == "no record of any rank"
    assert [side.label for side in found.sides] == ["A", "C"]
    with pytest.raises(NothingUsable):
        compare(Compared.of([run(1)], [empty(2), empty(3)]), core)


def test_a_gate_does_not_pass_for_a_run_that_was_left_out(core):
    gate = CompareOptions(gate=RegressionGate())
    one = run(1)
    assert compare(Compared.of([one, one]), core, gate).gate == "passed"
    found = compare(Compared.of([one, one, GONE]), core, gate)
    assert found.gate == "not evaluated"
    assert "C: left out" in found.gate_reason
    arms = compare(Compared.of([one], [one, GONE]), core, gate)
    assert arms.gate == "passed"


def test_the_public_function_does_the_same(tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    found = pytscope.diff(run(1), run(2), bare)
    (out,) = found.left_out
    assert (out.label, out.path) == ("C", str(bare))
    assert str(tmp_path) not in out.reason
    with pytest.raises(RunNotFound):
        pytscope.diff(run(1), run(2), tmp_path / "gone")

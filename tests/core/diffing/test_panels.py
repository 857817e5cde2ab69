"""Sections of a comparison, and how the built-in reporters draw them."""

from __future__ import annotations

import json
from typing import Any

import attrs
import jsonschema
import pytest

from pytscope.builtin.reporters.comparisons import text_comparison
from pytscope.builtin.reporters.json import json_comparison
from pytscope.builtin.reporters.markdown_comparison import markdown_comparison
from pytscope.diffing.panels import panels
from pytscope.diffing.parted import divergence_words
from pytscope.model.comparison import (
    At,
    Comparison,
    Divergence,
    Measured,
    SeriesDifference,
    Verdict,
)
from pytscope.model.panels import Panel, Status, Text
from pytscope.plugins.declare import RenderOptions
from tests.core.builtin.reporters.drawn import COLOR
from tests.core.diffing.said import (
    BAD_BATCH,
    HOST,
    PARTED,
    RULE,
    SEEDS,
    SIDES,
    SLOWER,
    WORSE,
    compared,
)
from tests.core.report_samples import HOSTILE
from tests.core.test_schemas import schema

SAME = Divergence(first="A", second="B", steps=90, identical=True)
NOTHING: dict[str, Any] = {
    "differences": (),
    "divergences": (SAME,),
    "outcomes": (),
    "timings": (),
    "shared": (),
    "findings": (),
    "gained": (),
    "problems": (),
    "identical": True,
}


def panel(comparison: Comparison, name: str) -> Panel:
    return next(p for p in comparison.panels if p.id == name)


def text(comparison: Comparison, **options: Any) -> str:
    return text_comparison(comparison, RenderOptions(**options))


def one_line(comparison: Comparison) -> str:
    return " ".join(text(comparison).split())


def test_the_order_of_sections():
    assert [p.title for p in compared().panels] == [
        "PROVENANCE",
        "DIVERGENCE",
        "OUTCOMES",
        "TIMING",
        "SHARED STEPS",
        "FINDINGS",
    ]


def test_the_text_says_where_they_part_why_and_what_to_do():
    said = one_line(compared())
    assert "REGRESSION" not in said.partition("PROVENANCE")[0].replace("regression", "")
    assert "regression: final loss +19.6%" in said
    assert "differ from step 12 on, which matters from step 40 on: the order of the data" in said
    assert "first difference: step 12, loss: 0.69314718 against 0.69314719" in said
    assert "first that matters: step 40, loss: 0.61 against 0.74" in said
    assert "cause 1 (batch): the order of the data. The batch of step 12" in said
    assert "borne out by: seeds.python" in said
    assert "fix: Seed the sampler." in said
    assert "A alone has 5 more" in said
    assert "memory was recorded in A alone" in said
    assert "equal to the last bit at every common step: lr" in said


def test_provenance_names_every_difference_and_puts_aside_what_hardly_matters():
    section = panel(compared(), "provenance")
    assert section.headline == (
        "2 of 40 recorded facts not the same: 1 changes numbers, 1 hardly changes numbers"
    )
    said = one_line(compared())
    assert "seeds.python 1 2 seed" in said
    assert "hardly change numbers: host.name" in said
    assert "one" not in said.partition("hardly change numbers:")[2].partition("DIVERGENCE")[0]
    full = panels(compared(), detailed=True)[0]
    assert "(not recorded)" in str(full.rows)


def test_reasons_that_differences_share_stand_once():
    again = attrs.evolve(SEEDS, key="seeds.numpy")
    assert "seeds.python, seeds.numpy: Draws differ " in one_line(
        compared(differences=(SEEDS, again))
    )


def test_fingerprints_are_drawn_as_hashes():
    at = At(0, "batch_fingerprint", -1, 255)
    said = one_line(compared(divergences=(attrs.evolve(PARTED, bitwise=at),)))
    assert "step 0, batch_fingerprint: ffffffffffffffff against 00000000000000ff" in said


def test_one_identical_pair_without_a_loss():
    said = compared(**NOTHING)
    assert said.headline == "identical; no loss recorded"
    assert panel(said, "divergence").status is Status.OK
    assert panel(said, "outcomes").status is Status.NOT_MEASURED
    assert panel(said, "provenance").headline == "none of 40 recorded facts differs"
    assert "NONDETERMIN" not in text(said).upper()


def test_nothing_to_compare_is_not_identical():
    none = attrs.evolve(SAME, identical=None)
    said = compared(**{**NOTHING, "divergences": (none,), "identical": None})
    assert "cannot be compared" in said.headline
    assert panel(said, "divergence").status is Status.NOT_MEASURED


def test_a_difference_that_never_matters_is_called_rounding_and_not_printed():
    loss = attrs.evolve(PARTED.series[0], material=None, largest=1.776e-15)
    rounding = attrs.evolve(PARTED, material=None, series=(loss,), causes=())
    said = compared(divergences=(rounding,))
    assert "differ from step 12 on, by no more than rounding" in said.headline
    assert "1.776e-15" not in text(said)
    assert "1.8e-15" not in text(said)


def test_more_than_three_runs_share_columns():
    sides = tuple(
        attrs.evolve(SIDES[i % 2], label=label, arm=i // 2) for i, label in enumerate("ABCD")
    )
    seeds = attrs.evolve(SEEDS, values=(1, 2, 1, 2))
    rule = attrs.evolve(
        RULE, outcomes=RULE.outcomes * 2, severities=RULE.severities * 2, costs_s=RULE.costs_s * 2
    )
    pairs = tuple(attrs.evolve(PARTED, second=label) for label in "BCD")
    said = compared(
        sides=sides, grouped=True, differences=(seeds,), findings=(rule,), divergences=pairs
    )
    shown = one_line(said)
    assert "1 (A, C), 2 (B, D)" in shown
    assert "passed (A, C), high, 1.50 s (B, D)" in shown
    assert "DIFF 2 runs against 2" in shown
    assert "● DIVERGENCE · bad — A and B, A and C, A and D: differ from step 12" in shown
    assert shown.count("cause 1 (batch)") == 1


def test_amounts_are_drawn_with_interval_and_verdict():
    said = one_line(compared())
    assert "final loss 0.51 ±0.01 0.61 ±0.01 +0.1 (+19.6%) +0.08 to +0.12 regression" in said
    assert "Ten times what repeats differ by; Welch t, 3 and 3 runs, p 0.0003" in said
    assert "smallest difference that would have been seen: 0.03" in said
    assert "cannot tell: step time" in said


def test_pairs_are_named_where_there_are_several():
    def between(pair: str, measured: Measured = WORSE) -> Measured:
        return attrs.evolve(measured, between=pair, verdict=Verdict.UNDECIDED)

    said = one_line(compared(outcomes=(between("A, B"), between("A, C"))))
    assert "final loss (A, B)" in said
    assert "final loss (A, C)" in said


def test_shared_steps_are_named():
    said = compared()
    assert panel(said, "shared").headline.startswith("step 918: the same bad step")
    assert "bad data at step 918" in said.headline
    assert "918 loss A, B x1.36 to x1.37 p 1.0e-05" in one_line(said)
    two = compared(shared=(BAD_BATCH, attrs.evolve(BAD_BATCH, step=946)))
    assert "bad data at steps 918, 946" in two.headline


def test_findings_gained_are_named_and_cells_tell_passed_from_not_measured():
    assert "TIMING.JITTER passed high, 1.50 s" in one_line(compared())
    assert "gained: TIMING.JITTER" in one_line(compared())


def test_the_gate_is_drawn():
    said = compared(gate="not evaluated", gate_reason="regression:0.05: one run an arm")
    assert "GATE · not evaluated — regression:0.05: one run an arm" in one_line(said)
    assert "**Gate:** not evaluated" in markdown_comparison(said, RenderOptions())


@pytest.mark.parametrize("width", [40, 60, 88, 200])
def test_no_line_is_wider_than_asked_and_colour_changes_no_character(width):
    plain = text(compared(), width=width)
    assert max(map(len, plain.splitlines())) <= width
    assert COLOR.sub("", text(compared(), width=width, color=True)) == plain


@pytest.mark.parametrize("hostile", HOSTILE)
def test_text_from_runs_is_escaped(hostile):
    evil = attrs.evolve(SEEDS, key=hostile, values=(hostile, hostile + "!"), why=hostile)
    sides = (attrs.evolve(SIDES[0], run=attrs.evolve(SIDES[0].run, name=hostile)), SIDES[1])
    cause = attrs.evolve(PARTED.causes[0], title=hostile, detail=hostile, fix=hostile)
    said = compared(
        differences=(evil, HOST), sides=sides, divergences=(attrs.evolve(PARTED, causes=(cause,)),)
    )
    drawn = text(said) + markdown_comparison(said, RenderOptions())
    for bad in ("\x1b", "\x9b", "\x00", "\u202e", "\u2028", "\ud800"):
        assert bad not in drawn
    drawn.encode()
    json.loads(said.to_json())
    text(said, ascii=True).encode("ascii")


def test_markdown_says_the_same():
    drawn = markdown_comparison(compared(), RenderOptions())
    assert drawn.startswith("## pytscope DIFF of A, B")
    assert "**Verdict:** regression: final loss +19.6%" in drawn
    for section in compared().panels:
        assert f"### {section.title}" in drawn
    assert "acme" in drawn


VALIDATOR = jsonschema.Draft202012Validator(schema("diff"))


@pytest.mark.parametrize(
    "comparison",
    [
        compared(),
        compared(**NOTHING),
        compared(gate="failed", gate_reason="worse"),
        compared(outcomes=(attrs.evolve(WORSE, first=(float("nan"),), low=None, p=None),)),
        compared(timings=(SLOWER, attrs.evolve(SLOWER, metric="forward", relative=None))),
    ],
    ids=["all", "nothing", "gate", "nan", "timings"],
)
def test_the_document_is_of_its_schema(comparison):
    VALIDATOR.validate(json.loads(json_comparison(comparison, RenderOptions())))


def test_a_reproducible_document_has_no_paths_and_times():
    said = compared().to_json(reproducible=True)
    assert "/data/runs" not in said
    assert "created_epoch_ns" not in said
    VALIDATOR.validate(json.loads(said))
    assert "/data/runs" not in text(compared(), reproducible=True)


def test_the_schema_names_every_field():
    from pytscope.model import comparison as model

    described = schema("diff")["$defs"]
    for name, of in {
        "side": model.Side,
        "difference": model.Difference,
        "at": model.At,
        "series": model.SeriesDifference,
        "cause": model.Cause,
        "divergence": model.Divergence,
        "measured": model.Measured,
        "shared": model.SharedStep,
        "compared_rule": model.ComparedRule,
    }.items():
        fields = [f.name for f in attrs.fields(of)]
        assert list(described[name]["properties"]) == fields
        assert described[name]["required"] == fields
    for name, kind in (
        ("difference", model.Kind),
        ("cause", model.CauseKind),
        ("measured", model.Verdict),
    ):
        key = "verdict" if name == "measured" else "kind"
        assert described[name]["properties"][key]["enum"] == [k.value for k in kind]


def test_the_schema_notices_what_is_wrong():
    document = json.loads(compared().to_json())
    document["outcomes"][0]["verdict"] = "worse"
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(document)


def test_one_sentence_says_which_timings_are_beyond_the_noise_of_the_steps():
    within = attrs.evolve(SLOWER, metric="data", low=-0.1, high=0.1, test="block bootstrap")
    beyond = attrs.evolve(SLOWER, test="block bootstrap, steps worth 9 and 8 independent ones")
    said = one_line(compared(timings=(beyond, within)))
    assert (
        "step time: beyond the noise of the steps, in these two recordings alone; repeats may "
        "differ as much; 95% intervals by block bootstrap, steps worth 9 and 8 independent ones"
    ) in said
    assert said.count("noise of the steps") == 1
    assert "no change is beyond" in one_line(compared(timings=(within,)))
    assert "every change: beyond" in one_line(compared(timings=(beyond,)))


def test_values_that_not_every_step_has_are_counted():
    loss = SeriesDifference("loss", 9, 0, 0, None, None, 0.0)
    same = attrs.evolve(SAME, series=(loss,))
    assert divergence_words(same) == (
        "A and B are equal to the last bit at all 9 of 90 common steps at which both logged a value"
    )


def test_facts_that_were_cut_are_said_to_be():
    said = one_line(compared(cut=("config.long",)))
    assert "recorded in part, for their length, and compared so far: config.long" in said


def unseen(metric: str, p: float, **more: Any) -> Measured:
    """Worse, and not seen to be: by half of its value it would have been."""
    given = {"first": (0.5, 0.5, 0.5), "smallest": 0.25, "low": -0.1, "high": 0.3}
    of = {"metric": metric, "p": p, "detail": "", "verdict": Verdict.NO_DIFFERENCE}
    return attrs.evolve(WORSE, **of | given | more)


def test_how_phases_were_tested_is_for_those_who_ask():
    each = tuple(unseen(name, 0.4) for name in ("step time", "throughput", "forward"))
    comparison = compared(timings=each)
    for detailed, who in ((False, "step time, throughput"), (True, "step time, throughput, f")):
        (timing,) = (p for p in panels(comparison, detailed=detailed) if p.id == "timings")
        (said,) = (row.text for row in timing.rows if isinstance(row, Text))
        assert said.startswith(who)
        assert said.partition(":")[0].endswith("forward") == detailed
        assert said.endswith("smallest difference that would have been seen: 0.25 (50.0%)")
        assert timing.status is Status.OK


@pytest.mark.parametrize(("p", "status"), [(0.062, Status.WATCH), (0.4, Status.OK)])
def test_that_none_was_seen_says_what_would_have_been(p, status):
    one = compared(outcomes=(unseen("final loss", p),))
    outcomes = panel(one, "outcomes")
    assert outcomes.headline == "no difference seen: final loss; 50.0% or more would have been"
    assert outcomes.status is status
    both = compared(outcomes=(unseen("final loss", p), unseen("accuracy", p, smallest=0.5)))
    said = "no difference seen: final loss, accuracy; 50.0% to 100.0% or more would have been"
    assert panel(both, "outcomes").headline == said


def test_of_times_that_of_the_step_alone_is_for_the_lamp():
    assert panel(compared(timings=(unseen("forward", 0.1),)), "timings").status is Status.OK
    assert panel(compared(timings=(unseen("step time", 0.1),)), "timings").status is Status.WATCH

"""`pytscope diff` from the command line: arms, formats, gates, noise store, exit codes."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest

from pytscope.cli.diff_values import AttemptOf, attempt, regression
from pytscope.diffing.gate import RegressionGate
from pytscope.recording.profiler import Profiler
from tests.core.cli.conftest import Clock
from tests.core.test_schemas import schema

MADE = Path


def losses(steps: int, seed: int, level: float = 0.0) -> list[float]:
    """A falling loss with noise of its own."""
    rng = random.Random(seed)
    return [math.exp(-i / 40) + 0.5 + level + rng.gauss(0, 0.01) for i in range(steps)]


def record(
    folder: Path,
    loss: Sequence[float] | None,
    *,
    config: dict[str, Any] | None = None,
    first: int = 0,
    ms: int = 10,
) -> Path:
    """Record a run on a clock of its own, with or without a loss."""
    clock = Clock()
    steps = 60 if loss is None else len(loss)
    with Profiler(
        folder, name=folder.name, warmup=5, clock=clock, inline=True, config=config
    ) as profiler:
        for i in range(steps):
            with profiler.step():
                clock.pass_ms(ms + i % 3)
                profiler.mark("forward")
                if loss is not None:
                    profiler.log(loss=loss[i], lr=0.1)
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs by name; `worse1` to `worse3` end one third higher than `base1` to `base3`."""
    root = tmp_path_factory.mktemp("runs")
    runs = {"silent": record(root / "silent", None)}
    parted = losses(60, 1)
    parted[30:] = [value + 0.2 for value in parted[30:]]
    runs["parted"] = record(root / "parted", parted, config={"lr": 0.2})
    runs["again"] = record(root / "again", losses(60, 1), config={"lr": 0.1})
    for i in (1, 2, 3, 4, 5, 6):
        config = {"lr": 0.1, "seed": i}
        runs[f"base{i}"] = record(root / f"base{i}", losses(60, i), config=config)
        worse = losses(60, 10 + i, 0.25)
        runs[f"worse{i}"] = record(root / f"worse{i}", worse, config={"lr": 0.3, "seed": i})
    return runs


def document(cli: Callable[..., Any], *arguments: object) -> dict[str, Any]:
    result = cli("diff", *arguments, "--format", "json")
    found: dict[str, Any] = json.loads(result.out)
    jsonschema.validate(found, schema("diff"))
    return found


def test_two_runs_are_drawn_and_nothing_is_written(cli, made):
    before = {p: p.stat().st_mtime_ns for p in made["base1"].iterdir()}
    result = cli("diff", made["base1"], made["parted"])
    assert (result.code, result.err) == (0, "")
    for title in ("PROVENANCE", "DIVERGENCE", "OUTCOMES", "TIMING", "SHARED STEPS", "FINDINGS"):
        assert f"● {title}" in result.out
    assert "config.lr" in result.out
    assert {p: p.stat().st_mtime_ns for p in made["base1"].iterdir()} == before


@pytest.mark.parametrize("name", ["base1", "silent"])
def test_a_run_against_itself_is_identical_also_without_a_loss(cli, made, name):
    found = document(cli, made[name], made[name])
    assert found["identical"] is True
    assert found["differences"] == []
    assert "nondetermin" not in json.dumps(found).lower()
    if name == "silent":
        assert "no loss recorded" in found["headline"]


def test_where_they_part_is_a_global_step(cli, made):
    (pair,) = document(cli, made["base1"], made["parted"])["divergences"]
    assert pair["bitwise"]["step"] == 30
    assert pair["material"]["step"] == 30


def test_others_are_compared_with_the_first(cli, made):
    found = document(cli, made["base1"], made["parted"], made["again"])
    assert [(d["first"], d["second"]) for d in found["divergences"]] == [("A", "B"), ("A", "C")]
    assert found["grouped"] is False
    assert {m["between"] for m in found["outcomes"]} == {"A, B", "A, C"}
    assert {m["verdict"] for m in found["outcomes"]} <= {"cannot tell", "identical"}


def names(made: dict[str, Path], *wanted: str) -> list[Path]:
    return [made[f"{kind[:-1]}{i}"] for kind in wanted for i in (1, 2, 3)]


def test_two_arms_are_compared_as_runs_wherever_the_options_stand(cli, made):
    base, worse = names(made, "base*"), names(made, "worse*")
    found = document(cli, *base, "--vs", *worse[:2], "--warmup", "3", worse[2])
    assert [(r["label"], r["arm"]) for r in found["runs"]] == list(
        zip("ABCDEF", (0, 0, 0, 1, 1, 1), strict=True)
    )
    assert found["grouped"] is True
    loss = found["outcomes"][0]
    assert loss["verdict"] == "regression"
    assert len(loss["first"]) == len(loss["second"]) == 3
    assert loss["low"] <= 0.25 <= loss["high"] + 0.01


def test_a_gate_fails_with_1_and_names_what_is_worse(cli, made):
    base, worse = names(made, "base*"), names(made, "worse*")
    result = cli("diff", *base, "--vs", *worse, "--fail-on", "regression:5%")
    assert result.code == 1
    assert "fail-on: regression:5%:" in result.err
    assert "GATE · failed" in result.out
    assert cli("diff", *base, "--vs", *worse, "--fail-on", "regression:90%").code == 0
    assert cli("diff", *base, "--vs", *worse, "--fail-on", "never").code == 0


def test_a_gate_that_passes_without_a_limit_says_what_would_have_been_seen(cli, made):
    base, other = names(made, "base*"), [made[f"base{i}"] for i in (4, 5, 6)]
    for first, second in ((base, other), (other, base)):  # one of them is worse, by chance
        out = cli("diff", *first, "--vs", *second, "--fail-on", "regression").out
        outcomes, _, gate = " ".join(out.split()).partition("● GATE")
        assert "or more would have been seen" in gate
        assert "% or more would have been" in outcomes.partition("● PROVENANCE")[0]


def test_a_run_in_both_arms_is_a_mistake(cli, made):
    result = cli("diff", *names(made, "base*"), "--vs", *names(made, "worse*"), made["base2"])
    assert result.code == 2
    assert f"B and G are one run ({made['base2']})" in result.err


def test_one_run_an_arm_is_not_evaluated_and_strict_says_4(cli, made):
    arguments = ("diff", made["base1"], made["worse1"], "--fail-on", "regression")
    result = cli(*arguments)
    assert result.code == 0
    assert "fail-on: not evaluated" in result.err
    assert "GATE · not evaluated" in result.out
    assert "regression: final loss" not in result.out
    assert cli(*arguments, "--strict").code == 4
    found = document(cli, *arguments[1:])
    assert found["gate"]["outcome"] == "not evaluated"


def test_identical_runs_pass(cli, made):
    result = cli("diff", made["base1"], made["base1"], "--fail-on", "regression", "--strict")
    assert result.code == 0, result.err
    assert "GATE · passed" in result.out


def test_a_noise_store_learns_and_then_says_how_far_apart_runs_are_and_judges_nothing(
    cli, made, tmp_path
):
    file = tmp_path / "noise.json"
    bases = [made[f"base{i}"] for i in range(1, 7)]
    result = cli("diff", *bases, "--noise-store", file)
    assert result.code == 0
    assert f"wrote {file} (noise store, 6 runs more)" in result.err
    before = file.read_bytes()
    again = cli("diff", *bases, "--noise-store", file)
    assert "every run is there already" in again.err
    assert file.read_bytes() == before
    alone = document(cli, made["base1"], made["worse1"])["outcomes"][0]
    known = document(cli, made["base1"], made["worse1"], "--noise-store", file)["outcomes"][0]
    assert alone["verdict"] == "cannot tell"
    assert alone["noise"] is None
    assert known["noise"] == pytest.approx(0.002, abs=0.002)
    inside = document(cli, made["base1"], made["base2"], "--noise-store", file)["outcomes"][0]
    assert inside["verdict"] == "cannot tell"


@pytest.mark.parametrize("second", [["worse1"], ["worse1", "worse2"], ["alike1"]])
def test_a_gate_on_too_few_runs_is_not_evaluated_whatever_a_store_holds(
    cli, made, tmp_path, second
):
    file = tmp_path / "noise.json"
    bases = [made[f"base{i}"] for i in range(1, 7)]
    cli("diff", *bases, "--noise-store", file)
    runs = {**made, "alike1": record(tmp_path / "alike", losses(60, 9), config={"lr": 0.1})}
    others = [runs[name] for name in second]
    arguments = ("diff", made["base1"], "--vs", *others, "--noise-store", file, "--fail-on")
    result = cli(*arguments, "regression")
    assert result.code == 0
    assert "fail-on: not evaluated: regression:" in result.err
    assert "OUTCOMES · bad" not in result.out
    assert "regression" not in result.out.partition("GATE")[0]
    assert ("more than repeats differ by" in result.out) == ("worse1" in second)
    assert cli(*arguments, "regression:5%", "--strict").code == 4
    six = cli("diff", *bases, "--vs", *others, "--fail-on", "regression", "--strict")
    assert six.code == 4


def test_a_part_of_the_steps_is_not_kept(cli, made, tmp_path):
    file = tmp_path / "noise.json"
    arguments = ("diff", made["base1"], made["base2"], "--noise-store", file, "--steps", "0:20")
    assert "left as it is" in cli(*arguments).err
    assert not file.exists()


@pytest.mark.parametrize("text", ["{}", "not json", '{"format": "pytscope.noise/1"}', "[1]"])
def test_a_file_that_is_no_noise_store_is_refused_and_left_alone(cli, made, tmp_path, text):
    file = tmp_path / "other.json"
    file.write_text(text)
    result = cli("diff", made["base1"], made["base2"], "--noise-store", file)
    assert result.code == 3
    assert str(file) in result.err
    assert file.read_text() == text


def test_several_formats_go_to_several_places(cli, made, tmp_path):
    json_file, markdown = tmp_path / "diff.json", tmp_path / "diff.md"
    result = cli(
        "diff", made["base1"], made["parted"],
        "--format", "text", "--format", f"json:{json_file}", "--format", f"markdown:{markdown}",
    )  # fmt: skip
    assert "● DIVERGENCE" in result.out
    jsonschema.validate(json.loads(json_file.read_text()), schema("diff"))
    assert "### DIVERGENCE" in markdown.read_text()


def test_output_is_the_same_each_time_and_reproducible_has_no_path(cli, made):
    arguments = ("diff", made["base1"], made["parted"], "--reproducible", "--format")
    for form in ("text", "json", "markdown"):
        first = cli(*arguments, form).out
        assert first == cli(*arguments, form).out
        assert str(made["base1"].parent) not in first


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["A"], "two runs at least"),
        ([], "Missing argument"),
        (["A", "--vs"], "between the runs"),
        (["--vs", "A", "B"], "between the runs"),
        (["A", "--vs", "B", "--vs", "C"], "stands once"),
        (["A", "B", "--fail-on", "high"], "is not regression"),
        (["A", "B", "--format", "txt"], "did you mean 'text'"),
        (["A", "B", "--format", "json", "--format", "text"], "two formats"),
        (["A", "B", "--attempt", "C=0"], "there is no run C"),
        (["A", "B", "--attempt", "x"], "whole number"),
        (["A", "B", "--noise-store", "-"], "is not the name of a file"),
    ],
)
def test_mistakes_are_sentences_and_2(cli, made, arguments, said):
    paths = {"A": made["base1"], "B": made["base2"], "C": made["base3"]}
    result = cli("diff", *(paths.get(a, a) for a in arguments))
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_what_cannot_be_read_is_3(cli, made, tmp_path):
    result = cli("diff", made["base1"], tmp_path / "missing")
    assert (result.code, result.out) == (3, "")
    assert "missing" in result.err


def test_a_run_that_cannot_be_read_is_named_and_the_others_are_compared(cli, made, tmp_path):
    torn = tmp_path / "torn"
    torn.mkdir()
    (torn / "rank00000.pts").write_bytes(b"\0" * 200)
    with Profiler(tmp_path / "empty", inline=True):
        pass
    bare = tmp_path / "bare"
    bare.mkdir()
    runs = (made["base1"], torn, made["parted"], bare, tmp_path / "empty")
    result = cli("diff", *runs)
    assert result.code == 0
    assert "● LEFT OUT" in result.out
    for label, path in (("B", torn), ("D", bare), ("E", tmp_path / "empty")):
        assert f"{label} ({path}) is left out: " in result.err
    strict = cli("diff", *runs, "--strict")
    assert strict.code == 4
    assert "strict: D is left out: " in strict.err
    found = document(cli, *runs, "--reproducible")
    assert [run["label"] for run in found["runs"]] == ["A", "C"]
    assert [(out["label"], out["arm"]) for out in found["left_out"]] == [
        ("B", 1), ("D", 1), ("E", 1)
    ]  # fmt: skip
    assert str(tmp_path) not in json.dumps(found["left_out"])
    assert cli("diff", made["base1"], "--vs", torn, bare).code == 3


def test_a_slip_of_the_fingers_is_an_error_and_not_a_run_that_is_left_out(cli, made, tmp_path):
    result = cli("diff", made["base1"], made["parted"], tmp_path / "gone")
    assert (result.code, result.out) == (3, "")
    assert f"there is nothing at {tmp_path / 'gone'}" in result.err


def test_a_run_without_a_step_is_drawn_and_then_3(cli, made, tmp_path):
    with Profiler(tmp_path / "empty", inline=True):
        pass
    result = cli("diff", made["base1"], tmp_path / "empty")
    assert result.code == 3
    assert "no completed step in B" in result.err
    assert "● PROVENANCE" in result.out


def test_attempts_of_one_folder_can_be_compared(cli, tmp_path):
    folder = tmp_path / "twice"
    record(folder, losses(60, 1))
    record(folder, losses(60, 2))
    found = document(cli, folder, folder, "--attempt", "A=0", "--attempt", "1")
    assert [r["run"]["attempts"] for r in found["runs"]] == [[0], [1]]
    assert found["identical"] is False


def test_a_window_is_of_global_steps(cli, made):
    found = document(cli, made["base1"], made["parted"], "--steps", "0:29")
    assert found["identical"] is True
    assert found["runs"][0]["run"]["window"] == [0, 29]


def test_verbose_lists_what_hardly_matters(cli, made):
    short = cli("diff", made["base1"], made["base2"]).out
    long = cli("diff", made["base1"], made["base2"], "-v").out
    assert len(long) >= len(short)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("regression", RegressionGate()),
        ("Regression:5%", RegressionGate(0.05)),
        ("regression:0.05", RegressionGate(0.05)),
        ("regression: 2.5 %", RegressionGate(0.025)),
        ("never", "never"),
    ],
)
def test_a_gate_is_read(text, value):
    assert regression(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("", "high", "regression:", "regression:x", "regression:-5%", "never:5%", "5%"),
        *("regression:5", "regression:5 ms"),
    ],
)
def test_another_gate_is_refused(text):
    with pytest.raises(ValueError, match="is not regression"):
        regression(text)


def test_an_attempt_is_of_all_runs_or_of_one():
    assert attempt("2") == AttemptOf(2)
    assert attempt("b=0") == AttemptOf(0, "B")
    for text in ("", "=1", "B=", "B=x", "B-1", "1=B"):
        with pytest.raises(ValueError):
            attempt(text)


def test_nothing_that_is_read_is_written_over(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs = [record(tmp_path / name, losses(60, seed)) for seed, name in enumerate("xy")]
    settings = Path("pytscope.toml")
    settings.write_text("[tool.pytscope]\n")
    (records,) = runs[1].glob("*.pts")
    before = records.read_bytes()
    for option, file, said in (
        ("--format", f"json:{records}", "is part of the run itself"),
        ("--noise-store", runs[1] / "new.pts", "is part of the run itself"),
        ("--format", "json:noise.json", "is the noise store"),
        ("--format", "json:pytscope.toml", "is the settings file"),
        ("--noise-store", "pytscope.toml", "is the settings file"),
    ):
        result = cli("diff", *runs, "--noise-store", "noise.json", option, file)
        assert result.code == 2
        assert said in result.err
    assert records.read_bytes() == before
    assert settings.read_text() == "[tool.pytscope]\n"
    assert not Path("noise.json").exists()


def test_the_help_names_the_second_arm(cli):
    result = cli("diff", "--help")
    assert "--vs RUN…" in click.unstyle(result.out)

"""What 0.2.x told wrongly or not at all about its own runs, told rightly."""

from __future__ import annotations

import json
import math

import pytest

from tests.core.acceptance.made import DAMAGED, EVEN, RANKS, STEPS, even, ranks, record, write

S = 1_000_000_000


def test_time_that_no_phase_has_is_other_and_rates_are_of_the_clock(analyze, tmp_path):
    """100 steps with 35 ms of phases each, in a run of 60 s."""
    answer = analyze(write(tmp_path / "run", even(100), wall_time=60.0, n_steps=100))
    assert answer.document["run"]["wall_ns"] == 60 * S
    assert answer.line("other") == 60 * S - 100 * 35_000_000
    assert answer.line("compute") == 100 * 33_000_000
    assert answer.document["analyses"]["timing"]["steps_per_s"] == pytest.approx(100 / 60)
    assert "COVERAGE.UNATTRIBUTED" in answer.fired
    assert "1.67 steps/s" in answer.text
    assert "60.00 s wall" in answer.text


def test_recorded_time_is_never_called_wall(analyze, tmp_path):
    """Half of each step is waiting, so that a rule speaks of the whole too."""
    slow = {**EVEN, "data": 0.033}
    answer = analyze(write(tmp_path / "run", even(phases=slow)))
    run, timing = answer.document["run"], answer.document["analyses"]["timing"]
    assert (run["wall_ns"], run["recorded_ns"]) == (None, STEPS * 66_000_000)
    assert timing["steps_per_s"] is None
    assert answer.document["budget"]["has_wall"] is False
    assert "steps/s" not in answer.text
    assert "TIMING.DATALOADER_BOUND" in answer.fired
    said = answer.text.replace("\n", " ")
    without = said.replace("recorded time, not wall", "").replace("the wall of the steps", "")
    assert " wall" not in without


def test_a_wall_shorter_than_its_phases_is_told_and_not_cut(analyze, tmp_path):
    answer = analyze(write(tmp_path / "run", wall_time=1.0, n_steps=STEPS))
    assert answer.line("other") == S - STEPS * 35_000_000 < 0
    assert "COVERAGE.CLOCK" in answer.fired
    assert "EFFICIENCY BUDGET · bad" in answer.text
    assert "the phases of rank 0 sum to 0.4 s more than its wall_time" in answer.notes


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("rank_missing", "COVERAGE.RANKS_MISSING"),
        ("rank_0_missing", "COVERAGE.RANKS_MISSING"),
        ("rank_alone", "COVERAGE.RANKS_MISSING"),
        ("rank_empty", "COVERAGE.RANKS_MISSING"),
        ("rank_garbage", "COVERAGE.RANKS_MISSING"),
        ("rank_short", "COVERAGE.RANK_SHORT"),
        ("rank_elsewhere", "COVERAGE.RANK_SHORT"),
        ("flat_beside_ranks", "COVERAGE.ATTEMPTS"),
    ],
)
def test_ranks_that_are_not_all_there_are_told(analyze, tmp_path, name, rule):
    answer = analyze(RANKS[name](tmp_path / name))
    assert answer.outcome(rule) == "finding"
    assert "critical" not in answer.text


def test_warm_up_counts_on_every_rank(analyze, tmp_path):
    """Rank 1 compiles for 50 steps; after them the ranks are even."""
    slow = [record(i, {"forward": 0.5 if i < 50 else 0.01}) for i in range(200)]
    run = ranks(tmp_path / "run", even(200, phases={"forward": 0.01}), slow)
    answer = analyze(run, "--warmup", "50")
    budgets = answer.document["budget"]["ranks"]
    lines = [{n["name"]: n["ns"] for n in rank["lines"]} for rank in budgets]
    assert [rank["compute"] for rank in lines] == [150 * 10_000_000] * 2
    assert [rank["warmup"] for rank in lines] == [50 * 10_000_000, 50 * 500_000_000]
    assert [r["warmup_steps"] for r in answer.document["coverage"]["ranks"]] == [50, 50]


def test_ranks_in_folders_side_by_side_are_one_run(analyze, tmp_path):
    for rank in range(3):
        name = f"exp_rank{rank}" if rank else "exp"
        write(tmp_path / name, even(STEPS - rank), rank=rank, world_size=1)
    answer = analyze(tmp_path / "exp")
    assert answer.document["run"]["ranks"] == [0, 1, 2]
    assert answer.document["coverage"]["steps_by_rank"] == {"0": 40, "1": 39, "2": 38}
    part = analyze(tmp_path / "exp_rank2")
    assert part.document["run"]["ranks"] == [2]
    assert f"{tmp_path / 'exp'} has the whole run" in part.notes


@pytest.mark.parametrize(
    ("name", "said", "steps"),
    [
        ("not_utf8", "not UTF-8", 40),
        ("not_an_object", "no JSON object", 40),
        ("no_step", "no step number", 40),
        ("null_phases", "phases that are no object", 40),
        ("text_phase", "a phase that is no number", 40),
        ("nan_phase", "a phase that is NaN", 40),
        ("text_loss", "loss that is no number (1, first on line 41)", 41),
        ("run_json_list", "run.json is no JSON object", 40),
        ("run_json_not_utf8", "run.json is not UTF-8", 40),
        ("run_json_nulls", "run.json has a config that is no object", 40),
    ],
)
def test_what_cannot_be_used_is_passed_over_and_told(analyze, tmp_path, name, said, steps):
    answer = analyze(DAMAGED[name](tmp_path / name))
    assert answer.document["run"]["steps"] == steps
    assert said in answer.notes


def test_an_infinite_loss_is_data(analyze, tmp_path):
    losses = [math.inf if i == 7 else 1.0 for i in range(STEPS)]
    run = write(tmp_path / "run", [record(i, scalars={"loss": v}) for i, v in enumerate(losses)])
    answer = analyze(run)
    assert (answer.code, answer.notes, answer.document["run"]["steps"]) == (0, "", STEPS)
    from pytscope import open as open_run

    assert open_run(run).series("loss")[1].tolist() == losses


def test_a_file_that_is_half_garbage_says_so(analyze, tmp_path):
    answer = analyze(DAMAGED["half_garbage"](tmp_path / "run"))
    assert "20 of 40 records unreadable: not JSON (20, first on line 1)" in answer.notes
    assert answer.document["coverage"]["lost_steps"] == 20
    lost = next(f for f in answer.document["findings"] if f["rule"] == "COVERAGE.RECORDS_LOST")
    assert lost["severity"] == "high"


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_few_steps_or_none_are_not_a_pass(analyze, tmp_path, steps):
    """A warm-up that leaves few steps, or none."""
    answer = analyze(write(tmp_path / "run"), "--warmup", STEPS - steps)
    assert answer.outcome("COVERAGE.TOO_FEW_STEPS") == "finding"
    assert "no findings" not in answer.text
    timing = answer.outcome("TIMING.JITTER")
    assert timing == ("inconclusive" if steps else "not_measured")


def test_a_warm_up_below_zero_is_refused(analyze, tmp_path):
    answer = analyze(write(tmp_path / "run"), "--warmup", "-5")
    assert (answer.code, answer.text) == (2, "")


def test_one_step_is_too_few(analyze, tmp_path):
    answer = analyze(write(tmp_path / "run", even(1)))
    assert answer.outcome("COVERAGE.TOO_FEW_STEPS") == "finding"


def test_missing_empty_file_and_parent_have_a_sentence_each(analyze, tmp_path):
    run = write(tmp_path / "runs" / "night")
    (tmp_path / "bare").mkdir()
    (run / "notes.txt").write_text("")
    asked = {
        run.with_name("nihgt"): ("there is nothing at", f"Did you mean {run}"),
        run.with_name("zzz"): ("there is nothing at", f"Runs in {run.parent}: night."),
        tmp_path / "bare": ("is an empty folder", "A run folder holds"),
        run / "notes.txt": ("is a file that no source can open", f"give that: {run}"),
        run.parent: ("is no run itself, but holds a run", "Give one of them."),
    }
    for path, (cause, nearest) in asked.items():
        answer = analyze(path)
        assert answer.code == 3
        assert cause in answer.err
        assert nearest in answer.err
    assert analyze(run / "steps.jsonl").code == 0


def test_one_slow_step_is_named_and_is_no_jitter(analyze, tmp_path):
    slow = {"forward": 0.01, "backward": 2.0}
    steady = {"forward": 0.01, "backward": 0.02}
    run = write(tmp_path / "run", [record(i, slow if i == 500 else steady) for i in range(1000)])
    answer = analyze(run)
    assert answer.outcome("TIMING.JITTER") == "passed"
    assert answer.outcome("TIMING.BACKWARD_HEAVY") == "passed"
    assert answer.document["analyses"]["timing"]["spread"] == 0
    assert "slowest: step 500, 2.01 s, 67 times the median" in answer.text


def test_a_healthy_loop_gets_no_finding_on_its_backward(analyze, tmp_path):
    """Backward takes 2.5 to 3 times the forward, as healthy models do."""
    run = write(
        tmp_path / "run",
        [record(i, {**EVEN, "backward": 0.025 + 0.005 * math.sin(i)}) for i in range(300)],
    )
    assert not {rule for rule in analyze(run).fired if rule.startswith("TIMING.")}


def test_a_phase_of_the_users_own_is_in_the_budget(analyze, tmp_path):
    answer = analyze(write(tmp_path / "run", even(50, phases={**EVEN, "augment": 0.045})))
    assert answer.line("augment") == 50 * 45_000_000
    total = sum(line["ns"] for line in answer.document["budget"]["lines"])
    assert total == answer.document["run"]["recorded_ns"] == 50 * 80_000_000
    assert "augment" in answer.text


def test_impossible_figures_are_a_finding_of_their_own(analyze, tmp_path):
    run = write(tmp_path / "run", wall_time=2.0, n_steps=STEPS)
    answer = analyze(run, "--flops-per-step", "1e18", "--peak-tflops", "1")
    assert answer.outcome("BUDGET.IMPOSSIBLE") == "finding"
    assert answer.document["budget"]["mfu"] is None
    assert "92.9%" not in answer.text


@pytest.mark.parametrize("figure", ["0", "-5", "nan", "inf"])
def test_figures_that_are_none_are_refused(analyze, tmp_path, figure):
    run = write(tmp_path / "run")
    assert analyze(run, f"--flops-per-step={figure}", "--peak-tflops=1").code == 2
    assert analyze(run, "--flops-per-step=1e12", f"--peak-tflops={figure}").code == 2


def test_one_figure_of_two_says_which_is_missing(analyze, tmp_path):
    answer = analyze(write(tmp_path / "run"), "--peak-tflops", "100")
    assert answer.outcome("EFFICIENCY.LOW_MFU") == "not_measured"
    reason = next(
        c["reason"] for c in answer.document["checks"] if c["rule"] == "EFFICIENCY.LOW_MFU"
    )
    assert "--flops-per-step" in reason
    assert "--peak-tflops" not in reason


@pytest.mark.parametrize(
    "asked",
    [
        ["--trace", "nope.json"],
        ["--source", "nope"],
        ["--source", "pytscope"],
        ["--attempt", "7"],
        ["--steps", "900:950"],
        ["--format", "nope"],
    ],
)
def test_what_was_asked_for_and_cannot_be_had_is_never_a_success(analyze, tmp_path, asked):
    answer = analyze(write(tmp_path / "run"), *asked)
    assert answer.code in (2, 3)
    assert answer.err.startswith("error: ")
    assert answer.text == ""


def test_a_long_run_draws_no_longer_lines(analyze, tmp_path):
    answer = analyze(write(tmp_path / "run", even(10_000)))
    assert answer.code == 0
    assert max(map(len, answer.text.splitlines())) <= 88
    assert max(line.count("▁") for line in answer.text.splitlines()) <= 60


def test_text_of_others_does_not_reach_the_terminal(analyze, tmp_path):
    name = "\x1b[2J\x1b]0;title\x07 run"
    run = write(tmp_path / "run", even(phases={"\x1b[31mred": 0.1}), name=name)
    for color in ("always", "never"):
        answer = analyze(run, "--color", color)
        assert answer.code == 0
        assert "\x1b[2J" not in answer.text
        assert "\x1b]" not in answer.text
        assert "\x1b[31mred" not in answer.text
        assert "\x07" not in answer.text
    assert "\x1b" not in answer.text
    assert json.dumps(answer.document).isascii()


def test_a_run_recorded_twice_is_two_attempts(analyze, tmp_path):
    losses = [[record(i, scalars={"loss": a + 1.0}) for i in range(STEPS)] for a in range(2)]
    run = write(tmp_path / "run", [*losses[0], *losses[1]])
    for asked, loss in (((), 2.0), (("--attempt", "0"), 1.0)):
        answer = analyze(run, *asked)
        assert answer.document["run"]["steps"] == STEPS
        assert answer.outcome("COVERAGE.ATTEMPTS") == "finding"
        from pytscope import open as open_run

        attempt = int(asked[1]) if asked else None
        assert set(open_run(run, attempt=attempt).series("loss")[1].tolist()) == {loss}

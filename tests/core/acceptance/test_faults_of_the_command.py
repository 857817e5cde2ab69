"""What the recorder and the command of 0.2.x did wrongly, done rightly by today's."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest

import pytscope
from pytscope import Finding, Severity, rule
from pytscope.analyses import Timing
from pytscope.analysis.orchestrator import analyze as analyze_run
from pytscope.builtin import plugin as own
from pytscope.plugins.registry import build_registry
from tests.core.cli.conftest import MS, Clock
from tests.core.plugins.made import OWN, plugin

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
STEPS = 40


def boom():
    msg = "boom"
    raise ValueError(msg)


def recorded(folder, *, tail_ms=0, after_ms=0, data_ms=0, warmup=0, fail_at=None):
    """A loop of forward 10, backward 15, optimizer 5 ms on a clock of its own."""
    clock = Clock()

    def batches():
        for i in range(STEPS):
            clock.pass_ms(data_ms)
            yield i

    with pytscope.Profiler(folder, name="loop", warmup=warmup, clock=clock, inline=True) as prof:
        for i in prof.iter_data(batches()):
            try:
                with prof.step():
                    for phase, ms in (("forward", 10), ("backward", 15), ("optimizer", 5)):
                        clock.pass_ms(ms)
                        if i == fail_at:
                            boom()
                        prof.mark(phase)
                    clock.pass_ms(tail_ms)
            except ValueError:
                continue
            clock.pass_ms(after_ms)
            prof.log(loss=1.0)
    return folder


@pytest.fixture(scope="module")
def waiting(tmp_path_factory):
    """A run that waits for data most of the time."""
    return recorded(tmp_path_factory.mktemp("waiting") / "run", data_ms=70)


def test_an_unmarked_tail_is_in_the_step_and_in_no_phase(analyze, tmp_path):
    answer = analyze(recorded(tmp_path / "run", tail_ms=70))
    timing = answer.document["analyses"]["timing"]
    assert timing["mean_ns"] == 100 * MS
    assert timing["steps_per_s"] == pytest.approx(10.0)
    assert timing["phases"]["other"]["median_ns"] == 70 * MS


@pytest.mark.parametrize("where", ["tail_ms", "after_ms"])
def test_metrics_after_the_update_are_not_data(analyze, tmp_path, where):
    answer = analyze(recorded(tmp_path / "run", **{where: 50}))
    assert answer.line("data_stall") == 0
    assert answer.line("other") >= (STEPS - 1) * 50 * MS
    assert "TIMING.DATALOADER_BOUND" not in answer.fired


def test_ranks_share_one_folder(analyze, tmp_path, monkeypatch):
    for rank in range(2):
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", "2")
        with pytscope.Profiler(tmp_path / "run", only_rank_zero=False, inline=True) as prof:
            for _ in range(30):
                with prof.step():
                    prof.mark("forward")
    answer = analyze(tmp_path / "run")
    assert (answer.code, answer.document["run"]["ranks"]) == (0, [0, 1])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run"]


@pytest.mark.parametrize(
    "line",
    [
        "analyze RUN --color=never",
        "--color never analyze RUN",
        "analyze --color never RUN",
        "analyze RUN --format json",
        "--version",
    ],
)
def test_options_work_where_people_write_them(command, waiting, line):
    code, out, err = command(*line.replace("RUN", str(waiting)).split())
    assert (code, err) == (0, "")
    assert out


def test_the_module_is_the_command(shell, command, waiting):
    done = shell(f"{sys.executable} -m pytscope analyze {waiting}")
    assert done.stdout.decode() == command("analyze", waiting)[1]


def test_a_reader_that_goes_and_a_full_disk_are_no_tracebacks(shell, waiting):
    gone = shell(f"$PYTSCOPE analyze {waiting} | head -1", PYTHONUNBUFFERED="1")
    assert gone.stderr == b""
    full = shell(f"$PYTSCOPE analyze {waiting} > /dev/full")
    assert full.returncode == 3
    assert full.stderr.startswith(b"error: ")
    assert full.stderr.count(b"\n") == 1


def test_lines_wrap_at_the_width_asked_for(command, waiting, monkeypatch):
    plain = command("analyze", waiting)[1]
    monkeypatch.setenv("COLUMNS", "60")
    assert command("analyze", waiting)[1] == plain
    for columns, text in ((88, plain), (60, command("analyze", waiting, "--width", "60")[1])):
        assert max(map(len, text.splitlines())) <= columns


@pytest.mark.parametrize(
    ("environ", "colored"),
    [
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": ""}, False),
        ({"FORCE_COLOR": "0"}, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm"}, False),
    ],
)
def test_colour_on_a_pipe_follows_the_environment(command, waiting, environ, colored, monkeypatch):
    plain = command("analyze", waiting, "--color", "never")[1]
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    drawn = command("analyze", waiting)[1]
    assert bool(ESCAPE.search(drawn)) is colored
    assert ESCAPE.sub("", drawn) == plain


@rule("ACME.RAISES", since="1.0")
def raises(timing: Timing) -> Iterator[Finding]:
    """Raise after a finding."""
    yield Finding(severity=Severity.LOW, title="before")
    msg = "boom"
    raise RuntimeError(msg)


def test_a_rule_that_raises_is_told(waiting):
    builtins = plugin(OWN, analyzers=own.pytscope_analyzers(), rules=own.pytscope_rules())
    registry = build_registry([builtins, plugin(rules=[raises])])
    report = analyze_run(pytscope.open(waiting), registry)
    assert [(p.plugin, p.stage) for p in report.problems] == [("acme", "rule ACME.RAISES")]
    assert "boom" in report.problems[0].message
    outcome = next(c.outcome.value for c in report.checks if c.rule == "ACME.RAISES")
    assert outcome == "error"
    assert "ACME.RAISES" not in {finding.rule for finding in report.findings}


def test_warm_up_is_recorded_and_left_out_of_rates(analyze, tmp_path):
    answer = analyze(recorded(tmp_path / "run", warmup=5))
    coverage = answer.document["coverage"]
    assert (coverage["steps"], coverage["warmup_steps"], coverage["rated_steps"]) == (40, 5, 35)
    assert answer.line("warmup") == 5 * 30 * MS


def test_a_step_that_raised_is_not_stored_as_a_good_one(analyze, tmp_path):
    answer = analyze(recorded(tmp_path / "run", fail_at=20))
    assert answer.document["run"]["steps"] == STEPS - 1
    assert answer.line("failed") == 10 * MS
    assert "ValueError: boom" in answer.text


def test_findings_gate_rank_by_severity_and_fold(analyze, waiting):
    gated = analyze(waiting, "--fail-on", "high")
    assert gated.code == 1
    assert analyze(waiting).code == 0
    findings = gated.document["findings"]
    assert findings[0]["rule"] == "TIMING.DATALOADER_BOUND"
    assert [also["rule"] for also in findings[0]["also"]] == ["EFFICIENCY.RECOVERABLE"]
    assert findings[0]["cost_s"]["value"] == pytest.approx(STEPS * 0.0698)
    order = [("high", "medium", "low", "info").index(f["severity"]) for f in findings]
    assert order == sorted(order)

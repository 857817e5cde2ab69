from __future__ import annotations

import attrs
from hypothesis import HealthCheck, given, settings

from pytscope.builtin.reporters.sarif import sarif_gate, sarif_report
from pytscope.model.gate import Place
from pytscope.plugins.declare import RenderOptions
from tests.core import report_samples as samples
from tests.core.builtin.reporters.ci_formats import (
    ALL,
    GATES,
    KEPT,
    MISSED,
    SKIPPED,
    made_gate,
    sarif,
)

OPTIONS = RenderOptions()


def places(run):
    found = [r["locations"][0]["physicalLocation"] for r in run["results"] if r["locations"]]
    return [(p["artifactLocation"], p["region"]["startLine"]) for p in found]


def test_budgets_that_are_not_kept_and_findings_are_results():
    run = sarif(sarif_gate(made_gate(*ALL, script="src/train.py"), OPTIONS))
    rules = [f.rule for f in samples.report().findings]
    assert [r["ruleId"] for r in run["results"]] == ["BUDGET.data.share", "BUDGET.mfu", *rules]
    assert places(run)[0] == ({"uri": "pyproject.toml", "uriBaseId": "%SRCROOT%"}, 7)
    assert places(run)[-1] == ({"uri": "src/train.py", "uriBaseId": "%SRCROOT%"}, 1)
    assert run["properties"]["passed"] is False
    assert len(run["properties"]["budgets"]) == 4


def test_a_gate_that_is_passed_has_no_result_of_its_own():
    run = sarif(sarif_gate(made_gate(KEPT, SKIPPED, report=samples.healthy()), OPTIONS))
    assert run["results"] == []
    assert run["properties"]["passed"] is True


def test_every_result_names_its_rule_and_every_rule_says_what_it_is():
    run = sarif(sarif_gate(made_gate(*ALL), OPTIONS))
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    for rule in rules:  # what code scanning asks for, beyond the schema
        for name in ("shortDescription", "fullDescription", "help"):
            assert rule[name]["text"]
        assert "name" not in rule  # it must not repeat the id


def test_levels_are_errors_only_for_what_fails_the_gate():
    def levels(**fields):
        run = sarif(sarif_gate(made_gate(KEPT, **fields), OPTIONS))
        return {r["ruleId"]: r["level"] for r in run["results"]}

    assert set(levels().values()) <= {"warning", "note"}
    assert levels(fail_on="high")["TIMING.DATALOADER_BOUND"] == "error"


def marks(*judged):
    run = sarif(sarif_gate(made_gate(*judged), OPTIONS))
    return [r["partialFingerprints"]["pytscope/v1"] for r in run["results"]]


def test_the_same_alert_keeps_its_fingerprint_when_numbers_move():
    again = attrs.evolve(MISSED, value=0.6, limit=0.25, budget="data.share <= 25%", reason="other")
    assert marks(MISSED) == marks(again)
    assert len(set(marks(*ALL))) == len(marks(*ALL))
    relative = attrs.evolve(MISSED, budget="data.share <= baseline", baseline=0.1)
    assert marks(MISSED)[0] != marks(relative)[0]


def test_alerts_of_one_kind_are_told_apart():
    tighter = attrs.evolve(MISSED, budget="data.share <= 10%", limit=0.1)
    lacking = attrs.evolve(MISSED, budget="data.share <= baseline", limit=None)
    found = marks(MISSED, tighter, lacking)
    assert len(set(found)) == len(found)
    assert found[0] == marks(MISSED)[0]
    relative = attrs.evolve(lacking, baseline=0.5, limit=0.5)
    assert found[2] == marks(relative)[0]
    report = samples.report()
    twice = attrs.evolve(report, folded=(report.folded[0],) * 2)
    run = sarif(sarif_report(twice, OPTIONS))
    every = [r["partialFingerprints"]["pytscope/v1"] for r in run["results"]]
    assert len(set(every)) == len(every) > 1


def test_a_budget_of_the_command_line_points_to_the_run_from_the_root():
    typed = attrs.evolve(MISSED, place=None)
    run = sarif(sarif_gate(made_gate(typed, run_place="training/runs/ci"), OPTIONS))
    assert places(run)[0][0] == {"uri": "training/runs/ci", "uriBaseId": "%SRCROOT%"}


def test_a_report_of_analyze_points_to_its_run():
    run = sarif(sarif_report(samples.report(), OPTIONS))
    assert {uri["uri"] for uri, _ in places(run)} == {"file:///data/runs/exp1"}
    assert "cost_s" in run["results"][0]["properties"]
    hidden = sarif(sarif_report(samples.report(), RenderOptions(reproducible=True)))
    assert places(hidden) == []


def test_failed_plugins_are_notifications():
    (invocation,) = sarif(sarif_report(samples.troubled(), OPTIONS))["invocations"]
    assert invocation["executionSuccessful"] is False
    said = [n["message"]["text"] for n in invocation["toolExecutionNotifications"]]
    assert said == ["acme, rule ACME.BROKEN: ValueError: boom"]


def test_paths_are_uris_and_text_is_no_link():
    odd = attrs.evolve(MISSED, place=Place("a b/%1#?.toml", 3), reason="[click](https://x)")
    run = sarif(sarif_gate(made_gate(odd), OPTIONS))
    assert places(run)[0][0]["uri"] == "a%20b/%251%23%3F.toml"
    assert "](" not in run["results"][0]["message"]["text"]


@given(GATES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_gives_a_log_of_the_schema(gate):
    sarif(sarif_gate(gate, OPTIONS))
    sarif(sarif_report(gate.report, OPTIONS))

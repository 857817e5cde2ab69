"""Facts: everything recorded by dotted name, whatever its form."""

from __future__ import annotations

import attrs

from pytscope.diffing.facts import attempt_facts, cut_short, facts, flat, same, sections
from pytscope.testing import make_run
from tests.core.diffing.parting import environment, made


def test_nested_settings_have_dotted_names():
    run = make_run({"forward": 1}, config={"lr": 0.1, "model": {"d": 8, "layers": [1, 2]}, "x": []})
    told = facts(run)
    assert told["config.lr"] == 0.1
    assert told["config.model.d"] == 8
    assert told["config.model.layers"] == [1, 2]
    assert told["config.x"] == []


def test_lists_of_mappings_have_places():
    told = dict(flat([{"a": 1}, {"a": 2}], "rows"))
    assert told == {"rows[0].a": 1, "rows[1].a": 2}


def test_deep_nesting_ends():
    value: object = 1
    for _ in range(100):
        value = {"k": value}
    ((name, _),) = flat(value, "config")
    assert name.count(".") == 12


def test_odd_values_are_facts_too():
    config = {1: float("nan"), None: object(), "s": {3, 1}, "empty": {}}
    told = facts(make_run({"forward": 1}, config=config))  # type: ignore[arg-type]  # odd keys
    assert told["config.1"] == "NaN"
    assert told["config.s"] == [1, 3]
    assert told["config.empty"] == {}


def test_a_run_without_ranks_has_facts():
    run = attrs.evolve(make_run({"forward": 1}, config={"a": 1}), timelines=())
    assert facts(run)["config.a"] == 1


def test_an_environment_of_another_form_has_none():
    run = attrs.evolve(make_run({"forward": 1}), environment=[1, 2])
    assert not sections(facts(run))


def test_what_says_nothing_is_left_out():
    told = facts(made())
    assert not {"pid", "cwd"} & set(told)


def test_pytorchs_facts_are_one_each():
    told = facts(made(provenance=environment(autocast={"cpu": "bfloat16"})))
    assert told["torch.autocast"] == "cpu bfloat16"
    assert facts(made())["torch.autocast"] == "off"
    assert told["torch.devices"] == "none"
    assert told["torch.model.dtypes"] == "float32"
    assert told["torch.initial_weights.hash"] == "w0"
    assert "torch.initial_weights.parameters" not in told
    assert "torch.random_states.after_step" not in told


def test_devices_are_counted_by_name():
    row = {"name": "H200", "capability": "9.0", "memory_bytes": 1, "current": True}
    told = facts(made(provenance=environment(devices=[row, {**row, "current": False}])))
    assert told["torch.devices"] == "2 x H200 (capability 9.0)"


def test_options_of_the_command_line_are_facts():
    found = environment()
    found["argv"] = ["/x/train.py", "--seed", "1", "--amp", "lr=0.1", "data/part", "--out=o"]
    told = facts(made(provenance=found))
    assert told["argv.script"] == "train.py"
    assert told["argv.seed"] == "1"
    assert told["argv.amp"] is True
    assert told["argv.lr"] == "0.1"
    assert told["argv.words"] == ["data/part"]


def test_the_runs_own_folder_is_no_argument():
    found = environment()
    found["argv"] = ["train.py", "runs/exp7/", "more"]
    run = attrs.evolve(made(provenance=found), path="/somewhere/runs/exp7")
    assert facts(run)["argv.words"] == ["more"]


def test_facts_of_the_start_are_those_of_the_first_attempt():
    run = make_run({"forward": 1}, attempts=[(0, 10), (5, 10)], environment=environment())
    first, last = run.timelines[0].attempts
    first = attrs.evolve(first, environment=environment(initial_weights={"hash": "first"}))
    timeline = run.timelines[0].select(run.timelines[0].step >= 0, (first, last))
    told = facts(attrs.evolve(run, timelines=(timeline,)))
    assert told["torch.initial_weights.hash"] == "first"
    assert told["torch.version"] == "2.13.0"


def test_events_tell_of_the_model_and_the_place():
    events = ({"kind": "topology", "t": 3, "tp": 2}, {"kind": "other", "x": 1}, {"kind": None})
    run = make_run({"forward": 1}, last_attempt={"events": events}, micro_batches=4)
    told = facts(run)
    assert told["topology.tp"] == 2
    assert told["micro_batches"] == 4
    assert not any("other" in name or name == "topology.t" for name in told)


def test_an_attempts_facts_are_its_own():
    attempt = made().timelines[0].attempts[0]
    attempt = attrs.evolve(attempt, config={"lr": 1}, environment={"torch": {"version": "3"}})
    assert attempt_facts(attempt, made()) == {"config.lr": 1, "torch.version": "3"}


def test_equal_values():
    assert same(1, 1.0)
    assert same(float("nan"), float("nan"))
    assert same([1, [2]], [1, [2]])
    assert not same([1], [1, 2])
    assert not same("1", 1)
    assert not same(None, 0)


def test_what_the_recorder_cut_is_known_to_be():
    told = {
        "config.text": "x" * 1000 + "…",
        "config.list": [1, 2, "… 99 more"],
        "config.many.…": "500 more",
        "config.gone": "…",
        "config.dots": "and so on…",
        "config.whole": [1, 2],
    }
    assert [*cut_short(told)] == ["config.text", "config.list", "config.many", "config.gone"]

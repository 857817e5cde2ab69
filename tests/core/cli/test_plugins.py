from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.core.plugins.throwaway import distribution, pack

REPORTER = """
from pytscope import hookimpl, reporter

@reporter("brittle")
def brittle(report, options):
    raise RuntimeError("cannot \\x1b[31mdraw")

@reporter("one-line")
def one_line(report, options):
    return f"{report.run.name}: {len(report.findings)} ● findings"

@hookimpl
def pytscope_reporters():
    return [brittle, one_line]
"""


@pytest.fixture
def packs(tmp_path, monkeypatch):
    """A pack with a rule, one with reporters, one that fails on import."""
    folder = tmp_path / "site"
    fires = 'yield Finding(severity=Severity.LOW, title="It fired")'
    distribution(folder, "cli-acme", pack("ACME.FIRES", fires))
    distribution(folder, "cli-draws", REPORTER)
    distribution(folder, "cli-broken", "raise ImportError('no \\x1b[31mluck')")
    monkeypatch.syspath_prepend(str(folder))
    return folder


SPELLINGS = {
    "table after": (["{run}", "--plugins"], True, True),
    "table before": (["--plugins", "{run}"], True, True),
    "table between": (["--width=90", "--plugins", "{run}", "--ascii"], True, True),
    "only": (["{run}", "--plugins=cli_acme"], False, True),
    "only before": (["--plugins=cli_acme", "{run}"], False, True),
    "only by distribution": (["--plugins=cli-acme", "{run}"], False, True),
    "only others": (["{run}", "--plugins=cli_draws"], False, False),
    "only and table": (["--plugins=cli_acme", "--plugins", "{run}"], True, True),
    "several": (["--plugins=cli_draws,cli_acme", "{run}"], False, True),
    "several options": (["--plugins=cli_draws", "--plugins=cli_acme", "{run}"], False, True),
    "blocked": (["{run}", "-p", "no:cli_acme"], False, False),
    "blocked, no space": (["-pno:cli_acme", "{run}"], False, False),
    "blocked with table": (["-p", "no:cli_acme", "--plugins", "{run}"], True, False),
    "nothing": (["{run}"], False, True),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling(cli, slow_run, packs, spelling):
    arguments, table, fires = SPELLINGS[spelling]
    result = cli("analyze", *(a.format(run=slow_run) for a in arguments))
    assert result.code == 0
    assert ("PLUGINS (" in result.out) is table
    assert ("It fired (ACME.FIRES)" in result.out) is fires


def test_after_two_dashes_everything_is_an_argument(cli, packs):
    result = cli("analyze", "--", "--plugins")
    assert result.code == 3
    assert "there is nothing at --plugins" in result.err


def test_without_a_run_the_bare_option_lists(cli, packs):
    result = cli("analyze", "--plugins")
    assert result.code == 0
    assert "cli_acme (cli-acme 1.0): loaded" in result.out
    assert result.out.startswith("builtin (pytscope-core")
    assert "It fired" not in result.out


def test_without_a_run_a_value_is_not_enough(cli, packs):
    result = cli("analyze", "--plugins=cli_acme")
    assert result.code == 2
    assert "Missing argument 'RUN'" in result.err
    listed = cli("analyze", "--plugins", "--plugins=cli_acme")
    assert "cli_draws (cli-draws 1.0): disabled" in listed.out


def test_the_environment_chooses_too(cli, slow_run, packs, monkeypatch):
    monkeypatch.setenv("PYTSCOPE_DISABLED_PLUGINS", "cli_acme")
    assert "ACME.FIRES" not in cli("analyze", slow_run).out
    monkeypatch.delenv("PYTSCOPE_DISABLED_PLUGINS")
    monkeypatch.setenv("PYTSCOPE_DISABLE_PLUGIN_AUTOLOAD", "1")
    assert "ACME.FIRES" not in cli("analyze", slow_run).out
    assert "ACME.FIRES" in cli("analyze", slow_run, "--plugins=cli_acme").out


VERBS = {
    "analyze": ["{run}"],
    "export": ["{run}", "--to", "csv"],
    "plugins": [],
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_name_of_no_plugin_is_refused(cli, slow_run, packs, verb):
    words = [word.format(run=slow_run) for word in VERBS[verb]]
    for options in (("-p", "no:cli_acne"), ("-p", "no:cli_acme", "-p", "no:cli_acne")):
        result = cli(verb, *words, *options)
        assert (result.code, result.out) == (2, "")
        assert "'cli_acne': no installed plugin has this name; did you mean" in result.err
        assert "cli_acme" in result.err


def test_a_name_of_no_plugin_among_those_to_load_is_refused(cli, slow_run, packs):
    for value in ("cli_acne", "cli_acme,cli_acne"):
        result = cli("analyze", slow_run, f"--plugins={value}")
        assert (result.code, result.out) == (2, "")
        assert "did you mean" in result.err
    assert cli("analyze", slow_run, "--plugins=builtin").code == 0
    whole = cli("analyze", slow_run, "-p", "no:builtin")
    assert whole.code == 2
    assert "the built-ins cannot be disabled as a whole" in whole.err


@pytest.mark.parametrize("variable", ["PYTSCOPE_PLUGINS", "PYTSCOPE_DISABLED_PLUGINS"])
def test_a_name_of_no_plugin_in_the_environment_is_warned_of(
    cli, slow_run, packs, monkeypatch, variable
):
    monkeypatch.setenv(variable, "cli_acne,cli_draws")
    result = cli("analyze", slow_run, "-p", "no:cli_broken")
    assert result.code == 0
    said = f"warning: {variable}: 'cli_acne': no installed plugin has this name; did you mean"
    assert result.err.count(said) == 1
    assert "cli_draws'" not in result.err


def test_a_broken_plugin_changes_nothing_but_one_section(cli, slow_run, packs):
    result = cli("analyze", slow_run)
    assert result.code == 0
    assert r"cli_broken (cli-broken 1.0), load: ImportError: no \x1b[31mluck" in result.out
    without = cli("analyze", slow_run, "-p", "no:cli_broken").out
    sections = {s.split(" —")[0]: s for s in result.out.split("\n\n")}
    del sections["● PROBLEMS (1)"]
    assert list(sections.values()) == without.split("\n\n")


def test_strict_minds_a_broken_plugin(cli, slow_run, packs):
    result = cli("analyze", slow_run, "--strict")
    assert result.code == 4
    assert "strict: plugin cli_broken, load:" in result.err
    assert cli("analyze", slow_run, "--strict", "-p", "no:cli_broken").code == 0


def test_plugin_errors_can_be_raised(cli, slow_run, packs, monkeypatch):
    monkeypatch.setenv("PYTSCOPE_RAISE_PLUGIN_ERRORS", "1")
    result = cli("analyze", slow_run)
    assert (result.code, result.out) == (4, "")
    assert "cli_broken" in result.err


class TestReporters:
    def test_one_of_a_plugin(self, cli, slow_run, packs):
        out = cli("analyze", slow_run, "--format=one-line").out
        assert out == "sample: 3 ● findings\n"

    def test_one_that_fails_leaves_text_and_a_problem(self, cli, slow_run, packs):
        result = cli("analyze", slow_run, "--format", "brittle")
        assert result.code == 0
        assert r"reporter brittle: RuntimeError: cannot \x1b[31mdraw" in result.out
        assert "warning: reporter brittle of plugin cli_draws failed" in result.err

    def test_strict_minds_it(self, cli, slow_run, packs):
        without = ("-p", "no:cli_broken", "--strict")
        assert cli("analyze", slow_run, *without).code == 0
        assert cli("analyze", slow_run, *without, "--format", "brittle").code == 4

    def test_a_later_report_shows_the_failure(self, cli, slow_run, packs, tmp_path):
        file = tmp_path / "brittle.txt"
        result = cli("analyze", slow_run, f"--format=brittle:{file}", "--format=json")
        assert file.read_text(encoding="utf-8").startswith("● RUN")
        stages = [p["stage"] for p in json.loads(result.out)["problems"]]
        assert "reporter brittle" in stages


class TestSettingsOfAbsentPlugins:
    def test_thresholds_are_passed_over_with_a_warning(self, cli, slow_run, packs):
        text = '[tool.pytscope]\nignore = ["ACME.FIRES"]\n[tool.pytscope.rules."ACME.OTHER"]\na=1\n'
        Path("pyproject.toml").write_text(text)
        result = cli("analyze", slow_run, "-p", "no:cli_acme")
        assert result.code == 0
        assert "there is no rule 'ACME.OTHER'; not loaded: cli_acme, cli_broken" in result.err
        assert "ignore: no rule matches 'ACME.FIRES'" in result.err

    def test_a_selection_of_absent_rules_alone_is_refused(self, cli, slow_run, packs):
        Path("pyproject.toml").write_text('[tool.pytscope]\nselect = ["ACME.FIRES"]\n')
        assert cli("analyze", slow_run).code == 0
        result = cli("analyze", slow_run, "-p", "no:cli_acme")
        assert result.code == 2
        assert "select names no rule" in result.err


class TestListing:
    def test_text(self, cli, packs):
        result = cli("plugins")
        assert result.code == 0
        blocks = result.out.split("\n\n")
        assert blocks[0].startswith("builtin (pytscope-core")
        assert "  reporters: github, json, junit, markdown, sarif, text" in blocks[0]
        assert "  rules: ACME.FIRES" in blocks[1]
        assert "cli_broken (cli-broken 1.0): broken" in result.out
        assert r"cli_broken, load: ImportError: no \x1b[31mluck" in blocks[-1]

    def test_json(self, cli, packs):
        document = json.loads(cli("plugins", "--json").out)
        assert document["schema"] == "pytscope.plugins/1"
        states = {p["name"]: p["state"] for p in document["plugins"]}
        assert states["cli_acme"] == "loaded"
        assert states["cli_broken"] == "broken"
        assert [p["stage"] for p in document["problems"]] == ["load"]

    def test_packages_without_a_plugin(self, cli, tmp_path, monkeypatch):
        folder = tmp_path / "site"
        collector = "[pytscope.collectors]\nobjects = acme:Objects\n"
        distribution(folder, "pytscope-empty")
        distribution(folder, "acme-objects", version="2.0", entry_points=collector)
        distribution(folder, "unrelated")
        monkeypatch.syspath_prepend(str(folder))
        out = cli("plugins").out
        assert "pytscope-empty 1.0: installed, without a plugin\n" in out
        assert "acme-objects 2.0: installed, without a plugin\n  collectors: objects\n" in out
        assert "unrelated" not in out
        listed = json.loads(cli("plugins", "--json").out)["packages"]
        known = {"version": "1.0", "summary": "", "collectors": []}
        assert {"distribution": "pytscope-empty", **known} in listed

    def test_packages_that_cannot_be_read_are_left_out(self, cli, tmp_path, monkeypatch):
        folder = distribution(tmp_path / "site", "pytscope-torn")
        (folder / "pytscope_torn-1.0.dist-info" / "METADATA").write_bytes(b"Name: \xff\n")
        distribution(folder, "pytscope-whole")
        monkeypatch.syspath_prepend(str(folder))
        result = cli("plugins")
        assert result.code == 0
        assert "pytscope-whole 1.0: installed" in result.out

    def test_a_plugin_can_be_left_out(self, cli, packs):
        result = cli("plugins", "-p", "no:cli_broken")
        assert "cli_broken (cli-broken 1.0): disabled" in result.out
        assert "Problems" not in result.out

from __future__ import annotations

import sys

import pytest

from tests.core.plugins.throwaway import distribution, python

VERBS = ("analyze", "demo", "explain", "plugins", "run")


def test_help_names_every_verb(cli):
    result = cli("--help")
    assert (result.code, result.err) == (0, "")
    for verb in VERBS:
        assert f"\n  {verb} " in result.out
    assert cli("-h").out == result.out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(cli, verb):
    result = cli(verb, "--help")
    assert result.code == 0
    assert result.out.startswith(f"Usage: pytscope {verb}")


def test_the_hidden_spelling_is_not_in_the_help(cli):
    assert "--plugins-table" not in cli("analyze", "--help").out


def test_version_says_core_and_python(cli):
    result = cli("--version")
    assert result.code == 0
    assert result.out.startswith("pytscope-core ")
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in result.out


def test_no_verb_is_a_usage_error_with_the_help(cli):
    result = cli()
    assert result.code == 2
    assert result.out == ""
    assert "Usage: pytscope" in result.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["analyse"], "analyse"),
        (["--colour", "always", "analyze"], "--colour"),
        (["analyze"], "Missing argument 'RUN'"),
        (["analyze", "a", "b"], "unexpected extra argument"),
    ],
)
def test_usage_errors_are_two_lines(cli, arguments, said):
    result = cli(*arguments)
    assert (result.code, result.out) == (2, "")
    error, hint = result.err.splitlines()
    assert error.startswith("error: ")
    assert said in error
    assert hint.startswith("help: See 'pytscope")


@pytest.mark.parametrize("rest", [["--", "train.py", "--lr", "1"], ["-o", "x", "train.py"]])
def test_run_is_a_door(cli, monkeypatch, rest):
    monkeypatch.setitem(sys.modules, "pytscope_torch", None)
    result = cli("run", *rest)
    assert (result.code, result.out) == (2, "")
    said = "error: pytscope run is part of pytscope-torch; pytscope-torch is not installed"
    assert result.err.startswith(said)
    assert "pip install 'pytscope-core[torch]'" in result.err


def test_python_m_is_the_command(shell):
    done = shell("$PYTSCOPE --version")
    assert done.returncode == 0
    assert done.stdout.startswith(b"pytscope-core ")


HOSTILE = "import sys; sys.exit('imported although nobody asked')"


@pytest.mark.parametrize("argument", ["--help", "--version", "analyze --help", "demo -h"])
def test_help_and_version_import_no_plugin_and_nothing_heavy(tmp_path, argument):
    distribution(tmp_path, "hostile-pack", HOSTILE)
    code = (
        "import sys\n"
        "from pytscope.cli import main\n"
        "try:\n"
        f"    main({argument.split()!r})\n"
        "except SystemExit as stopped:\n"
        "    heavy = {'numpy', 'rich', 'pluggy', 'cattrs', 'torch', 'hostile_pack'}\n"
        "    print(sorted(heavy & set(sys.modules)), stopped.code, file=sys.stderr)\n"
    )
    done = python(code, tmp_path)
    assert done.stderr == "[] 0\n"


def test_a_listing_survives_a_plugin_that_exits(tmp_path):
    distribution(tmp_path, "hostile-pack", HOSTILE)
    done = python("from pytscope.cli import main; main(['plugins'])", tmp_path)
    assert done.returncode == 0
    assert "hostile_pack (hostile-pack 1.0): broken" in done.stdout


def test_one_warning_about_the_other_distribution(tmp_path):
    distribution(tmp_path, "pytscope", version="0.2.1")
    done = python("from pytscope.cli import main; main(['plugins'])", tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("warning:") == 1
    assert "pytscope 0.2.1 is installed beside pytscope-core" in done.stderr


def test_no_warning_without_it(cli):
    assert cli("plugins").err == ""


def test_an_interrupt_ends_quietly(tmp_path):
    code = (
        "import pytscope.cli.selection as selection\n"
        "def interrupted(*_): raise KeyboardInterrupt\n"
        "selection.selected_registry = interrupted\n"
        "from pytscope.cli import main; main(['plugins'])"
    )
    done = python(code)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr

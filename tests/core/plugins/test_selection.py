from __future__ import annotations

import pytest

from pytscope.plugins.selection import PluginSelection, raises_plugin_errors


def test_by_default_everything_loads() -> None:
    selection = PluginSelection.from_environment({})
    assert selection == PluginSelection()
    assert selection.refusal("acme", "acme-pack") == ""


@pytest.mark.parametrize("value", ["1", "true", "YES", " on "])
def test_autoload_off(value: str) -> None:
    selection = PluginSelection.from_environment({"PYTSCOPE_DISABLE_PLUGIN_AUTOLOAD": value})
    assert selection.refusal("acme", "acme-pack") == "PYTSCOPE_DISABLE_PLUGIN_AUTOLOAD is set"


@pytest.mark.parametrize("value", ["", "0", "false", "No", "off"])
def test_a_false_value_leaves_autoload_on(value: str) -> None:
    environ = {"PYTSCOPE_DISABLE_PLUGIN_AUTOLOAD": value}
    assert PluginSelection.from_environment(environ).autoload


def test_the_allow_list_works_under_either() -> None:
    for autoload in ("0", "1"):
        selection = PluginSelection.from_environment(
            {"PYTSCOPE_PLUGINS": "acme, b", "PYTSCOPE_DISABLE_PLUGIN_AUTOLOAD": autoload}
        )
        assert selection.refusal("acme", "acme-pack") == ""
        assert selection.refusal("c", "c-pack") == "not among the plugins asked for"


def test_an_empty_allow_list_is_none() -> None:
    assert PluginSelection.from_environment({"PYTSCOPE_PLUGINS": " "}).only is None


@pytest.mark.parametrize("name", ["acme", "acme-pack", "Acme_Pack", "acme.pack"])
def test_plugins_go_by_entry_point_or_distribution(name: str) -> None:
    disabled = PluginSelection.from_environment({"PYTSCOPE_DISABLED_PLUGINS": f"x,{name},"})
    assert disabled.refusal("acme", "acme-pack") == "disabled by name"
    only = PluginSelection(only=frozenset({name}))
    assert only.refusal("acme", "acme-pack") == ""


def test_disabled_wins_over_allowed() -> None:
    selection = PluginSelection(only=frozenset({"acme"}), disabled=frozenset({"acme"}))
    assert selection.refusal("acme", "acme-pack") == "disabled by name"


def test_the_command_line_goes_on_top() -> None:
    base = PluginSelection.from_environment(
        {"PYTSCOPE_PLUGINS": "a", "PYTSCOPE_DISABLED_PLUGINS": "b"}
    )
    assert base.narrowed(only=["c"], disabled=["d"]) == PluginSelection(
        frozenset({"c"}), frozenset({"b", "d"})
    )
    assert base.narrowed() == base
    assert base.narrowed(disabled=["d"]).names == ("a", "b", "d")


def test_raising_plugin_errors() -> None:
    assert raises_plugin_errors({"PYTSCOPE_RAISE_PLUGIN_ERRORS": "1"})
    assert not raises_plugin_errors({"PYTSCOPE_RAISE_PLUGIN_ERRORS": "0"})
    assert not raises_plugin_errors({})

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from pytscope import PluginError, Rule, Run, hookimpl, rule
from pytscope.plugins.discovery import Advertised
from pytscope.plugins.isolation import Guard
from pytscope.plugins.loading import MOST_ITEMS, LoadedPlugin, collect, load, load_builtins
from tests.core.plugins.made import ACME


@rule("ACME.QUIET", since="1.0")
def quiet(run: Run) -> list[Any]:
    """Detects nothing."""
    return []


def rules_hook() -> list[Rule]:
    return [quiet]


def module(**functions: Any) -> types.ModuleType:
    made = types.ModuleType("acme")
    vars(made).update(functions)
    return made


def hook(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """The function, marked; a copy, since marking writes on it."""

    def copy(*args: Any) -> Any:
        return function(*args)

    return hookimpl(**options)(copy)


def collected(plugin: Any, guard: Guard | None = None) -> LoadedPlugin:
    return collect(ACME, plugin, guard or Guard())


def problem_of(loaded: LoadedPlugin) -> tuple[str, str]:
    (problem,) = loaded.problems
    return problem.stage, problem.message


class Plugin:
    @hookimpl
    def pytscope_rules(self) -> list[Rule]:
        return [quiet]


@pytest.mark.parametrize(
    "plugin",
    [Plugin, Plugin(), module(pytscope_rules=hook(rules_hook))],
    ids=["class", "instance", "module"],
)
def test_a_plugin_is_a_class_an_instance_or_a_module(plugin: object) -> None:
    loaded = collected(plugin)
    assert loaded.declared == {"rules": (quiet,)}
    assert loaded.problems == ()


@pytest.mark.parametrize("returned", [[quiet], (quiet,), iter([quiet]), {quiet.id: quiet}.values()])
def test_any_iterable_will_do(returned: Any) -> None:
    loaded = collected(module(pytscope_rules=hookimpl(lambda: returned)))
    assert loaded.declared == {"rules": (quiet,)}


@pytest.mark.parametrize("returned", [None, quiet, "rules", b"rules", {"a": quiet}])
def test_what_is_no_list_is_refused(returned: Any) -> None:
    stage, message = problem_of(collected(module(pytscope_rules=hookimpl(lambda: returned))))
    assert stage == "pytscope_rules"
    assert message == f"it returned {type(returned).__name__}, not a list of Rule objects"


def test_a_number_is_refused() -> None:
    assert "not iterable" in problem_of(collected(module(pytscope_rules=hookimpl(lambda: 3))))[1]


def test_a_generator_that_raises_late_gives_nothing() -> None:
    @hookimpl
    def pytscope_rules() -> Iterator[Rule]:
        yield quiet
        raise SystemExit(4)

    loaded = collected(module(pytscope_rules=pytscope_rules))
    assert loaded.declared == {}
    assert problem_of(loaded) == ("pytscope_rules", "called sys.exit(4)")


def test_a_generator_without_end_is_cut_off() -> None:
    @hookimpl
    def pytscope_rules() -> Iterator[Rule]:
        while True:
            yield quiet

    loaded = collected(module(pytscope_rules=pytscope_rules))
    assert problem_of(loaded)[1] == f"it returned more than {MOST_ITEMS} rules"


def test_one_hook_that_fails_leaves_the_others() -> None:
    @hookimpl
    def pytscope_analyzers() -> list[Any]:
        raise ValueError("no")

    plugin = module(pytscope_rules=hook(rules_hook), pytscope_analyzers=pytscope_analyzers)
    loaded = collected(plugin)
    assert loaded.declared == {"rules": (quiet,)}
    assert problem_of(loaded) == ("pytscope_analyzers", "ValueError: no")


def test_an_unknown_hook_is_named_with_the_closest() -> None:
    loaded = collected(module(pytscope_ruels=hook(rules_hook)))
    assert problem_of(loaded) == (
        "pytscope_ruels",
        "there is no hook 'pytscope_ruels'; did you mean 'pytscope_rules'?",
    )


def test_an_optional_hook_of_another_version_is_passed_over() -> None:
    plugin = module(
        pytscope_future=hook(rules_hook, optionalhook=True), pytscope_rules=hook(rules_hook)
    )
    loaded = collected(plugin)
    assert loaded.problems == ()
    assert loaded.declared == {"rules": (quiet,)}


def test_collectors_are_sent_to_their_group() -> None:
    _, message = problem_of(collected(module(pytscope_collectors=hook(rules_hook))))
    assert message == "collectors have an entry-point group of their own: pytscope.collectors"


def test_a_hook_under_another_name() -> None:
    plugin = module(
        mine=hook(rules_hook, specname="pytscope_rules"), pytscope_rules=hook(rules_hook)
    )
    assert collected(plugin).declared == {"rules": (quiet, quiet)}


def test_an_unknown_argument_is_refused_on_one_line() -> None:
    @hookimpl
    def pytscope_rules(config: object) -> list[Rule]:
        return [quiet]

    stage, message = problem_of(collected(module(pytscope_rules=pytscope_rules)))
    assert stage == "register"
    assert message.endswith("its arguments or options are not the specification's")


def test_a_wrapper_is_refused() -> None:
    @hookimpl(wrapper=True)
    def pytscope_rules() -> Iterator[None]:
        yield

    _, message = problem_of(collected(module(pytscope_rules=pytscope_rules)))
    assert message == "a hook that registers values cannot be wrapped; return them"


def test_a_forgotten_mark_is_told() -> None:
    loaded = collected(module(pytscope_rules=rules_hook))
    assert problem_of(loaded) == (
        "pytscope_rules",
        "the function of this name is not marked with @hookimpl",
    )


@pytest.mark.parametrize("plugin", [module(), quiet, 3, object()])
def test_a_plugin_that_registers_nothing_is_told(plugin: object) -> None:
    assert problem_of(collected(plugin))[1] == (
        "it registers nothing: no function of it is marked with @hookimpl"
    )


def test_none_is_refused() -> None:
    assert problem_of(collected(None)) == ("register", "the entry point names None")


class NeedsMore:
    def __init__(self, more: int) -> None: ...


def test_a_class_that_cannot_be_made_is_a_problem() -> None:
    stage, message = problem_of(collected(NeedsMore))
    assert stage == "register"
    assert message.startswith("TypeError")


class Hostile:
    def __dir__(self) -> list[str]:
        raise SystemExit(1)

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __hash__(self) -> int:
        raise RuntimeError("hash")

    def __repr__(self) -> str:
        raise RuntimeError("repr")

    @property
    def __class__(self) -> type:
        raise RuntimeError("class")


def test_a_hostile_object_is_one_problem() -> None:
    assert problem_of(collected(Hostile()))[0] == "register"


def test_authors_may_have_it_raised() -> None:
    with pytest.raises(PluginError, match="pytscope_ruels"):
        collected(module(pytscope_ruels=hook(rules_hook)), Guard(reraise=True))


def test_the_built_ins_load_through_the_same_hooks() -> None:
    loaded = load_builtins(Guard(reraise=True))
    assert set(loaded.declared) == {"sources", "analyzers", "rules", "reporters"}
    assert loaded.origin.builtin
    assert loaded.load_ns > 0


def advertised(value: str, *, requires: tuple[str, ...] = ()) -> Advertised:
    return Advertised(ACME, EntryPoint("acme", value, "pytscope"), requires=requires)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("json:no_such", "AttributeError: module 'json' has no attribute 'no_such'"),
        ("json:dumps", "it registers nothing: no function of it is marked with @hookimpl"),
        ("json:JSONDecoder.x.y", "AttributeError: type object 'JSONDecoder' has no attribute 'x'"),
    ],
)
def test_an_entry_point_that_leads_nowhere(value: str, said: str) -> None:
    assert problem_of(load(advertised(value), Guard()))[1] == said


@pytest.mark.parametrize("value", ["", " ", "a b c", "m:"])
def test_an_entry_point_that_is_none(value: str) -> None:
    try:
        plugin = advertised(value)
    except ValueError:
        pytest.skip("this Python does not make such an entry point")
    assert load(plugin, Guard()).problems != ()


def test_a_failed_import_names_what_the_metadata_asks_for() -> None:
    plugin = advertised("no_such_module", requires=("numpy", "acme-gpu>=2"))
    (problem,) = load(plugin, Guard()).problems
    assert problem.message == (
        "ImportError: No module named 'no_such_module'; "
        "acme-pack requires acme-gpu>=2, which is not installed"
    )
    assert "ModuleNotFoundError" in problem.traceback

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from pytscope import PluginError
from pytscope.model.report import PluginInfo, PluginState
from pytscope.plugins.isolation import LONGEST_TRACE, Failure, Guard, Origin, Refusal, guard
from tests.core.plugins.made import ACME, OWN


def failed(call: Callable[[], Any]) -> Failure:
    result = guard(ACME, "rule A.B", call)
    assert type(result) is Failure
    return result


def raising(error: BaseException) -> Callable[[], None]:
    def call() -> None:
        raise error

    return call


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


def endless() -> None:
    endless()


def test_a_result_passes() -> None:
    assert guard(ACME, "load", lambda: 3) == 3


def test_a_failure_names_everyone_concerned() -> None:
    problem = failed(raising(ValueError("bad\nvery"))).problem
    assert (problem.plugin, problem.distribution, problem.version) == ("acme", "acme-pack", "1.0")
    assert problem.stage == "rule A.B"
    assert problem.message == "ValueError: bad"
    assert "very" in problem.traceback
    assert "Traceback" in problem.traceback


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (raising(SystemExit(3)), "called sys.exit(3)"),
        (raising(SystemExit()), "called sys.exit()"),
        (endless, "RecursionError: maximum recursion depth exceeded"),
        (raising(KeyError("x")), "KeyError: 'x'"),
        (raising(AssertionError()), "AssertionError"),
        (raising(Refusal("it says it all")), "it says it all"),
        (raising(Unspeakable()), "failed with an exception that cannot be shown"),
        (raising(ValueError("\x1b[2J")), "ValueError: \\x1b[2J"),
    ],
)
def test_every_failure_is_one_line(call: Callable[[], Any], message: str) -> None:
    assert failed(call).problem.message == message


def test_a_refusal_of_the_host_has_no_traceback() -> None:
    assert failed(raising(Refusal("no"))).problem.traceback == ""


def test_an_interrupt_passes() -> None:
    with pytest.raises(KeyboardInterrupt):
        guard(ACME, "load", raising(KeyboardInterrupt()))


def test_reraise_keeps_the_cause() -> None:
    cause = ValueError("bad")
    with pytest.raises(PluginError, match=r"plugin acme \(acme-pack 1\.0\), load: ValueError") as e:
        guard(ACME, "load", raising(cause), reraise=True)
    assert e.value.__cause__ is cause


def test_reraise_turns_an_exit_into_an_error() -> None:
    with pytest.raises(PluginError, match=r"sys\.exit"):
        guard(ACME, "load", raising(SystemExit(1)), reraise=True)


def test_what_a_plugin_prints_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    guard(ACME, "load", lambda: print("noise"))  # noqa: T201
    out, err = capsys.readouterr()
    assert (out, err) == ("", "noise\n")
    assert sys.stdout is before


def test_a_plugin_cannot_keep_standard_output() -> None:
    before = sys.stdout

    def steal() -> None:
        sys.stdout = sys.stderr

    guard(ACME, "load", steal)
    assert sys.stdout is before


def warn_and_go_on() -> int:
    warnings.warn("old", DeprecationWarning, 1)
    return 3


def test_a_warning_stays_one_even_where_warnings_are_errors() -> None:
    with pytest.warns(DeprecationWarning, match="old"):
        warnings.simplefilter("error")
        assert guard(ACME, "load", warn_and_go_on) == 3
        with pytest.raises(DeprecationWarning):
            warn_and_go_on()


def test_silenced_warnings_stay_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.simplefilter("ignore")
        guard(ACME, "load", lambda: warnings.warn("old", UserWarning, 1))
    assert capsys.readouterr().err == ""


def test_for_authors_a_warning_may_be_an_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PluginError, match="UserWarning: old"):
            guard(ACME, "load", lambda: warnings.warn("old", UserWarning, 1), reraise=True)


def test_origins_read_well_and_sort_built_ins_first() -> None:
    assert str(ACME) == "acme (acme-pack 1.0)"
    assert str(Origin("acme", "acme-pack")) == "acme (acme-pack)"
    assert str(Origin("acme")) == "acme"
    assert sorted([ACME, OWN], key=lambda o: o.order) == [OWN, ACME]
    info = PluginInfo("acme", "acme-pack", "1.0", PluginState.LOADED)
    assert Origin.of(info) == ACME


def test_names_in_a_problem_are_escaped() -> None:
    problem = Origin("a\x1bb", "d\nx", "1\x00").problem("s\r", "m")
    assert (problem.plugin, problem.distribution, problem.version, problem.stage) == (
        "a\\x1bb",
        "d",
        "1\\x00",
        "s",
    )


class Panic(BaseException):
    """What extension modules raise, beside the tree of `Exception`."""


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (Panic("index out of bounds"), "Panic: index out of bounds"),
        (GeneratorExit(), "GeneratorExit"),
        (asyncio.CancelledError(), "CancelledError"),
        (BaseExceptionGroup("two", [Panic(), SystemExit()]), "BaseExceptionGroup: two (2 sub-"),
        (MemoryError(), "MemoryError"),
    ],
)
def test_nothing_but_an_interrupt_passes(error: BaseException, message: str) -> None:
    assert failed(raising(error)).problem.message.startswith(message)


def test_an_interrupt_says_who_was_running() -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        guard(ACME, "rule A.B", raising(KeyboardInterrupt()))
    assert caught.value.__notes__ == ["while plugin acme (acme-pack 1.0) ran: rule A.B"]


def test_an_interrupt_in_a_group_passes() -> None:
    group = BaseExceptionGroup("g", [ExceptionGroup("h", [ValueError()]), KeyboardInterrupt()])
    with pytest.raises(BaseExceptionGroup):
        guard(ACME, "load", raising(group))


class Impostor(Exception):
    """One that lies about its class, its text and its traceback."""

    @property
    def __class__(self) -> type:  # type: ignore[override]  # the point of the test
        raise Panic

    @property
    def __cause__(self) -> BaseException:  # type: ignore[override]  # as above
        raise Panic

    def __str__(self) -> str:
        raise Panic


class Wordy(Exception):
    def __str__(self) -> str:
        print("said aside")  # noqa: T201
        return Words("plain")


class Words(str):
    __slots__ = ()

    def splitlines(self, keepends: bool = False) -> list[str]:
        raise Panic


def test_an_exception_may_be_as_hostile_as_it_likes(capsys: pytest.CaptureFixture[str]) -> None:
    problem = failed(raising(Impostor())).problem
    assert problem.message == "failed with an exception that cannot be shown"
    assert failed(raising(Wordy())).problem.message == "Wordy: plain"
    assert capsys.readouterr().out == ""


def test_the_traceback_of_a_recursion_is_bounded() -> None:
    def ping(n: int) -> None:
        pong(n + 1)

    def pong(n: int) -> None:
        ping(n + 1)

    trace = failed(lambda: ping(0)).problem.traceback
    assert len(trace) < LONGEST_TRACE + 100
    assert "RecursionError" in trace.splitlines()[-1]


def test_time_is_kept_by_origin_and_stage() -> None:
    ticks = iter((0, 5, 10, 12, 20, 21))
    timed = Guard(clock=lambda: next(ticks))
    timed(ACME, "rule A.B", int)
    timed(ACME, "rule A.B", raising(ValueError()))
    timed(OWN, "rule A.B", int)
    assert timed.spent_ns == {(ACME, "rule A.B"): 7, (OWN, "rule A.B"): 1}


def test_another_guard_has_the_clock_and_no_past() -> None:
    guard = Guard(clock=lambda: 0)
    guard.noted.append(ACME.problem("load", "m"))
    other = guard.another(reraise=True)
    assert (other.reraise, other.noted, other.clock()) == (True, [], 0)

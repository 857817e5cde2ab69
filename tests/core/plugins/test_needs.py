from __future__ import annotations

import abc
import functools
from collections.abc import Callable
from typing import Annotated, Any

import attrs
import pytest

from pytscope import Analyzer, Run
from pytscope.plugins.isolation import Refusal
from pytscope.plugins.needs import Kind, Need, read_needs, read_provided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nowhere import Hidden  # type: ignore[import-not-found]  # the point of the test


@attrs.frozen
class Clock:
    ticks: int = 0


class Abstract(abc.ABC):
    """A class whose metaclass leaves identity alone."""

    @abc.abstractmethod
    def tick(self) -> None: ...


def needs(function: Callable[..., Any], **overrides: Any) -> tuple[Need, ...]:
    return read_needs(function, overrides)


def refused(function: Callable[..., Any], **overrides: Any) -> str:
    with pytest.raises(Refusal) as caught:
        read_needs(function, overrides)
    return str(caught.value)


def test_every_form_of_a_need() -> None:
    def check(
        run: Run,
        one: Clock,
        maybe: Clock | None,
        old: Clock | None,
        older: Clock | None,
        every: tuple[Clock, ...],
        noted: Annotated[Clock, "why"],
        base: Abstract,
        *,
        least: int = 3,
    ) -> None: ...

    assert needs(check) == (
        Need("run", Run),
        Need("one", Clock),
        Need("maybe", Clock, Kind.OPTIONAL),
        Need("old", Clock, Kind.OPTIONAL),
        Need("older", Clock, Kind.OPTIONAL),
        Need("every", Clock, Kind.EVERY),
        Need("noted", Clock),
        Need("base", Abstract),
    )


def test_needs_read_as_they_were_written() -> None:
    assert [str(Need("x", Clock, kind)) for kind in Kind] == [
        "Clock",
        "Clock | None",
        "tuple[Clock, ...]",
    ]


def test_a_type_of_the_enclosing_function_is_found_when_used() -> None:
    @attrs.frozen
    class Local:
        pass

    def check(local: Local) -> Any:
        return Local

    assert needs(check) == (Need("local", Local),)


def test_one_that_cannot_be_resolved_says_which_and_what_to_do() -> None:
    def check(clock: Clock, hidden: Hidden) -> None: ...

    said = refused(check)
    assert said.startswith("the annotation of 'hidden' cannot be resolved (name 'Hidden'")
    assert "import the type at run time or declare needs={'hidden': TheType}" in said


def test_an_override_replaces_only_its_parameter() -> None:
    def check(clock: Clock, hidden: Hidden, plain) -> None: ...  # type: ignore[no-untyped-def]  # the point of the test

    assert needs(check, hidden=Run, plain=Clock | None) == (
        Need("clock", Clock),
        Need("hidden", Run),
        Need("plain", Clock, Kind.OPTIONAL),
    )


def test_the_return_annotation_of_a_rule_does_not_matter() -> None:
    def check(clock: Clock) -> Hidden: ...

    assert needs(check) == (Need("clock", Clock),)


def test_no_annotation_is_refused() -> None:
    def check(clock) -> None: ...  # type: ignore[no-untyped-def]  # the point of the test

    assert refused(check) == (
        "parameter 'clock' has no annotation; add one or declare needs={'clock': TheType}"
    )


def test_an_override_without_a_parameter_is_refused() -> None:
    def check(clock: Clock) -> None: ...

    assert refused(check, clokc=Clock) == (
        "needs= names 'clokc', which is no positional parameter; did you mean 'clock'?"
    )


@pytest.mark.parametrize(
    "annotation", [Any, list[int], int | str, int | str | None, tuple[int, str], None, "3", "1 +"]
)
def test_what_is_no_class_is_refused(annotation: Any) -> None:
    def check(x: Any) -> None: ...

    assert "'x'" in refused(check, x=annotation)


def test_star_parameters_are_refused() -> None:
    def stars(*clocks: Clock) -> None: ...
    def names(**clocks: Clock) -> None: ...

    assert refused(stars).startswith("*clocks says nothing about needs")
    assert refused(names).startswith("**clocks says nothing about thresholds")


def test_a_metaclass_with_its_own_identity_is_refused() -> None:
    class Meta(type):
        def __hash__(cls) -> int:
            raise RuntimeError("hash")

    class Sly(metaclass=Meta):
        pass

    def check(x: Any) -> None: ...

    assert refused(check, x=Sly) == "Sly has a metaclass with an identity of its own"


def test_wrapped_partial_and_callable_functions() -> None:
    def check(clock: Clock, *, least: int = 3) -> None: ...

    @functools.wraps(check)
    def wrapped(*args: Any, **kwargs: Any) -> None: ...

    class Callee:
        def __call__(self, clock: Clock) -> None: ...

        def method(self, clock: Clock) -> None: ...

    for function in (wrapped, functools.partial(check, least=1), Callee(), Callee().method):
        assert needs(function) == (Need("clock", Clock),)


def test_a_function_without_a_signature_is_refused() -> None:
    assert "shows no signature" in refused(min)


def provided(returns: Any, provides: Any = None) -> tuple[type, bool]:
    def compute(run: Run) -> Any: ...

    compute.__annotations__["return"] = returns
    return read_provided(Analyzer("clock", compute, provides))


def test_what_an_analyzer_provides() -> None:
    assert provided(Clock) == (Clock, False)
    assert provided("Clock | None") == (Clock, True)
    assert provided("Hidden", Clock) == (Clock, False)


@pytest.mark.parametrize("returns", [None, Any, tuple[Clock, ...], "list[Clock]", Clock | Run])
def test_what_cannot_be_provided(returns: Any) -> None:
    with pytest.raises(Refusal, match="must be annotated to return one class"):
        provided(returns)


def test_no_return_annotation() -> None:
    def compute(run: Run): ...  # type: ignore[no-untyped-def]  # the point of the test

    with pytest.raises(Refusal, match="has no return annotation"):
        read_provided(Analyzer("clock", compute))


def test_a_return_annotation_that_cannot_be_resolved() -> None:
    with pytest.raises(Refusal, match="declare provides=TheType"):
        provided("Hidden")

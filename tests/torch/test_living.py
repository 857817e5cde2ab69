"""Looking for living objects disturbs no thread, and holds on to nothing."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

pytest.importorskip("torch", reason="tests pytscope-torch")
pytest.importorskip("pytscope_torch", reason="pytscope-torch is not installed")

from pytscope_torch.seams.living import kinds_of, living


class Wanted:
    def __init__(self) -> None:
        self.itself = self


class Derived(Wanted):
    pass


class Alone:
    def __init__(self) -> None:
        self.held = ()


def test_objects_of_a_class_and_of_those_derived_from_it_are_found() -> None:
    gc.collect()
    here = [Wanted(), Derived()]
    assert {id(one) for one in living(kinds_of(Wanted))} == set(map(id, here))
    assert [type(one) for one in living({Derived})] == [Derived]
    assert living(set()) == []


def test_threads_that_fill_tuples_meanwhile_do_not_fail() -> None:
    stop = threading.Event()
    failures: list[SystemError] = []

    def fill() -> None:
        while not stop.is_set():
            try:
                tuple(number for number in range(200))
            except SystemError as error:
                failures.append(error)

    threads = [threading.Thread(target=fill) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(40):
        living({Wanted})
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize("collecting", [True, False])
def test_nothing_is_kept_and_collections_go_on_as_before(*, collecting: bool) -> None:
    before = gc.isenabled()
    (gc.enable if collecting else gc.disable)()
    try:
        one = Alone()
        gone = weakref.ref(one)
        assert living({Alone}) == [one]
        assert gc.isenabled() == collecting
        del one
        assert gone() is None
    finally:
        (gc.enable if before else gc.disable)()

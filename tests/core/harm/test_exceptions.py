"""Exceptions and signals through the recorder: the same ones come out, from the same place."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pytscope
from pytscope.recording import writer
from pytscope.recording.profiler import Profiler
from tests.core.recording.truth import child, only, said

from .trial import report, trial

CAUGHT = """
class Own(Exception): pass
class Gone(BaseException): pass

def body(kind, way):
    with contextlib.ExitStack() as stack:
        if "phase" in way: stack.enter_context(prof.phase("eval"))
        if "step" in way: stack.enter_context(prof.step())
        if "comm" in way: stack.enter_context(prof.comm())
        prof.mark("forward")
        raise kind(way)

def generator(kind):
    for batch in prof.steps([1, 2, 3]):
        if batch == 2: raise kind("in a loop over steps()")
        yield batch

prof = Profiler(FOLDER).start()
train(prof, 20)
for kind in (ValueError, Own, Gone, KeyboardInterrupt, SystemExit, StopIteration, GeneratorExit,
             RecursionError, MemoryError, AssertionError, TimeoutError):
    for way in ("step", "step comm", "phase", "phase step", "phase step comm", ""):
        try: body(kind, way)
        except BaseException as error: raised(type(error), error, error.__traceback__)
    try: list(generator(kind))
    except BaseException as error: raised(type(error), error, error.__traceback__)
    closed = generator(kind); next(closed); closed.close()
def deeper(n):
    with prof.step(): return deeper(n + 1)
try: deeper(0)
except RecursionError as error: print(type(error))
train(prof, 20)
prof.finish()
"""


def test_what_is_caught_comes_out_as_it_went_in(tmp_path: Path) -> None:
    trial(CAUGHT, tmp_path)
    timeline = only(tmp_path)
    assert timeline.attempts[0].ended_well
    last = range(len(timeline) - 19, len(timeline))
    assert {name for row in last for name, _ in timeline.segments(row)} <= {
        "data",
        "forward",
        "other",
    }
    code, text = report(tmp_path)
    assert code == 0
    assert "failed" in text
    assert "exception ValueError: step (step 20)" in text
    assert "more like it" in text


LOADERS = """
class Bad:
    def __init__(self, **faults): self.faults = faults
    def __getattr__(self, name): raise self.faults.get("getattr", AttributeError)(name)
    def __len__(self): raise self.faults.get("len", TypeError)("len")
    def __iter__(self): raise self.faults.get("iter", TypeError)("iter")
    def __bool__(self): raise self.faults.get("bool", ValueError)("bool")
    def __getitem__(self, i): raise self.faults.get("item", IndexError)(i)
class Nexts:
    def __init__(self, kind): self.kind, self.left = kind, 3
    def __iter__(self): return self
    def __next__(self):
        if not self.left: raise self.kind("next")
        self.left -= 1
        return self.left

def ask(call):
    try: print(call())
    except BaseException as error: raised(type(error), error, error.__traceback__)

prof = Profiler(FOLDER).start()
train(prof, 20)
for kind in (ValueError, KeyboardInterrupt, SystemExit, LookupError):
    loader = prof.iter_data(Bad(getattr=kind, len=kind, iter=kind, bool=kind, item=kind))
    for call in (lambda: len(loader), lambda: iter(loader), lambda: bool(loader),
                 lambda: loader.batch_size, lambda: loader[3], lambda: hasattr(loader, "x")):
        ask(call)
    ask(lambda: list(prof.iter_data(Nexts(kind))))
    ask(lambda: [None for _ in prof.steps(Nexts(kind))])
loader = prof.iter_data(Bad())
ask(lambda: hasattr(loader, "sampler")); ask(lambda: getattr(loader, "sampler", 5))
class Plain(list): pass
plain = Plain([1, 2, 3]); wrapped = prof.iter_data(plain)
wrapped.epoch = 4; print(plain.epoch, wrapped.epoch, wrapped[1], 2 in wrapped, 9 in wrapped)
ask(lambda: iter(prof.iter_data(5)))
gen = prof.iter_data(x for x in range(5))
for x in gen: break
print(list(gen)); gen.close(); print(list(gen))
train(prof, 20)
prof.finish()
"""


def test_loaders_that_raise(tmp_path: Path) -> None:
    trial(LOADERS, tmp_path)
    assert only(tmp_path).attempts[0].finished
    assert report(tmp_path)[0] == 0


SIGNALLED = """
import signal
class TimeUp(Exception): pass
def up(*_): raise TimeUp
signal.signal(signal.SIGALRM, up)
class Slow:
    name = "slow"
    def start(self, info): return {"x": "s"}
    def sample(self):
        if armed: time.sleep(5)
        return (1.0,)
    def stop(self): pass
    def __repr__(self): time.sleep(5); return ""
    def __float__(self): time.sleep(5); return 1.0
def limited(call):
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        call()
        if not RECORDED: time.sleep(5)
    except TimeUp: print("time is up")
def sampled():
    with prof.step(): pass
armed = False
prof = Profiler(FOLDER, collectors=[Slow()]).start()
train(prof, 10)
armed = True; limited(sampled); armed = False
limited(lambda: prof.log(loss=Slow()))
limited(lambda: Profiler(FOLDER + "/other", config={"x": Slow()}).start())
limited(lambda: Profiler(FOLDER + "/third", clock=lambda: time.sleep(5)).start())
train(prof, 10)
prof.finish()
"""


def test_a_time_limit_of_the_program_is_not_swallowed(tmp_path: Path) -> None:
    """It strikes while a collector, a logged object, a configuration or a clock is asked."""
    assert trial(SIGNALLED, tmp_path).out.count("time is up") == 4
    assert len(only(tmp_path)) >= 20


INTERRUPTED = """
import signal, sys, time
from pytscope import Profiler
signal.signal(signal.SIGALRM, signal.default_int_handler)
prof = Profiler(sys.argv[1], inline=True).start()
big = 7 ** 400_000
for _ in range(20):
    with prof.step(): prof.mark("forward")
interrupts = 0
for _ in range(8):
    try:
        with prof.phase("eval"):
            signal.setitimer(signal.ITIMER_REAL, 1e-4)
            big * big  # the signal comes in here, and is handled when the block is left
    except KeyboardInterrupt: interrupts += 1
for _ in range(20):
    with prof.step(): time.sleep(0.0001)
prof.finish()
print(interrupts)
"""


def test_an_interrupt_at_the_very_end_of_a_block_leaves_it(tmp_path: Path) -> None:
    assert child(INTERRUPTED, tmp_path).stdout.strip() == "8"
    timeline = only(tmp_path)
    assert {name for row in range(21, 40) for name, _ in timeline.segments(row)} == {"other"}


def test_a_logging_handler_that_raises(tmp_path: Path) -> None:
    class Strict(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise AssertionError(record.getMessage())

    strict = Strict()
    logging.getLogger("pytscope").addHandler(strict)
    try:
        Profiler(f"{tmp_path}\0").start().finish()
        with Profiler(tmp_path, collectors=["strict"]) as prof, prof.step():
            prof.log(loss=object())
    finally:
        logging.getLogger("pytscope").removeHandler(strict)
    assert len(said(only(tmp_path))) == 2


# --- used otherwise than meant ------------------------------------------------------


def test_a_step_in_a_step_is_said(tmp_path: Path) -> None:
    with Profiler(tmp_path) as prof:
        for _ in prof.steps(range(30)):
            with prof.step():
                prof.mark("forward")
    assert len(only(tmp_path)) == 60
    _, text = report(tmp_path)
    assert "a step began while one was open: a step inside a step" in text


def test_micro_batches_and_tries_are_no_steps_in_steps(tmp_path: Path) -> None:
    with Profiler(tmp_path) as prof:
        for i in range(30):
            with prof.step(update=False):
                prof.mark("forward")
            with contextlib.suppress(ZeroDivisionError), prof.step():
                prof.log(loss=1 / (i % 3))
            if i % 3 == 0:
                with prof.step():
                    prof.mark("forward")
    assert len(only(tmp_path)) == 30
    assert said(only(tmp_path)) == []


@pytest.mark.parametrize("how", ["few", "many"])
def test_marks_without_a_step_are_said(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "ABSORB", 1_000)
    with Profiler(tmp_path, inline=True) as prof:
        for i in range(30 if how == "few" else 3_000):
            prof.mark("forward")
            prof.log(loss=i)
            if i % 300 == 299:
                prof._writer.flush()  # as the writer's thread does each second
                assert len(prof._events) < 2_000
    code, text = report(tmp_path)
    assert code == 3 or "No step counts" in text
    assert "nothing ended a step" in " ".join(said(only(tmp_path)))
    assert "nothing ended a step" in text


def test_marks_between_steps_are_no_misuse(tmp_path: Path) -> None:
    with Profiler(tmp_path) as prof:
        prof.mark("setup")
        for _ in range(30):
            with prof.step():
                prof.mark("forward")
            prof.mark("checkpoint")
    assert said(only(tmp_path)) == []
    assert "checkpoint" in only(tmp_path).phases


def test_a_subclass_that_overrides_what_records(tmp_path: Path) -> None:
    class Chatty(Profiler):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.seen: list[str] = []

        def mark(self, name: str) -> None:
            self.seen.append(name)
            super().mark(f"my_{name}")

        def end_step(self, update: bool = True) -> None:
            self.log(step_ended=1.0)
            super().end_step(update)

    for _ in range(2):
        with Chatty(tmp_path) as prof:
            for _ in range(30):
                with prof.step():
                    prof.mark("forward")
        assert prof.seen == ["forward"] * 30
        assert type(prof) is Chatty
    timeline = only(tmp_path)
    assert set(timeline.phases) <= {"my_forward", "other"}
    assert len(timeline.column("scalar", "step_ended")[0]) == 30


def test_an_asynchronous_loop(tmp_path: Path) -> None:
    class Rows:
        def __init__(self) -> None:
            self.left = 30

        def __aiter__(self) -> Any:
            return self

        async def __anext__(self) -> int:
            await asyncio.sleep(0)
            self.left -= 1
            if self.left < 0:
                raise StopAsyncIteration
            return self.left

    async def loop(prof: Profiler) -> list[int]:
        seen = []
        async for row in prof.iter_data(Rows()):  # type: ignore[call-overload, attr-defined]  # said, not timed
            with prof.step():
                await asyncio.sleep(0)
                prof.mark("forward")
                seen.append(row)
        return seen

    with Profiler(tmp_path) as prof:
        assert asyncio.run(loop(prof)) == list(range(29, -1, -1))
    assert len(only(tmp_path)) == 30


def test_two_coroutines_that_step_in_turns_are_said(tmp_path: Path) -> None:
    async def loop(prof: Profiler) -> None:
        for _ in range(15):
            with prof.step():
                await asyncio.sleep(0)
                prof.mark("forward")

    async def both(prof: Profiler) -> None:
        await asyncio.gather(loop(prof), loop(prof))

    with Profiler(tmp_path) as prof:
        asyncio.run(both(prof))
    assert len(only(tmp_path)) == 30
    assert "a step began while one was open" in report(tmp_path)[1]


class Endless(dict[str, Any]):
    """A configuration that is never through."""

    def __len__(self) -> int:
        return 10**9

    def items(self) -> Any:
        def more() -> Iterator[tuple[str, int]]:
            n = 0
            while True:
                n += 1
                yield str(n), n

        return more()


class Leaving:
    def __repr__(self) -> str:
        raise SystemExit


def test_configurations_of_all_sorts(tmp_path: Path) -> None:
    import threading

    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    config = {
        "lock": threading.Lock(),
        "lambda": lambda: 1,
        "deep": deep,
        "wide": list(range(10**6)),
        "text": "x" * 10**7,
        "bytes": b"x" * 10**6,
        "endless": Endless(),
        "leaving": Leaving(),
        "\ud800": "\udfff",
        None: float("nan"),
    }
    with Profiler(tmp_path, config=config) as prof, prof.step():
        prof.mark("forward")
    assert (tmp_path / "rank00000.pts").stat().st_size < 2_000_000
    kept = pytscope.open(tmp_path).config
    assert kept["endless"]["1000"] == 1000
    assert "SystemExit" in kept["leaving"]
    assert "Lock" in kept["lock"] or "lock" in kept["lock"]
    assert report(tmp_path)[0] == 0

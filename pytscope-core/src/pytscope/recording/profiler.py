"""`Profiler`: records a training loop by hand-placed marks."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter_ns
from types import TracebackType
from typing import Any, Self, cast

from pytscope.recording import collectors as _collectors
from pytscope.recording import lifecycle, provenance
from pytscope.recording.arguments import MAX_STEP, amount, count
from pytscope.recording.clock import GivenClock
from pytscope.recording.collectors import Collector, Sampler
from pytscope.recording.drain import Drain
from pytscope.recording.files import Opened, open_run_file
from pytscope.recording.harmless import harmless, warn_once
from pytscope.recording.header import group_adapter, run_record, torch_adapter
from pytscope.recording.live import LiveMethods, SynchronizedMethods, described
from pytscope.recording.rank import RankInfo, detect_rank
from pytscope.recording.recorder import Recorder
from pytscope.recording.writer import Writer

CALIBRATION_STAMPS = 200
FLUSH_STEPS = 500
PROVENANCE_S = 3.0
"""Longest wait at the end of a short run for what it was made of."""


class Profiler(Recorder):
    """Records a run: one optimizer step after the other, on one clock.

    Nothing in here raises into training: what cannot be recorded is said once
    in the `pytscope` log and in the report.

    Args:
        run_dir: Folder of the run; one file per rank is appended to in it.
        name: Name of the run; the folder's name by default.
        warmup: Steps at the start to leave out of timing; None lets the
            analysis decide.
        sync: Wait for the accelerator at every stamp: exact phases on its
            clock, at the price of overlap. Needs pytscope-torch.
        collect_memory: Sample device memory after each step; `"reset"` also
            resets the peak statistics, which other tools may read. Needs
            pytscope-torch.
        flush_every: Steps after which the writer is woken; it wakes each
            second by itself.
        only_rank_zero: Record rank 0 alone; False records every rank.
        distributed: Record every rank.
        clock: A monotonic clock in integer nanoseconds.
        config: Anything worth keeping with the run.
        collectors: Collectors, or the names that packages advertise.
        flops_per_step: FLOPs of one optimizer step on one rank.
        peak_flops: Peak FLOP/s of one rank's device.
        inline: Write from the training thread instead of a writer thread.
    """

    __slots__ = (
        "_asked",
        "_collector_names",
        "_config",
        "_fields",
        "_flush_every",
        "_inline",
        "_memory",
        "_opened",
        "_provenance",
        "_ranks",
        "_run_dir",
        "_stamp_ns",
        "_sync",
        "_user_clock",
    )

    _opened: Opened
    _provenance: threading.Thread
    _stamp_ns: float

    def __init__(
        self,
        run_dir: str | os.PathLike[str],
        name: str | None = None,
        warmup: int | None = None,
        sync: bool = False,
        collect_memory: bool | str = False,
        flush_every: int = FLUSH_STEPS,
        only_rank_zero: bool = True,
        distributed: bool = False,
        clock: Callable[[], int] | None = None,
        config: object = None,
        *,
        collectors: Sequence[str | Collector] = (),
        flops_per_step: float | None = None,
        peak_flops: float | None = None,
        inline: bool = False,
    ) -> None:
        super().__init__()
        self._asked = False
        self._run_dir = run_dir
        self._sync = sync
        self._memory = collect_memory
        self._flush_every = flush_every
        self._ranks = "all" if distributed or not only_rank_zero else "zero"
        self._user_clock = GivenClock(clock) if clock is not None else perf_counter_ns
        self._config = config
        self._collector_names = tuple(collectors)
        self._inline = inline
        self._fields = {
            "name": name,
            "warmup": warmup,
            "recorded": self._ranks,
            "flops_per_step": flops_per_step,
            "peak_flops": peak_flops,
        }

    @property
    def recording(self) -> bool:
        """Whether stamps are being recorded at the moment."""
        return isinstance(self, LiveMethods)

    def start(self, step: int = 0) -> Self:
        """Start an attempt.

        Args:
            step: Global number of the first step. An attempt that starts at or
                below the previous one's first step is a fresh run; a higher
                number resumes the recorded run.
        """
        self._asked = True
        if self.recording:
            warn_once("start() on a recording that is already running; it goes on")
        else:
            self._finish("finish")  # of a recording whose end was interrupted
            with harmless("starting the recording"):
                self._start(step)
        return self

    def finish(self) -> None:
        """End the attempt: write what is left, stop the writer, restore everything."""
        if not self._asked:
            warn_once("finish() without start(): nothing was recorded")
        self._finish("finish")

    def __enter__(self) -> Self:
        return self if self.recording else self.start()

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, here or in another process, is an idle recorder of the same settings."""
        idle = type(self).__bases__[1] if self.recording else type(self)
        settings = {name: getattr(self, name) for name in _SETTINGS}
        return _copied, (idle, settings), getattr(self, "__dict__", None)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            self._ended_by(error)
        self._finish("finish" if kind is None else "exception")

    # --- start ----------------------------------------------------------------

    def _start(self, step: int) -> None:
        began = self._user_clock()
        rank = detect_rank(os.environ, group_adapter())
        self._disabled = rank.rank != 0 and self._ranks == "zero"
        if self._disabled:
            return
        self._opened = open_run_file(Path(self._run_dir), rank.rank)
        try:
            self._go(rank, step, began)
        except BaseException:
            self._roll_back()
            raise

    def _go(self, rank: RankInfo, step: object, began: int) -> None:
        unusable: list[str] = []
        first = count("step", step, unusable.append, most=MAX_STEP) or 0
        flush_steps = count("flush_every", self._flush_every, unusable.append)
        self._clock = self._user_clock
        self._thread = _thread_id()
        self._events, self._others = [], {}
        self._said, self._elsewhere = set(), False
        self._writer = Writer(
            self._opened.file,
            Drain(began, first),
            self._events,
            clock=self._clock,
            flush_steps=flush_steps or FLUSH_STEPS,
        )
        for message in unusable:
            self._say(message)
        self._write_header(rank, first, began)
        synchronize = self._adapted()
        live = _live_class(type(self), synchronized=synchronize is not None)
        self._synchronize = synchronize or _nothing
        self._samplers = tuple(self._start_collectors(rank))
        self._stamp_ns = _calibrate(live, self)
        self._provenance = threading.Thread(
            target=self._note_provenance, name="pytscope-provenance", daemon=True
        )
        self.__class__ = live
        lifecycle.enter(self)
        if not self._inline:
            self._writer.start()
        self._provenance.start()

    def _roll_back(self) -> None:
        """Undo a start that did not come to its end: idle, no thread, no lock on the file."""
        lifecycle.leave(self)
        self._stop_stamps()
        writer = getattr(self, "_writer", None)
        if writer is None or writer.stop():
            self._opened.file.close()

    def _write_header(self, rank: RankInfo, step: int, began: int) -> None:
        environment = provenance.quick(os.environ, sys.argv)
        environment["seeds"] = provenance.seeds()
        given = self._fields
        fields = {
            "name": str(given["name"] or Path(self._run_dir).resolve().name),
            "warmup": count("warmup", given["warmup"], self._say),
            "recorded": self._ranks,
            "flops_per_step": amount("flops_per_step", given["flops_per_step"], self._say),
            "peak_flops": amount("peak_flops", given["peak_flops"], self._say),
            "environment": environment,
        }
        attempt = self._opened.attempt
        self._opened.file.write(run_record(rank, attempt, step, began, self._config, fields))
        if self._opened.second:
            self._writer.note("warning", {"message": "another live process records this rank"})

    def _note_provenance(self) -> None:
        with harmless("reading provenance"):
            self._writer.note("provenance", provenance.slow(Path.cwd()))

    def _adapted(self) -> Callable[[], None] | None:
        if not self._sync:
            return None
        adapter = torch_adapter()
        if adapter is None:
            self._say("sync=True needs pytscope-torch; host times are recorded instead")
            return None
        return cast("Callable[[], None]", adapter.synchronize)

    def _start_collectors(self, rank: RankInfo) -> list[Sampler]:
        wanted: list[str | Collector] = list(self._collector_names)
        if self._memory:
            wanted.append("device_memory")
        info = {"run_dir": os.fspath(self._run_dir), "rank": rank.rank, "memory": self._memory}
        started = []
        for item in wanted:
            name = item if isinstance(item, str) else getattr(item, "name", repr(item))
            try:
                collector = _collectors.find(item) if isinstance(item, str) else item
                columns = dict(collector.start(info))
            except Exception as error:  # noqa: BLE001  # a collector is a stranger's code
                self._say(f"collector {name!r} did not start: {error}")
                continue
            started.append(Sampler(collector, columns, self._clock, self._writer.note))
        return started

    # --- end ------------------------------------------------------------------

    def _stop_stamps(self) -> None:
        if self.recording:
            self.__class__ = type(self).__bases__[1]
        for sampler in self._samplers:
            sampler.stop()
        self._samplers = ()

    def _finish(self, reason: str) -> None:
        if lifecycle.leave(self):
            with harmless("finishing the recording"), self._ending():
                self._stop_stamps()
                now = self._clock()
                self._provenance.join(PROVENANCE_S)
                self._close(lambda: self._writer.finish(now, self._stamp_ns, reason))

    def abandon(self) -> None:
        """The process exits without `finish()`: write what is left, say where it was."""
        if lifecycle.leave(self):
            with harmless("saving the recording at exit"), self._ending():
                error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
                self._writer.note("exit", described(error) if error is not None else {})
                self._stop_stamps()
                now = self._clock()
                self._provenance.join(PROVENANCE_S)
                self._close(lambda: self._writer.abandon(now))

    @contextmanager
    def _ending(self) -> Iterator[None]:
        """Keep an end that an interrupt cut short for the next `finish()`, `start()` or exit."""
        try:
            yield
        except Exception:
            raise
        except BaseException:
            lifecycle.enter(self)
            raise

    def _close(self, write: Callable[[], None]) -> None:
        if fault := getattr(self._user_clock, "fault", ""):
            self._say(fault)
        if not self._writer.stop():
            return  # its thread hangs on the file
        try:
            write()
        except Exception:
            self._opened.file.close()
            raise
        self._opened.file.close()

    def forget(self) -> None:
        """This process is a forked child: stop recording, leave the file to the parent."""
        if self.recording:
            self.__class__ = type(self).__bases__[1]
        self._disabled = True
        self._events = []
        self._opened.file.close()


_SETTINGS = tuple({*Profiler.__slots__} - {"_opened", "_provenance", "_stamp_ns"})


def _copied(idle: type[Profiler], settings: dict[str, Any]) -> Profiler:
    made = object.__new__(idle)
    Recorder.__init__(made)
    for name, value in settings.items():
        setattr(made, name, value)
    return made


_LIVE_CLASSES: dict[tuple[type[Profiler], bool], type[Profiler]] = {}


def _live_class(idle: type[Profiler], *, synchronized: bool) -> type[Profiler]:
    """The class a recorder of class `idle` has while it records; `idle` is its second base."""
    made = _LIVE_CLASSES.get((idle, synchronized))
    if made is None:
        methods = SynchronizedMethods if synchronized else LiveMethods
        made = type(f"Live{idle.__name__}", (methods, idle), {"__slots__": ()})
        _LIVE_CLASSES[idle, synchronized] = made
    return made


def _nothing() -> None:
    """Nothing to wait for."""


def _thread_id() -> int:
    from _thread import get_ident

    return get_ident()


def _calibrate(live: type[Profiler], profiler: Profiler) -> float:
    """Nanoseconds of one stamp, measured on a recorder of the same class that writes nothing."""
    scratch = object.__new__(live)
    scratch._thread, scratch._events = profiler._thread, []  # noqa: SLF001  # one class
    scratch._clock, scratch._synchronize = perf_counter_ns, _nothing  # one class
    began = perf_counter_ns()
    for _ in range(CALIBRATION_STAMPS):
        scratch.mark("calibration")
    return (perf_counter_ns() - began) / CALIBRATION_STAMPS

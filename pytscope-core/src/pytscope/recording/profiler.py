"""`Profiler`: records a training loop by hand-placed marks."""

from __future__ import annotations

import os
import sys
from _thread import get_ident
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter_ns
from types import TracebackType
from typing import Any, ClassVar, Self, cast

from pytscope.recording import collectors as _collectors
from pytscope.recording import lifecycle, provenance
from pytscope.recording.arguments import MAX_STEP, amount, count, memory_mode
from pytscope.recording.clock import GivenClock
from pytscope.recording.collectors import Collector, Sampler
from pytscope.recording.drain import Drain
from pytscope.recording.files import Opened, open_run_file
from pytscope.recording.harmless import harmless, warn_once
from pytscope.recording.header import group_adapter, run_record, torch_adapter
from pytscope.recording.live import NOBODY, LiveMethods, owned
from pytscope.recording.plain import described
from pytscope.recording.rank import RankInfo, detect_rank
from pytscope.recording.recorder import Recorder
from pytscope.recording.spending import Spent
from pytscope.recording.switching import live_class, no_wait, stamp_ns
from pytscope.recording.writer import Writer

FLUSH_STEPS = 500


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
        collect_memory: Sample memory after each step, of the device and of the
            host; `"reset"` also resets the device's peak statistics, which
            other tools may read. Needs pytscope-torch.
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
        "_spent",
        "_stamp_ns",
        "_sync",
        "_user_clock",
    )

    _idle: ClassVar[type[Profiler]]
    _opened: Opened
    _provenance: provenance.Background
    _spent: Spent
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
        collectors: Iterable[str | Collector] = (),
        flops_per_step: float | None = None,
        peak_flops: float | None = None,
        inline: bool = False,
    ) -> None:
        """Nothing is recorded before `start()`; the class says what the arguments mean."""
        super().__init__()
        self._asked = False
        self._run_dir = run_dir
        self._sync = sync
        self._memory = collect_memory
        self._flush_every = flush_every
        self._ranks = "all" if distributed or not only_rank_zero else "zero"
        self._user_clock = GivenClock(clock) if clock is not None else perf_counter_ns
        self._config = config
        self._collector_names = _collectors.several(collectors)
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

    @property
    def folder(self) -> Path:
        """The run's folder; one that was given as a relative one is known from `start()` on."""
        opened = getattr(self, "_opened", None)
        return Path(os.fsdecode(self._run_dir)) if opened is None else opened.file.path.parent

    def start(self, step: int = 0) -> Self:
        """Start an attempt; one that is being recorded ends there.

        A relative folder counts from where the process works at this moment.

        Args:
            step: Global number of the first step. An attempt that starts at or
                below the previous one's first step is a fresh run; a higher
                number resumes the recorded run.
        """
        self._asked = True
        said: list[str] = []
        if self.recording:
            if not self._writer.used:
                return self  # started twice, before anything was recorded
            self.abandon(lifecycle.DISPLACED)
            said.append(lifecycle.FOLLOWS)
        else:
            self._finish("finish")  # of a recording whose end was interrupted
        with harmless("starting the recording", always=True):
            self._start(step, said)
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
        idle = self._idle if self.recording else type(self)
        settings = {name: getattr(self, name) for name in _SETTINGS}
        return _copied, (idle, settings), getattr(self, "__dict__", None)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            with harmless("noting an exception"):
                self._ended_by(error)
        self._finish("finish" if kind is None else "exception")

    # --- start ----------------------------------------------------------------

    def _start(self, step: int, said: list[str]) -> None:
        began, since = self._user_clock(), perf_counter_ns()
        self._spent = Spent()
        rank = detect_rank(os.environ, group_adapter())
        self._disabled = rank.rank != 0 and self._ranks == "zero"
        if self._disabled:
            return
        folder = Path(os.fsdecode(self._run_dir)).absolute()
        if lifecycle.displace(self, folder, rank.rank):
            said.append(lifecycle.FOLLOWS)
        self._opened = open_run_file(folder, rank.rank)
        try:
            self._go(rank, step, began, said)
        except BaseException:
            self._roll_back()
            raise
        self._spent.once_ns += perf_counter_ns() - since

    def _go(self, rank: RankInfo, step: object, began: int, said: list[str]) -> None:
        first = count("step", step, said.append, most=MAX_STEP) or 0
        flush_steps = count("flush_every", self._flush_every, said.append)
        self._clock = self._user_clock
        self._thread, self._mine = get_ident(), owned()
        self._own = NOBODY if self._inline else self._mine
        self._events, self._others = [], {}
        self._said, self._elsewhere = set(), False
        self._writer = Writer(
            self._opened.file,
            self._new_drain(began, first),
            self._events,
            clock=self._clock,
            flush_steps=flush_steps or FLUSH_STEPS,
            watch=self._watch,
            stepless="evaluates" in self._fields,
        )
        for message in said:
            self._say(message)
        self._write_header(rank, first, began)
        synchronize = self._adapted()
        if synchronize is not None:
            self._writer.note("instrumentation", {"sync": True})
        waits = synchronize is not None
        live = live_class(type(self), Profiler, synchronized=waits)
        self._synchronize = synchronize or no_wait
        self._samplers = tuple(self._start_collectors(rank))
        base = live_class(Profiler, Profiler, synchronized=waits)
        self._stamp_ns = stamp_ns(base, self._mine)
        self._provenance = provenance.Background(self._writer.note)
        self.__class__ = live
        lifecycle.enter(self)
        if not self._inline:
            self._writer.start()
        if "evaluates" not in self._fields:  # of a process that trained, or is over in a moment
            self._provenance.start()

    def _watch(self, watching: bool) -> None:
        """Have every stamp look at the length of the event list, not only step ends."""
        self._own = NOBODY if watching else self._mine

    def _new_drain(self, began: int, first: int) -> Drain:
        """What turns this recorder's stamps into records."""
        return Drain(began, first)

    def _roll_back(self) -> None:
        """Undo a start that did not come to its end: idle, no thread, no lock on the file."""
        lifecycle.leave(self)
        self._stop_stamps()
        writer = getattr(self, "_writer", None)
        if writer is None or writer.stop():
            self._opened.file.close()

    def _write_header(self, rank: RankInfo, step: int, began: int) -> None:
        environment = provenance.quick(os.environ, getattr(sys, "argv", []))
        environment["seeds"] = provenance.seeds()
        given = self._fields
        fields = {
            "name": str(given["name"] or self._opened.file.path.parent.resolve().name),
            "warmup": count("warmup", given["warmup"], self._say),
            "recorded": self._ranks,
            "flops_per_step": amount("flops_per_step", given["flops_per_step"], self._say),
            "peak_flops": amount("peak_flops", given["peak_flops"], self._say),
            "environment": environment,
            **({"evaluates": given["evaluates"]} if "evaluates" in given else {}),
        }
        attempt = self._opened.attempt
        self._writer.begin(run_record(rank, attempt, step, began, self._config, fields))
        if self._opened.second:
            self._writer.note("warning", {"message": "another live process records this rank"})

    def _adapted(self) -> Callable[[], None] | None:
        if not self._sync:
            return None
        adapter = torch_adapter()
        if adapter is None:
            self._say("sync=True needs pytscope-torch; host times are recorded instead")
            return None
        return cast("Callable[[], None]", adapter.synchronize)

    def _start_collectors(self, rank: RankInfo) -> list[Sampler]:
        wanted = list(self._collector_names)
        memory = memory_mode(self._memory, self._say)
        if memory:
            adapter = torch_adapter()
            wanted += ["device_memory"] if adapter is None else adapter.memory_collectors()
        info = {
            "run_dir": os.fspath(self._run_dir),
            "rank": rank.rank,
            "memory": memory,
            "note": self._writer.note,
        }
        found = [_collectors.started(item, info, self._say) for item in wanted]
        return [
            Sampler(collector, columns, self._clock, self._writer.note)
            for collector, columns in filter(None, found)
        ]

    # --- end ------------------------------------------------------------------

    def _stop_stamps(self) -> None:
        if self.recording:
            self.__class__ = self._idle
        for sampler in self._samplers:
            sampler.stop()
            self._spent.samples_ns += sampler.spent_ns
        self._samplers = ()

    def _finish(self, reason: str) -> None:
        if lifecycle.leave(self):
            with harmless("finishing the recording"), self._ending():
                since = perf_counter_ns()
                self._stop_stamps()
                now = self._clock()
                self._spent.once_ns += perf_counter_ns() - since
                self._provenance.wait()
                spent = self._spent
                self._close(lambda: self._writer.finish(now, self._stamp_ns, spent, reason))

    def abandon(self, why: str = "") -> None:
        """The recording ends without `finish()`: write what is left, say where it was.

        Args:
            why: What ends it, when it is not the end of the process.
        """
        if lifecycle.leave(self):
            with harmless("saving the recording at exit"), self._ending():
                error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
                values = described(error) if error is not None and not why else {}
                self._writer.note("exit", {**values, "why": why} if why else values)
                self._stop_stamps()
                now = self._clock()
                self._provenance.wait()
                self._close(lambda: self._writer.abandon(now))

    def records(self, folder: Path, rank: int) -> bool:
        """Whether it holds a rank's file in a folder."""
        file = self._opened.file
        return file.rank == rank and file.path.parent.resolve() == folder.resolve()

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
        file = self._opened.file

        def end() -> None:
            try:
                write()
            except Exception:
                file.close()
                raise
            file.close()  # an interrupt leaves it open, for the end that makes up for this one

        if self._writer.stop(end):  # else its thread hangs on the file
            end()

    def forget(self) -> None:
        """This process is a forked child: stop recording, leave the file to the parent."""
        if self.recording:
            self.__class__ = self._idle
        self._disabled = True
        self._events = []
        self._opened.file.close()


_SETTINGS = tuple({*Profiler.__slots__} - {"_opened", "_provenance", "_spent", "_stamp_ns"})


def _copied(idle: type[Profiler], settings: dict[str, Any]) -> Profiler:
    made = object.__new__(idle)
    Recorder.__init__(made)
    for name, value in settings.items():
        setattr(made, name, value)
    return made

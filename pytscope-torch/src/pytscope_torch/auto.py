"""`AutoProfiler`: records an untouched PyTorch loop."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter_ns
from types import FunctionType
from typing import Any

from torch import nn

from pytscope.recording.collectors import Collector, all_of
from pytscope.recording.harmless import harmless
from pytscope.recording.live import ELSEWHERE
from pytscope.recording.profiler import FLUSH_STEPS, Profiler
from pytscope.recording.rank import RankInfo
from pytscope.recording.recorder import PhaseBlock
from pytscope_torch import seams
from pytscope_torch.accelerators import accelerator
from pytscope_torch.counting import Counting
from pytscope_torch.device_waits import DeviceWaits, cuda_event
from pytscope_torch.fingerprint import Fingerprints
from pytscope_torch.folders import cut_back
from pytscope_torch.given import sorted_out, wrapped
from pytscope_torch.pauses import PausedDrain
from pytscope_torch.provenance import Provenance
from pytscope_torch.seams.backward import backward_passes
from pytscope_torch.seams.blocks import checkpoints, transfers
from pytscope_torch.seams.frames import keep_out
from pytscope_torch.seams.interruptions import COMPILER, Compilations, collections
from pytscope_torch.seams.late import Late
from pytscope_torch.seams.loaders import fetches
from pytscope_torch.seams.modules import Modules
from pytscope_torch.seams.optimizers import Owner, Steps, optimizer_steps
from pytscope_torch.seams.waits import waits
from pytscope_torch.sentences import NO_FETCH, NO_FORWARD, NO_MODEL, NO_STEP
from pytscope_torch.sizes import model_bytes
from pytscope_torch.spending import once, sampled
from pytscope_torch.stamps import Stamps
from pytscope_torch.topology import topology as topology_of
from pytscope_torch.watching import watched

keep_out(*(part for part in vars(Stamps).values() if isinstance(part, FunctionType)))
keep_out(Steps.before, Steps.after, Steps.abandoned)
keep_out(Provenance.called, Provenance.loader, Fingerprints.fetched)

FOUND_AT = 2
"""Step after which the model is found, or never; its gradients are still held."""


class AutoProfiler(Profiler):
    """Records a PyTorch training loop that knows nothing of it.

        prof = AutoProfiler("runs/exp", model, optimizer).start()
        for x, y in loader:
            loss = loss_fn(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        prof.finish()

    A step ends with the last event of the optimizer that owns the steps: the
    one passed (of several the first), else the first that steps. Phases are
    found by the edges of fetches, forward and backward passes and optimizer
    steps; `log()`, `phase()` and `iter_data()` add to them.

    Args:
        run_dir: Folder of the run.
        model: The module the loop calls, or several; None finds it after the
            first step, by the parameters that the optimizer holds.
        optimizer: The optimizer that owns the steps, or several.
        name: Name of the run; the folder's name by default.
        warmup: Steps at the start to leave out of timing; None lets the
            analysis decide.
        sync: Wait for the accelerator at every stamp.
        collect_memory: Sample memory after each step, of the device and of the
            host; `"reset"` also resets the device's peak statistics.
        capture_comm: Give collectives that the loop waits for a phase, `comm`.
        distributed: Record every rank; by default rank 0 alone.
        flush_every: Steps after which the writer is woken.
        config: Anything worth keeping with the run.
        measure_flops: Count the FLOPs of one training step as it runs.
        flops_per_step: FLOPs of one optimizer step on one rank, when known.
        peak_flops: Peak FLOP/s of one rank's device; None looks the device up
            when FLOPs are counted, for the types of their operands.
        fingerprint_batches: Give each step 64-bit fingerprints of its batches: of
            all, of their integers, of the numbers of their samples.
        topology: This rank's coordinates `dp tp pp cp ep`, and a `role`, where
            they are known better than a device mesh tells.
        fwd_bwd_factor: Accepted and unused: a whole step is counted, its
            backward pass too, so nothing is multiplied.
        clock: A monotonic clock in integer nanoseconds.
        collectors: Collectors, or the names that packages advertise.
        inline: Write from the training thread instead of a writer thread.
    """

    __slots__ = (
        "_before_bytes",
        "_by_hand",
        "_capture_comm",
        "_compilations",
        "_counting",
        "_doubts",
        "_events_of_optimizers",
        "_fingerprints",
        "_late",
        "_measure_flops",
        "_models",
        "_modules",
        "_optimizer",
        "_owner",
        "_paused",
        "_settings",
        "_stamps",
        "_topology",
        "_undo",
    )

    _before_bytes: int
    _compilations: Compilations
    _late: Late
    _counting: Counting | None
    _settings: Provenance
    _modules: Modules
    _owner: Owner
    _paused: Callable[[tuple[Any, ...]], None]
    _stamps: Stamps
    _events_of_optimizers: Steps
    _undo: seams.Undo | None

    def __init__(
        self,
        run_dir: str | os.PathLike[str],
        model: nn.Module | Iterable[nn.Module] | None = None,
        optimizer: Any = None,
        *,
        name: str | None = None,
        warmup: int | None = None,
        sync: bool = False,
        collect_memory: bool | str = False,
        capture_comm: bool = True,
        distributed: bool = False,
        flush_every: int = FLUSH_STEPS,
        config: object = None,
        measure_flops: bool = False,
        flops_per_step: float | None = None,
        peak_flops: float | None = None,
        topology: Mapping[str, int | str] | None = None,
        fwd_bwd_factor: float = 3.0,  # noqa: ARG002  # an argument of 0.2
        fingerprint_batches: bool = False,
        clock: Callable[[], int] | None = None,
        collectors: Sequence[str | Collector] = (),
        inline: bool = False,
    ) -> None:
        """Nothing is recorded before `start()`; the class says what the arguments mean."""
        super().__init__(
            run_dir,
            name,
            warmup,
            sync,
            collect_memory,
            flush_every,
            distributed=distributed,
            clock=clock,
            config=config,
            collectors=collectors,
            flops_per_step=flops_per_step,
            peak_flops=peak_flops,
            inline=inline,
        )
        self._doubts: list[str] = []
        self._models, self._optimizer = sorted_out(model, optimizer, self._doubts.append)
        self._capture_comm = capture_comm
        self._topology = dict(topology or {})
        self._measure_flops = measure_flops
        self._fingerprints = Fingerprints() if fingerprint_batches else None
        self._counting = None
        self._undo = None

    # --- start and end --------------------------------------------------------

    def _go(self, rank: RankInfo, step: object, began: int, said: list[str]) -> None:
        self._before_bytes = self._opened.file.path.stat().st_size
        super()._go(rank, step, began, [*said, *self._doubts])
        self._stamps = Stamps(
            self._events,
            self._clock,
            self._mine._is_owned,  # noqa: SLF001  # public only to threading.Condition
            foreign=self._beside,
            ended=self._ended,
            synchronize=self._synchronize if self._sync else None,
        )
        self._by_hand = False
        if self._capture_comm and rank.world not in (None, 1) and accelerator() == "cuda":
            self._stamps.device = DeviceWaits(cuda_event)
        every = self._fingerprints is not None or self._stamps.device is not None
        self._stamps.sample = self._sample if every else all_of(self._samplers)
        undo: list[seams.Undo] = []
        self._undo = seams.together(undo)
        self._install(undo)
        self._look_at_settings(step)

    def _look_at_settings(self, first: object) -> None:
        """Get ready to note what PyTorch is set to, and to count a step's FLOPs."""
        owner, modules = self._events_of_optimizers, self._modules
        self._settings.of(lambda: modules.modules, lambda: owner.owner)
        modules.called = once(self._spent, self._settings.called)
        if self._fingerprints is not None:
            self._fingerprints.stamps = self._stamps
            self._fingerprints.resumed = bool(first)
        self._counting = None
        if self._measure_flops:
            self._counting = Counting(
                self._events,
                self._clock,
                note=self._writer.note,
                say=self._say,
                device=self._settings.device,
                compiled=self._settings.compiled,
                spent=self._spent,
                first=first if isinstance(first, int) else 0,
            )

    def _new_drain(self, began: int, first: int) -> PausedDrain:
        drain = PausedDrain(began, first)
        self._paused = drain.found.append
        return drain

    def _install(self, undo: list[seams.Undo]) -> None:
        stamps = self._stamps
        self._owner = Owner(wrapped(self._optimizer), self._say, lambda: stamps.steps)
        steps = self._events_of_optimizers = Steps(stamps, self._owner)
        self._modules = Modules(stamps, self._models, steps.abandoned)
        self._compilations = Compilations(stamps, self._blind_to_compiling)
        self._late = Late(undo)
        undo += [self._modules.undo, self._compilations.undo]
        undo.append(backward_passes(stamps, steps.after_backward))
        self._settings = Provenance(self._writer.note)
        hashing = self._fingerprints
        fetched = sampled(self._spent, hashing.fetched) if hashing else None
        made = once(self._spent, self._settings.loader)
        undo += [self._fingerprints.seam()] if self._fingerprints else []
        undo.append(fetches(stamps, steps.abandoned, made, fetched))
        undo.append(optimizer_steps(stamps, steps))
        undo.append(checkpoints(stamps, self._late))
        undo.append(collections(self._clock, stamps.here, self._paused))
        if self._capture_comm:
            undo.append(waits(stamps, self._late))
        if accelerator():
            undo.append(transfers(stamps))
        self._modules.attach()
        self._compilations.look()
        self._late.look()
        told = watched(comm=self._capture_comm, sync=self._sync)
        self._writer.note("instrumentation", told)

    def _blind_to_compiling(self) -> None:
        self._writer.note("instrumentation", {"without": ["compile"]})

    def _uninstall(self) -> None:
        undo, self._undo = self._undo, None
        if undo is not None:
            self._stamps.stop()
            undo()
        if self._counting is not None:
            self._counting.leave()

    def _stop_stamps(self) -> None:
        if self._undo is not None:
            with harmless("saying what was not seen"):
                self._say_unseen()
            with harmless("noting what PyTorch was set to"):
                self._settings.stop()
            with harmless("counting FLOPs"):
                if self._counting is not None:
                    self._counting.stop()
        self._uninstall()
        super()._stop_stamps()

    def _say_unseen(self) -> None:
        if not self._stamps.steps and not self._by_hand:
            if self._events_of_optimizers.elsewhere:
                self._say(ELSEWHERE)
            elif self._writer.used:
                self._say(NO_STEP)
            return
        if not self._stamps.fetched:
            self._say(NO_FETCH)
        if not self._modules.seen:
            self._say(NO_FORWARD if self._models else NO_MODEL)

    @property
    def stepped(self) -> bool:
        """Whether a step has ended since `start()`."""
        return bool(self._stamps.steps)

    @property
    def attempt(self) -> int:
        """Attempts that the rank's file held at `start()`."""
        return self._opened.attempt

    def step_aside(self, why: str) -> None:
        """Nothing is to be recorded: stop, put everything back, leave no attempt without a step.

        Args:
            why: Why, for the record.
        """
        empty = not self._stamps.steps
        self._uninstall()
        self.abandon(why)
        if empty:
            cut_back(self._opened.file.path, self._before_bytes)

    def forget(self) -> None:
        """This process is a forked child: stop recording, leave PyTorch as it was."""
        self._uninstall()
        super().forget()

    def __reduce__(self) -> tuple[Any, ...]:
        """As the base class."""
        make, (idle, settings), more = super().__reduce__()
        names = ("_models", "_optimizer", "_doubts", "_capture_comm", "_measure_flops", "_topology")
        own = {name: getattr(self, name) for name in names}
        own["_fingerprints"] = Fingerprints() if self._fingerprints is not None else None
        return make, (idle, {**settings, **own, "_undo": None}), more

    # --- while recording ------------------------------------------------------

    def end_step(self, update: bool = True) -> None:
        """As the base class, for loops without an optimizer: where one steps, it ends the steps."""
        if self.recording and not self._stamps.steps:
            self._by_hand = True
            super().end_step(update)

    def _open_block(self, block: PhaseBlock) -> None:
        if block is self._fetch:
            self._stamps.fetched = True
        super()._open_block(block)

    def _ended(self, length: int) -> None:
        if length > self._writer.room:
            self._writer.full()
        self._modules.keep()
        if self._compilations.wanted and COMPILER in sys.modules:
            self._compilations.look()
        if self._late.wanted:
            self._late.look()
        if self._stamps.watched or self._owner.changed:
            since = perf_counter_ns()
            self._look_around()
            self._spent.once_ns += perf_counter_ns() - since

    def _look_around(self) -> None:
        """What the first steps are needed for, and those of another optimizer than before."""
        steps = self._stamps.steps
        if self._owner.changed:
            self._owner.changed = False
            with harmless("looking for the model"):
                self._modules.look_again(self._owner.found)
        if steps <= FOUND_AT:
            with harmless("looking for the model"):
                self._modules.look(self._events_of_optimizers.owner)
        if self._settings.wanted:
            with harmless("noting what PyTorch was set to"):
                self._settings.step_ended(steps)
        if steps == FOUND_AT:
            with harmless("measuring the model"):
                owner = self._events_of_optimizers.owner
                self._writer.note("model", model_bytes(self._modules.modules, owner))
            with harmless("finding this rank's place"):
                if place := topology_of(self._modules.modules, self._topology):
                    self._writer.note("topology", place)
        counting = self._counting is not None and not self._counting.over
        if self._counting is not None and counting:
            with harmless("counting FLOPs"):
                self._counting.step_ended(steps)
        self._stamps.watched = counting or self._settings.wanted or steps < FOUND_AT

    def _sample(self, values: list[Any], stamps: list[Any]) -> int:
        """Sample what belongs to the step that ends now."""
        for sampler in self._samplers:
            sampler(values, stamps)
        if self._stamps.device is not None:
            self._stamps.device(values)
        if self._fingerprints is not None:
            since = perf_counter_ns()
            self._fingerprints(values)
            self._spent.samples_ns += perf_counter_ns() - since
        return 0

    def _beside(self, phase: str, since: int) -> None:
        """Note a block of another thread."""
        self._span(phase, since)

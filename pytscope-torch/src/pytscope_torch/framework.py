"""What a training framework tells an `AutoProfiler`: blocks that PyTorch's own edges do not show.

A framework knows when it evaluates, saves a checkpoint or writes to its loggers,
and which call is a training step's forward pass. Its callback says so through
`Told`; everything else is found by the seams, as ever.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping

from torch import nn

from pytscope.model.wording import closest
from pytscope.recording.keys import FETCH, Open
from pytscope_torch.auto import AutoProfiler
from pytscope_torch.fingerprint import Fingerprints
from pytscope_torch.sentences import NO_FETCH, NO_FORWARD, NO_MODEL, NO_STEP
from pytscope_torch.stamps import BACKWARD, CHECKPOINT, FORWARD, H2D, TRAINS

__all__ = [
    "BACKWARD",
    "CHECKPOINT",
    "EVAL",
    "FETCH",
    "FORWARD",
    "H2D",
    "LOGGING",
    "STEPPING",
    "Told",
    "check_options",
]

EVAL = Open("eval")
"""An evaluation: fetches, passes and copies in it are part of it."""
LOGGING = Open("log")
"""Values are shown, or written to where they are kept."""
STEPPING = Open("optimizer")
"""A framework's optimizer step: the optimizer's own, and what is around it."""
PASSES = (FORWARD, BACKWARD)
OPEN_TO_SEAMS = (FETCH, BACKWARD, STEPPING)
"""Blocks in which the seams go on looking: for fingerprints, waits for other ranks, steps."""


def check_options(who: str, options: Iterable[str], given: Mapping[str, str] | None = None) -> None:
    """Refuse options that a callback cannot pass on to its `AutoProfiler`.

    Args:
        who: Name of the callback's class, as the user wrote it.
        options: Names of the options.
        given: Arguments that the framework gives, by what says so.

    Raises:
        TypeError: In one sentence, for the first that cannot be passed on.
    """
    taken = dict(given or {})
    names = list(inspect.signature(AutoProfiler).parameters)[1:]  # the first is the folder
    known = [name for name in names if name not in taken]
    for option in options:
        if option in taken:
            msg = f"{who} takes no {option!r}: {taken[option]}"
            raise TypeError(msg)
        if option not in known:
            near = [name for name in known if option in name] or closest(option, known)
            hint = f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(known)}"
            msg = f"{who} has no option {option!r}{hint}"
            raise TypeError(msg)


class Told:
    """Blocks in the timeline of an `AutoProfiler` that a framework tells of.

    Each `enter()` is followed by one `leave()`, in the same thread. Outside of
    the recording, and in other threads than its own, both do nothing.

    Args:
        profiler: Of a recording that has started: `profiler.recording`.
        phases: Phases that are told of whenever they occur, for the record.
    """

    __slots__ = ("_profiler", "_stamps", "_surroundings")

    def __init__(self, profiler: AutoProfiler, phases: Iterable[str] = ()) -> None:
        self._profiler = profiler
        self._stamps = profiler._stamps  # noqa: SLF001  # this is its other half
        self._stamps.told = True
        self._surroundings: list[bool] = []
        profiler._writer.note("instrumentation", {"seams": list(phases)})  # noqa: SLF001  # as above

    @property
    def steps(self) -> int:
        """Steps that have ended since the recording started."""
        return self._stamps.steps

    @property
    def rated(self) -> bool:
        """Whether steps have the learning rate that they were made with."""
        return self._stamps._rated is not None  # noqa: SLF001  # as above

    @property
    def fingerprints(self) -> Fingerprints | None:
        """What takes fingerprints of batches, where that is wanted."""
        return self._profiler._fingerprints  # noqa: SLF001  # as above

    @property
    def here(self) -> bool:
        """Whether a block would be recorded: in the recording's own thread, while it goes on."""
        return self._stamps.here()

    @property
    def inside(self) -> bool:
        """Whether the thread is in a pass, or in a block that is one phase as a whole."""
        return self._stamps.inside

    def enter(self, key: Open) -> None:
        """Open a block.

        Args:
            key: A name of this module, or an `Open` of any other phase. All that is
                in the block is of this phase, except blocks told inside of it, and
                in those of `OPEN_TO_SEAMS` what the seams find. A `FORWARD` is that
                of a training step, whether a backward pass follows or not.
        """
        stamps = self._stamps
        if not stamps.here():
            return
        self._surroundings.append(stamps.inside)
        stamps.inside = key not in OPEN_TO_SEAMS
        if key is FORWARD:
            self._forward()
        elif key is FETCH:
            stamps.fetch()
        else:
            stamps.open(key)

    def leave(self, key: Open, error: BaseException | None = None) -> None:
        """Close the innermost block.

        Args:
            key: What it was opened with.
            error: The exception that leaves it; `StopIteration` is no failure.
        """
        stamps = self._stamps
        if not stamps.here() or not self._surroundings:
            return
        stamps.inside = self._surroundings.pop()
        if key is FETCH and error is not None:
            stamps.exhausted()
        elif key in PASSES and error is not None and not isinstance(error, StopIteration):
            stamps.broke()
        else:
            stamps.close()

    def failed(self, error: BaseException) -> None:
        """A try of the step has failed, and another follows.

        Args:
            error: What ended the try.
        """
        if self._stamps.here():
            self._profiler._failed(error)  # noqa: SLF001  # as above

    def cut_short(self) -> None:
        """An exception ends the loop: that something was never seen says nothing of the loop."""
        self._profiler._said.update((NO_STEP, NO_FETCH, NO_FORWARD, NO_MODEL))  # noqa: SLF001  # as above

    def look_at(self, module: nn.Module) -> None:
        """From here on the loop calls this module, which may wrap the one that it called before.

        Args:
            module: The module.
        """
        if self._stamps.here():
            self._profiler._modules.see(module)  # noqa: SLF001  # as above

    def _forward(self) -> None:
        stamps, modules = self._stamps, self._profiler._modules  # noqa: SLF001  # as above
        if not modules.seen and modules.called is not None:
            modules.called()
        stamps.passed = modules.seen = True
        stamps.open(FORWARD)
        stamps.tell(TRAINS)

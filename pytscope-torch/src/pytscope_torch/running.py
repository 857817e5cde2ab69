"""`pytscope run`: a script recorded from outside, and its report.

Nothing of PyTorch is imported before the script does it: variables that it sets
first, and the device that it chooses, count as ever. The report is made by
another process, from what was recorded, so that nothing in an analysis can
change how the script ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pytscope.model.escaping import visible
from pytscope.recording import lifecycle
from pytscope.recording.harmless import harmless
from pytscope.recording.rank import RankInfo, detect_rank
from pytscope.runs.locks import is_held
from pytscope_torch.arriving import Arrival
from pytscope_torch.folders import Place, given_folder, new_folder, take_away
from pytscope_torch.scripts import Script

if TYPE_CHECKING:
    from pytscope.recording.profiler import Profiler
    from pytscope_torch.auto import AutoProfiler

OTHERS_S = 10.0
"""Longest wait for other ranks to have written their ends."""
REPORT_S = 600.0
"""Longest time that a report may take."""
STEPPED_ASIDE = "the script records itself"
NO_STEP = (
    "no torch optimizer stepped in the script's main thread, and processes that it starts "
    "are not recorded (start them with torchrun, or use AutoProfiler in them)"
)


def run_script(
    script: str,
    arguments: Sequence[str],
    *,
    folder: str | None = None,
    module: bool = False,
    flops: bool = False,
    memory: bool = False,
    report: Sequence[str] | None = (),
) -> Callable[[], None]:
    """Get ready to run a script and record it.

    Args:
        script: File of the script, or the name of a module.
        arguments: Its command line.
        folder: Folder of the run; None makes a new one under `runs`.
        module: Whether it is a module's name.
        flops: Whether to count the FLOPs of a step.
        memory: Whether to sample memory after each step.
        report: Options of the report at the end; None prints none.

    Returns:
        What runs it; what it raises is the script's own.

    Raises:
        UsageError: There is no such script, or no folder can be chosen.
    """
    if script == "-m" and arguments and not module and not Path(script).exists():  # after `--`
        (script, *arguments), module = arguments, True
    found = Script(script, arguments, module=module)
    rank = detect_rank(os.environ)
    place = given_folder(folder) if folder else new_folder(found.name, rank)
    observed = Observed(found, place, rank, flops=flops, memory=memory, report=report)
    observed.given = folder
    return observed


class Observed:
    """A script that is recorded while it runs.

    Args:
        script: The script.
        place: Finds the folder of the run.
        rank: Which rank this process is.
        flops: Whether to count the FLOPs of a step.
        memory: Whether to sample memory after each step.
        report: Options of the report at the end; None prints none.

    Attributes:
        given: The folder as the user named it, or None.
    """

    given: str | None = None

    def __init__(
        self,
        script: Script,
        place: Callable[[], Place],
        rank: RankInfo,
        *,
        flops: bool,
        memory: bool,
        report: Sequence[str] | None,
    ) -> None:
        self._script = script
        self._place = place
        self._rank = rank
        self._flops = flops
        self._memory = memory
        self._report = report
        self._process = os.getpid()
        self._environ = dict(os.environ)
        self._cwd = Path.cwd()
        self._new: tuple[Path, ...] = ()
        self._recorder: AutoProfiler | None = None
        self._own: Profiler | None = None
        self._arrival = Arrival("torch", self._attach)

    def __call__(self) -> None:
        """Run the script."""
        lifecycle.entered.append(self._met)
        self._arrival.wait()
        try:
            self._script()
        except BaseException as error:
            self._over(error)
            raise
        self._over(None)

    # --- while it runs --------------------------------------------------------

    def _attach(self) -> None:
        """PyTorch is there: record from here on."""
        if os.getpid() != self._process or self._own is not None:
            return
        if threading.current_thread() is not threading.main_thread():
            self._say(f"{self._script.name} imports torch in a thread; it is not recorded")
            return
        with harmless("attaching to the script", always=True):
            from pytscope_torch.auto import AutoProfiler

            folder, self._new = self._place()
            recorder = AutoProfiler(
                folder,
                distributed=True,
                measure_flops=self._flops,
                collect_memory=self._memory,
            )
            self._recorder = recorder
            recorder.start()
            if not recorder.recording:  # the log says why
                self._recorder = None
                take_away(self._new)
                return
            held = recorder.attempt
            more = f", which holds a run: this is its attempt {held}" if held else ""
            self._say(f"recording {self._script.name} into {self._shown(folder)}{more}")

    def _met(self, other: Profiler) -> None:
        """A recorder starts; unless it is ours, the script records itself."""
        if os.getpid() != self._process or other is self._recorder:
            return
        self._own = other
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            own = f"{STEPPED_ASIDE}, into {self._shown(other.folder)}"
            unused = f"; -o {self.given} is not used" if self.given is not None else ""
            self._say(f"{own}; pytscope run steps aside{unused}")
            with harmless("stepping aside"):
                recorder.step_aside(STEPPED_ASIDE)
                take_away(self._new)

    # --- at its end -----------------------------------------------------------

    def _over(self, error: BaseException | None) -> None:
        if os.getpid() != self._process:
            return  # a child that came out of the script here, too
        self._arrival.withdraw()
        lifecycle.entered.remove(self._met)
        with harmless("ending the recording of the script", always=True):
            folder = self._recorded(None if _ended_well(error) else error)
            if folder is None or self._report is None or self._rank.rank:
                return
            try:
                self._print_report(folder)
            except KeyboardInterrupt:
                self._say(f"no report; it is there by: pytscope analyze {self._shown(folder)}")

    def _recorded(self, error: BaseException | None) -> Path | None:
        """End the recording; the folder of the run, if there is one."""
        if self._own is not None:
            return self._own.folder
        if self._recorder is None:
            if "torch" not in sys.modules:
                self._say(f"{self._script.name} did not import torch: nothing was recorded")
            return None
        recorder, self._recorder = self._recorder, None
        if not recorder.stepped:
            ended = error is not None and f"{self._script.name} ended with {_named(error)} first"
            why = ended or NO_STEP
            self._say(f"no training step was seen: {why}; nothing is kept")
            recorder.step_aside("no training step was seen")
            take_away(self._new)
            return None
        trace = None if error is None else error.__traceback__
        recorder.__exit__(None if error is None else type(error), error, trace)
        return recorder.folder

    def _print_report(self, folder: Path) -> None:
        if (self._rank.world or 1) > 1:
            wait_for_ranks(folder)
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):
                stream.flush()
        command = [sys.executable, "-P", "-m", "pytscope", *(self._report or ()), "analyze"]
        try:
            subprocess.run(  # noqa: S603  # ourselves
                [*command, self._shown(folder)],
                stdin=subprocess.DEVNULL,
                stdout=2,  # standard output is the script's own
                stderr=2,
                cwd=self._cwd,
                env=self._environ,
                timeout=REPORT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            self._say(f"the report took longer than {REPORT_S:g} s; something in it hangs")

    def _shown(self, folder: Path) -> str:
        """A folder as the user would type it where the script was started."""
        return str(folder.relative_to(self._cwd) if folder.is_relative_to(self._cwd) else folder)

    def _say(self, text: str) -> None:
        """Tell the user, once for all ranks."""
        stream = sys.__stderr__
        if self._rank.rank == 0 and stream is not None:
            with suppress(OSError, ValueError):
                stream.write(visible(f"pytscope: {text}") + "\n")
                stream.flush()


def _ended_well(error: BaseException | None) -> bool:
    return error is None or (isinstance(error, SystemExit) and error.code in (None, 0))


def _named(error: BaseException) -> str:
    """What ended a script, in words."""
    if isinstance(error, SystemExit):
        return f"exit code {error.code}" if isinstance(error.code, int) else "an error message"
    return type(error).__name__


def wait_for_ranks(folder: Path, longest_s: float = OTHERS_S) -> None:
    """Wait, but not for long, until no process holds a file of a run any more."""
    until = time.monotonic() + longest_s
    while time.monotonic() < until:
        if not any(is_held(path) for path in folder.glob("rank*.pts")):
            return
        time.sleep(0.05)

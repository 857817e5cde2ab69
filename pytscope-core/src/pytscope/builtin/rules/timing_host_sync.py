"""TIMING.HOST_SYNC."""

from __future__ import annotations

from pytscope.analyses import Interruptions, Timing
from pytscope.model.errors import NotApplicable, NotMeasured
from pytscope.model.findings import Finding
from pytscope.plugins.declare import rule

NEEDED = (
    "stamps of the device's own clock beside the host's, which this version does not take; until "
    'then torch.cuda.set_sync_debug_mode("warn") names each line that waits for the device'
)


@rule("TIMING.HOST_SYNC", since="0.3.0")
def host_sync(_timing: Timing, interruptions: Interruptions) -> tuple[Finding, ...]:
    """The host waits for the device in the middle of the step, and the device then for the host.

    Detects:
        Nothing yet: it abstains, and says what it would need. Meant are `.item()`,
        `print(loss)`, `.cpu()`, `if tensor:` and their like between the passes of a
        step, where the host stops until the device has caught up.

    Why it matters:
        A device that never runs dry hides everything that the host does. After such a
        wait nothing is queued, and the device idles while the host starts the next
        kernels one by one.

    How it decides:
        It does not. On the host's clock alone a wait looks like work: the same
        milliseconds stand in `loss` when `.item()` is there, in the next copy when it is
        not, and they cost something only where the device has nothing to do afterwards.
        That takes stamps of both clocks at the same places: a wait is where the
        device's lag behind the host falls to nothing, and cost_s would be the time for
        which the device then idles, high from 0.20 of the rated wall, medium from 0.08,
        low below. Until recordings hold that, it is not measured. Where instrumentation
        saw no accelerator it is not applicable, for there the host does the computing.
        It says nothing, so there is no noise to be wrong about.

    Fix:
        Keep values on the device and read them every hundred steps: `log(loss=loss)` of
        the profiler does so by itself. Compute masks and conditions with torch.where
        instead of `if`; clip with the foreach functions, which need no norm on the host.

    Limits:
        sync=True makes every stamp wait, so a run recorded with it shows what each phase
        takes on the device and cannot show what the waiting of the code costs.

    References:
        PyTorch documentation, torch.cuda.set_sync_debug_mode; PyTorch Performance Tuning
        Guide, "Avoid unnecessary CPU-GPU synchronization".
    """
    if interruptions.accelerator == "":
        msg = "no accelerator: the host does the computing"
        raise NotApplicable(msg)
    raise NotMeasured(NEEDED)

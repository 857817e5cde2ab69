"""What a recording did not see, in a sentence for the report."""

from __future__ import annotations

NO_FETCH = (
    "data was not measured: the loop does not fetch from a torch DataLoader; "
    "wrap what it iterates over: `for batch in prof.iter_data(batches)`"
)
NO_FORWARD = (
    "no forward pass was seen: the loop does not call the model that AutoProfiler was given; "
    "time from the fetch to the backward pass is `compute`"
)
NO_MODEL = (
    "no forward pass was seen: no module was found that the loop calls and the optimizer trains; "
    "pass it, AutoProfiler(folder, model); time from the fetch to the backward pass is `compute`"
)
NO_STEP = (
    "no step was counted: no torch optimizer stepped while this was recorded; a loop that updates "
    "parameters by itself, or by an optimizer without `Optimizer.__init__`, ends each step with "
    "`prof.end_step()`"
)

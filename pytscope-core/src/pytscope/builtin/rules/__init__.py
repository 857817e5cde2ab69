"""Core's rules, one a file; the docstring of each is its page."""

from __future__ import annotations

from pytscope.builtin.rules.budget_impossible import impossible
from pytscope.builtin.rules.coverage_not_finished import not_finished
from pytscope.builtin.rules.coverage_ranks_missing import ranks_missing
from pytscope.builtin.rules.coverage_records_lost import records_lost
from pytscope.builtin.rules.coverage_too_few_steps import too_few_steps
from pytscope.builtin.rules.efficiency_low_mfu import low_mfu
from pytscope.builtin.rules.efficiency_recoverable import recoverable
from pytscope.builtin.rules.timing_dataloader_bound import dataloader_bound
from pytscope.builtin.rules.timing_jitter import jitter

ALL = (
    dataloader_bound,
    jitter,
    low_mfu,
    recoverable,
    impossible,
    ranks_missing,
    records_lost,
    not_finished,
    too_few_steps,
)

"""Core's rules, one a file; the docstring of each is its page."""

from __future__ import annotations

from pytscope.builtin.rules.budget_impossible import impossible
from pytscope.builtin.rules.coverage_attempts import attempts
from pytscope.builtin.rules.coverage_clock import clock
from pytscope.builtin.rules.coverage_not_finished import not_finished
from pytscope.builtin.rules.coverage_rank_short import rank_short
from pytscope.builtin.rules.coverage_ranks_missing import ranks_missing
from pytscope.builtin.rules.coverage_records_lost import records_lost
from pytscope.builtin.rules.coverage_schema import schema
from pytscope.builtin.rules.coverage_too_few_steps import too_few_steps
from pytscope.builtin.rules.coverage_unattributed import unattributed
from pytscope.builtin.rules.cross_correlated_instability import correlated_instability
from pytscope.builtin.rules.efficiency_checkpoint_heavy import checkpoint_heavy
from pytscope.builtin.rules.efficiency_eval_heavy import eval_heavy
from pytscope.builtin.rules.efficiency_low_mfu import low_mfu
from pytscope.builtin.rules.efficiency_recoverable import recoverable
from pytscope.builtin.rules.memory_growth import memory_growth
from pytscope.builtin.rules.timing_backward_heavy import backward_heavy
from pytscope.builtin.rules.timing_dataloader_bound import dataloader_bound
from pytscope.builtin.rules.timing_gc_pauses import gc_pauses
from pytscope.builtin.rules.timing_h2d_bound import h2d_bound
from pytscope.builtin.rules.timing_host_sync import host_sync
from pytscope.builtin.rules.timing_jitter import jitter
from pytscope.builtin.rules.timing_optimizer_heavy import optimizer_heavy
from pytscope.builtin.rules.timing_recompilation import recompilation

ALL = (
    dataloader_bound,
    jitter,
    backward_heavy,
    optimizer_heavy,
    h2d_bound,
    recompilation,
    gc_pauses,
    host_sync,
    low_mfu,
    recoverable,
    eval_heavy,
    checkpoint_heavy,
    memory_growth,
    correlated_instability,
    impossible,
    ranks_missing,
    rank_short,
    records_lost,
    not_finished,
    too_few_steps,
    attempts,
    clock,
    schema,
    unattributed,
)

"""The pack's rules, one a file; the docstring of each is its page."""

from __future__ import annotations

from pytscope_rules_distributed.rules.comm_bound import comm_bound
from pytscope_rules_distributed.rules.load_imbalance import load_imbalance
from pytscope_rules_distributed.rules.pause import pause
from pytscope_rules_distributed.rules.slow_link import slow_link
from pytscope_rules_distributed.rules.straggler import straggler

ALL = (straggler, pause, load_imbalance, comm_bound, slow_link)

"""pytscope's analyses and rules for runs of several ranks.

Registered as any pack is, through the entry-point group `pytscope`. The types that rules
of other packs may need::

    from pytscope_rules_distributed import Exchange, Ranks, Stages, Stragglers
"""

from __future__ import annotations

from collections.abc import Iterable

from pytscope.plugins.declare import Analyzer, Rule
from pytscope.plugins.hookspecs import hookimpl
from pytscope_rules_distributed.exchange import Exchange
from pytscope_rules_distributed.ranks import Ranks
from pytscope_rules_distributed.stages import Stages
from pytscope_rules_distributed.stragglers import Stragglers

__all__ = ["Exchange", "Ranks", "Stages", "Stragglers"]


@hookimpl
def pytscope_analyzers() -> Iterable[Analyzer]:
    """Ranks, stragglers, stages, the exchange between ranks, and what the budget moves."""
    from pytscope_rules_distributed.alignment import ranks
    from pytscope_rules_distributed.exchanging import exchange
    from pytscope_rules_distributed.finding_out import stragglers
    from pytscope_rules_distributed.parts import PARTS
    from pytscope_rules_distributed.stages import stages

    return [ranks, stragglers, stages, exchange, *PARTS]


@hookimpl
def pytscope_rules() -> Iterable[Rule]:
    """One file a rule, in `pytscope_rules_distributed.rules`."""
    from pytscope_rules_distributed.rules import ALL

    return ALL

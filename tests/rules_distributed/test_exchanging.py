from __future__ import annotations

import json

import numpy as np

from pytscope.model.panels import Status
from pytscope_rules_distributed.alignment import ranks
from pytscope_rules_distributed.exchanging import exchange
from tests.rules_distributed.made import MS, analysed, noise, ranks_run


def test_stages_meet_among_themselves():
    own = np.array([[20.0] * 30, [30.0] * 30, [40.0] * 30, [60.0] * 30])
    places = [{"pp": r // 2, "dp": r % 2} for r in range(4)]
    run = ranks_run(own, places=places, groups=[[0, 1], [2, 3]])
    found = exchange(run, ranks(run))
    waits = [each.wait_ns // (29 * MS) for each in found.ranks]
    assert waits == [10, 0, 20, 0]
    assert [kind.name for kind in found.kinds] == ["replicas"]
    assert [group.name for group in found.kinds[0].groups] == ["stage 0", "stage 1"]


def test_recorded_process_groups_are_compared_by_dimension():
    own = noise(8, 40, sd=0.02) * 20
    places = [{"dp": r // 2, "tp": r % 2} for r in range(8)]
    tp = np.full((8, 40), 4.0)
    tp[5] = 9.0  # waits; its partner tells the transfer
    tp[2:4] = 7.0
    run = ranks_run(own, places=places, extras={"dist.group.tp_ns": tp})
    (kind,) = exchange(run, ranks(run)).kinds
    assert kind.name == "tp"
    assert [group.ranks for group in kind.groups] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert (kind.transfer_ns.values == np.array([[4], [7], [4], [4]]) * MS).all()


def test_its_panel_says_both():
    report = analysed(ranks_run(np.full((3, 40), 20.0), parts={1: {"backward": 10.0}}))
    panel = next(panel for panel in report.panels if panel.id == "exchange")
    assert panel.status is Status.BAD
    assert panel.headline == "3.2% of step time in transfer, 21.5% waiting for other ranks"


def test_of_thousands_of_ranks_json_keeps_a_few():
    report = analysed(ranks_run(noise(200, 40, sd=0.02) * 20))
    document = json.loads(report.to_json())
    assert len(document["analyses"]["exchange"]["ranks"]) == 3
    assert len(document["analyses"]["stragglers"]["effects"]) == 3
    assert len(document["analyses"]["wait_in_compute"]["by_rank"]) == 3
    assert "own_ns" not in document["analyses"]["ranks"]

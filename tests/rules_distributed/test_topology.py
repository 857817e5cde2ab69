from __future__ import annotations

from pytscope.testing import make_run
from pytscope_rules_distributed.topology import Place, cohorts, groups, hosts, places

EIGHT = [Place(r, f"n{r // 4}", at={"dp": r // 4, "pp": r // 2 % 2, "tp": r % 2}) for r in range(8)]


def test_ranks_of_one_stage_and_role_do_the_same_work():
    assert [c.ranks for c in cohorts(EIGHT)] == [(0, 1, 4, 5), (2, 3, 6, 7)]
    assert [c.name for c in cohorts(EIGHT)] == ["stage 0", "stage 1"]
    roles = [Place(0, role="actor"), Place(1, role="critic"), Place(2, role="actor")]
    assert [(c.name, c.ranks) for c in cohorts(roles)] == [("actor", (0, 2)), ("critic", (1,))]


def test_ranks_of_one_host_are_a_node():
    assert [(h.name, h.ranks) for h in hosts(EIGHT)] == [
        ("n0", (0, 1, 2, 3)),
        ("n1", (4, 5, 6, 7)),
    ]
    assert hosts([Place(0), Place(1)]) == ()


def test_a_group_along_a_dimension_shares_all_others():
    assert [g.ranks for g in groups(EIGHT, "tp")] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert [g.ranks for g in groups(EIGHT, "dp")] == [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert groups(EIGHT, "tp")[1].name == "tp group of ranks 2-3"


def test_the_last_word_of_the_last_attempt_counts():
    events = [
        {"kind": "topology", "host": "old", "pp": 3},
        {"kind": "other"},
        {"kind": "topology", "host": "n7", "dp": 2, "pp": 1, "tp": None, "role": "trainer"},
    ]
    run = make_run({"forward": 1}, last_attempt={"events": tuple(events)})
    assert places(run) == (Place(0, "n7", "trainer", {"dp": 2, "pp": 1}, told=True),)


def test_what_was_not_stamped_is_kept():
    event = {"kind": "topology", "dp": 0, "unseen": ["FSDP1's gathers", 3, ""]}
    (place,) = places(make_run({"forward": 1}, last_attempt={"events": (event,)}))
    assert place.unseen == ("FSDP1's gathers",)


def test_nonsense_is_no_place():
    odd = {"kind": "topology", "host": 3, "dp": "0", "pp": True, "role": None}
    run = make_run({"forward": 1}, last_attempt={"events": (odd,)})
    assert places(run) == (Place(0, told=True),)
    assert places(make_run({"forward": 1})) == (Place(0),)

"""What 0.2.x told wrongly of two runs, told rightly; and every odd run beside a healthy one."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.core.acceptance.conftest import SHARED
from tests.core.acceptance.made import EVERY, NOTHING, RANKS, even, record, write

MADE_WITH = {"python": "3.11.7", "torch": "2.13.0", "cudnn_benchmark": False}
Diff = Callable[..., tuple[int, str, dict[str, Any]]]

shared = pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data beside this repository")


@pytest.fixture
def diff(
    command: Callable[..., tuple[int, str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Diff:
    """`pytscope diff`: exit status, text, document."""
    written = tmp_path_factory.mktemp("json") / "diff.json"

    def call(*runs: Path) -> tuple[int, str, dict[str, Any]]:
        written.unlink(missing_ok=True)
        code, out, err = command("diff", *runs, "--format", "text", "--format", f"json:{written}")
        document = json.loads(written.read_text()) if written.exists() else {}
        return code, " ".join((out + err).split()), document

    return call


def losses(values: dict[int, float | None]) -> list[dict[str, Any]]:
    """Records with a loss at some of the steps."""
    return [
        record(step, **({} if loss is None else {"scalars": {"loss": loss}}))
        for step, loss in values.items()
    ]


def parted_at(document: dict[str, Any]) -> int | None:
    (pair,) = document["divergences"]
    return pair["bitwise"]["step"] if pair["bitwise"] else None


def test_a_run_without_a_loss_is_identical_to_itself(diff, tmp_path):
    run = write(tmp_path / "run", losses(dict.fromkeys(range(40))))
    code, text, document = diff(run, run)
    assert code == 0
    assert document["identical"] is True
    assert "no loss recorded" in document["headline"]
    assert "nondetermin" not in text.lower()


def test_steps_are_matched_by_number_warm_up_included(diff, tmp_path):
    flat = dict.fromkeys(range(100, 150), 1.0)
    a = write(tmp_path / "a", losses(flat), warmup=10)
    b = write(tmp_path / "b", losses({s: 1.5 if s >= 130 else 1.0 for s in flat}), warmup=10)
    assert parted_at(diff(a, b)[2]) == 130
    c = write(tmp_path / "c", losses({s: 1.5 if s >= 103 else 1.0 for s in flat}), warmup=10)
    assert parted_at(diff(a, c)[2]) == 103


def test_a_loss_that_is_logged_now_and_then_parts_at_its_step(diff, tmp_path):
    def sparse(late: float) -> dict[int, float | None]:
        return {s: None if s % 10 else late if s >= 50 else 1.0 for s in range(100)}

    a, b = (write(tmp_path / name, losses(sparse(v))) for name, v in (("a", 1.0), ("b", 1.5)))
    assert parted_at(diff(a, b)[2]) == 50


def test_a_longer_run_is_no_other_run(diff, tmp_path):
    a, b = write(tmp_path / "a", even(100)), write(tmp_path / "b", even(150))
    _, text, document = diff(a, b)
    (pair,) = document["divergences"]
    assert (pair["identical"], pair["steps"], pair["only_second"]) == (True, 100, 50)
    assert "B alone has 50 more" in text
    assert "nondetermin" not in text.lower()
    assert {m["verdict"] for m in document["outcomes"]} == {"identical"}


def test_a_change_of_rounding_is_not_printed_as_one(diff, tmp_path):
    curve = {s: math.exp(-s / 20) for s in range(60)}
    nudged = {s: math.nextafter(v, 9) if s > 30 else v for s, v in curve.items()}
    a, b = write(tmp_path / "a", losses(curve)), write(tmp_path / "b", losses(nudged))
    _, text, document = diff(a, b)
    (pair,) = document["divergences"]
    assert (pair["bitwise"]["step"], pair["material"]) == (31, None)
    assert "by no more than rounding" in document["headline"]
    assert re.search(r"[+-] ?\d[\d.]*e-1\d", text) is None
    assert "step 31 never rounding" in text
    assert "0.0595251 0.0595251 none" in text


def test_every_cause_is_named(diff, tmp_path):
    a = write(tmp_path / "a", config={"lr": 0.1}, environment=MADE_WITH)
    other = [{**r, "scalars": {"loss": r["scalars"]["loss"] * 1.1, "lr": 0.2}} for r in even()]
    b = write(
        tmp_path / "b", other, config={"lr": 0.2}, environment={**MADE_WITH, "torch": "2.1.0"}
    )
    _, text, document = diff(a, b)
    differing = {d["key"] for d in document["differences"] if "hardly" not in d["likelihood"]}
    assert "config.lr" in differing
    assert any("torch" in key for key in differing)
    named = {key for pair in document["divergences"] for c in pair["causes"] for key in c["keys"]}
    assert "config.lr" in named
    assert any("torch" in key for key in named)
    assert "not a reproducibility problem" not in text


@pytest.mark.parametrize(
    "meta",
    [
        {"config": None, "environment": None},
        {"config": [1], "environment": "3.11"},
        {"config": {"a": {"b": [None, {}]}}, "environment": {"python": None, "env": 7}},
    ],
)
def test_odd_settings_do_not_break_it(diff, tmp_path, meta):
    a = write(tmp_path / "a", environment=MADE_WITH)
    b = write(tmp_path / "b", **meta)
    for pair in ((a, b), (b, a), (b, b)):
        code, _, document = diff(*pair)
        assert code == 0
        assert document["identical"] is True


def test_a_loss_that_is_not_finite_parts_where_it_began(diff, tmp_path):
    flat = dict.fromkeys(range(40), 1.0)
    a = write(tmp_path / "a", losses(flat))
    b = write(tmp_path / "b", losses({s: math.nan if s >= 25 else 1.0 for s in flat}))
    assert parted_at(diff(a, b)[2]) == 25
    assert diff(b, b)[2]["identical"] is True


def test_runs_of_several_ranks_are_read(diff, tmp_path):
    a = RANKS["rank_missing"](tmp_path / "a")
    code, _, document = diff(a, a)
    assert code == 0
    assert document["identical"] is True


@pytest.mark.parametrize("name", sorted(EVERY))
def test_every_odd_run_beside_a_healthy_one_gives_a_comparison_or_one_sentence(
    diff, tmp_path, name
):
    healthy = write(tmp_path / "healthy")
    code, text, document = diff(healthy, EVERY[name](tmp_path / name))
    assert code in {0, 3}
    assert bool(document) or text.count("error:") == 1
    assert "Traceback" not in text
    if name in NOTHING:
        assert code == 3


@shared
@pytest.mark.parametrize(
    ("first", "second", "step"),
    [
        ("diff_warm_a", "diff_warm_b", 130),
        ("diff_sparse_a", "diff_sparse_b", 50),
        ("diff_cfg_a", "diff_cfg_b", 0),
        ("ok", "diff_longer", None),
        ("ok", "runjson_null_config", None),
        ("custom_phases", "custom_phases", None),
        ("diff_nan_a", "diff_nan_a", None),
        ("rank_missing", "rank_missing", None),
    ],
)
def test_the_shared_pairs_part_where_they_do(diff, first, second, step):
    code, text, document = diff(SHARED / first, SHARED / second)
    assert code == 0
    assert parted_at(document) == step
    if step is None:
        assert document["identical"] is True
        assert "nondetermin" not in text.lower()

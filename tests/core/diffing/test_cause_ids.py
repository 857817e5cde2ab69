"""Ids of causes: stable names, of which each is given out and explained."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import attrs

import pytscope.diffing
from pytscope.model.comparison_causes import CauseId
from tests.core.diffing.said import ORDER, compared

ROOT = Path(__file__).parents[3]
IDS = [one.value for one in CauseId]


def test_ids_are_words_with_at_most_one_family():
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*(\.[a-z]+(_[a-z]+)*)?", name) for name in IDS)


def test_every_id_is_given_out():
    folder = Path(pytscope.diffing.__file__).parent
    code = "".join(path.read_text(encoding="utf-8") for path in folder.glob("causes*.py"))
    assert {one.name for one in CauseId} == set(re.findall(r"CauseId\.(\w+)", code))


def test_the_page_lists_every_id():
    page = (ROOT / "docs" / "usage.md").read_text(encoding="utf-8")
    table = page.split("\n### Causes\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `([\w.]+)` \|", table, re.MULTILINE) == IDS


def test_the_document_has_the_id():
    (cause,) = json.loads(compared().to_json())["divergences"][0]["causes"]
    assert cause["id"] == "data_order"
    text = files("pytscope").joinpath("schemas", "diff-1.json").read_text(encoding="utf-8")
    described = json.loads(text)["$defs"]["cause"]["properties"]
    assert list(described) == [field.name for field in attrs.fields(type(ORDER))]


def test_no_title_decides():
    folder = Path(pytscope.diffing.__file__).parent
    for path in (*folder.glob("causes*.py"), folder / "ranking.py"):
        assert not re.search(r"\.title\b", path.read_text(encoding="utf-8")), path.name

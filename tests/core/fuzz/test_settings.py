"""Settings files of any content: settings, or one sentence with the file's name in it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytscope.cli.config import OWN, SHARED, Config, find_config, read_config
from pytscope.model.errors import UsageError

MORE = int(os.environ.get("PYTSCOPE_FUZZ", "1"))
KNOWN = (
    *("select", "ignore", "severity", "fail-on", "strict", "show-passed", "warmup"),
    *("flops-per-step", "peak-tflops", "color", "width", "ascii", "rules"),
)
WORDS = ("low", "high", "never", "auto", "always", "TIMING.JITTER", "TIMING.*", "-1", "1e999")

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.sampled_from(WORDS)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
keys = st.one_of(st.sampled_from(KNOWN), st.text(max_size=20))


def attempted(call: Callable[[], Config]) -> tuple[Config | None, str]:
    """The settings, or the sentence why there are none."""
    try:
        return call(), ""
    except UsageError as error:
        return None, str(error)


@given(table=st.dictionaries(keys, values, max_size=6))
@settings(max_examples=300 * MORE, deadline=None)
def test_any_table_is_settings_or_a_sentence(table: dict[str, Any]):
    path = Path("pyproject.toml")
    config, said = attempted(lambda: read_config(path, table))
    if config is None:
        assert said.startswith("pyproject.toml")
        assert "\n" not in said
        return
    assert set(table) <= set(KNOWN)
    assert config.width is None or 40 <= config.width <= 1000
    assert config.flops_per_step is None or 0 < config.flops_per_step < float("inf")
    assert config.warmup in (None, "auto") or config.warmup >= 0


LINES = (
    *("[tool.pytscope]\n", "[tool]\n", "[[tool.pytscope]]\n", "pytscope = 1\n", "[tool.other]\n"),
    *("width = 100\n", 'color = "never"\n', "strict = true\n", 'severity = "loud"\n'),
    *('[tool.pytscope.rules."TIMING.JITTER"]\n', "min_share = 0.1\n", "min_share = [\n"),
    *("rules = 1\n", "\0", "\ufeff"),
)
toml = st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=30)), max_size=8).map("".join)


@given(content=st.one_of(st.binary(max_size=200), toml.map(str.encode)))
@settings(max_examples=200 * MORE, deadline=None)
@pytest.mark.parametrize("name", [OWN, SHARED])
def test_any_file_is_settings_or_a_sentence(tmp_path_factory, name: str, content: bytes):
    folder = tmp_path_factory.getbasetemp() / name.replace(".", "-")
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    config, said = attempted(lambda: find_config(folder))
    assert config is not None or name in said


@pytest.mark.parametrize("depth", [200, 5_000])
def test_settings_nested_without_end_are_a_sentence(tmp_path, depth):
    (tmp_path / OWN).write_text("[tool.pytscope]\nselect = " + "[" * depth + "]" * depth)
    with pytest.raises(UsageError, match=OWN):
        find_config(tmp_path)


def test_a_settings_file_that_is_a_folder_or_a_circle_is_passed_over(tmp_path):
    (tmp_path / OWN).mkdir()
    (tmp_path / SHARED).symlink_to(SHARED)
    assert find_config(tmp_path).path is None

from __future__ import annotations

from pathlib import Path

import pytest

from pytscope.cli.config import find_config
from pytscope.model.errors import UsageError
from pytscope.model.findings import Severity


def write(folder: Path, text: str, name: str = "pyproject.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


FULL = """
[tool.pytscope]
select = ["timing", "EFFICIENCY.*"]
ignore = "A.B, A.C"
severity = "low"
fail-on = "high"
strict = true
show-passed = true
warmup = 20
flops-per-step = 1e15
peak-tflops = 312
color = "never"
width = 100
ascii = false

[tool.pytscope.rules."timing.jitter"]
min_share = 0.1
"""


def test_a_file_may_begin_with_the_mark_of_windows(tmp_path):
    write(tmp_path, "\ufeff[tool.pytscope]\nwarmup = 7\n", "pytscope.toml")
    assert find_config(tmp_path).warmup == 7


def test_every_setting(tmp_path):
    path = write(tmp_path, FULL)
    config = find_config(tmp_path)
    assert config.path == path
    assert config.select == ("TIMING", "EFFICIENCY.*")
    assert config.ignore == ("A.B", "A.C")
    assert config.severity is Severity.LOW
    assert config.fail_on is Severity.HIGH
    assert (config.strict, config.show_passed) == (True, True)
    assert (config.warmup, config.flops_per_step, config.peak_tflops) == (20, 1e15, 312)
    assert (config.color, config.width, config.ascii) == ("never", 100, False)
    assert config.rules == {"TIMING.JITTER": {"min_share": 0.1}}


def test_the_nearest_file_counts_alone(tmp_path):
    write(tmp_path, "[tool.pytscope]\nwarmup = 1\nstrict = true\n")
    below = tmp_path / "a" / "b"
    write(tmp_path / "a", "[tool.pytscope]\nwarmup = 2\n")
    below.mkdir()
    config = find_config(below)
    assert (config.warmup, config.strict) == (2, None)


def test_files_of_other_tools_are_passed_over(tmp_path):
    path = write(tmp_path, "[tool.pytscope]\nwarmup = 1\n")
    below = tmp_path / "a"
    write(below, "[tool.ruff]\nline-length = 100\n")
    assert find_config(below).path == path


def test_the_own_file_counts_before_the_shared_one(tmp_path):
    write(tmp_path, "[tool.pytscope]\nwarmup = 1\n")
    write(tmp_path, "[tool.pytscope]\nwarmup = 2\n", "pytscope.toml")
    assert find_config(tmp_path).warmup == 2


def test_an_empty_table_counts(tmp_path):
    assert find_config(write(tmp_path, "[tool.pytscope]\n").parent).path is not None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.pytscope", "not valid TOML"),
        ("[tool]\npytscope = 1\n", "must be a table"),
        ("[tool.pytscope]\nselct = []\n", "unknown setting 'selct' .* did you mean 'select'"),
        ("[tool.pytscope]\nfail_on = 'high'\n", "did you mean 'fail-on'"),
        ("[tool.pytscope]\nwarmup = -5\n", "warmup: '-5' is not"),
        ("[tool.pytscope]\nwarmup = true\n", "warmup: True is of the wrong type"),
        ("[tool.pytscope]\npeak-tflops = nan\n", "peak-tflops: 'nan' is not"),
        ("[tool.pytscope]\nstrict = 'yes'\n", "strict: 'yes' is neither"),
        ("[tool.pytscope]\nselect = 5\n", "select: 5 is not a list"),
        ("[tool.pytscope]\ncolor = 'red'\n", "color: 'red' is none of"),
        ("[tool.pytscope]\nseverity = 'huge'\n", "severity: 'huge' is none of"),
        ("[tool.pytscope]\nrules = 5\n", "rules: thresholds are set as"),
        ('[tool.pytscope.rules]\n"A.B" = 1\n', "rules: thresholds are set as"),
    ],
)
def test_a_mistake_names_the_file(tmp_path, text, said):
    path = write(tmp_path, text)
    with pytest.raises(UsageError, match=said) as refused:
        find_config(tmp_path)
    assert str(path) in str(refused.value)


def test_the_own_file_needs_the_table(tmp_path):
    write(tmp_path, "warmup = 1\n", "pytscope.toml")
    with pytest.raises(UsageError, match=r"no table \[tool.pytscope\]"):
        find_config(tmp_path)


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "pytscope.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not valid TOML"):
        find_config(tmp_path)

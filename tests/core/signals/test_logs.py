"""Public logs: the healthy ones are quiet, and what their labels tell is found."""

from __future__ import annotations

import pytest

import pytscope
from pytscope.signals.restarts import find_restarts
from pytscope.signals.spikes import find_spikes
from tests.core.signals.logs import DATA, as_run, labelled, read

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the shared logs are not here")

LOGS = labelled()
RULE = "CROSS.CORRELATED_INSTABILITY"


def starting(name: str) -> dict:
    (entry,) = (entry for entry in LOGS if name in entry["file"])
    return entry


def is_healthy(entry: dict) -> bool:
    return entry["label"].startswith("healthy") and "spikes" not in entry["label"]


def correlated(series: dict) -> list:
    report = pytscope.analyze(as_run(series), warmup=0)
    return [finding for finding in report.findings if finding.rule == RULE]


HEALTHY = [entry for entry in LOGS if is_healthy(entry)]


@pytest.mark.parametrize("entry", HEALTHY, ids=[entry["file"][-48:] for entry in HEALTHY])
def test_a_healthy_log_has_no_spike_of_the_loss_and_no_finding(entry):
    series = read(entry)
    if "loss" not in series:
        pytest.skip("it logged no training loss")
    spikes = find_spikes(*series["loss"])
    if "DATA spikes" in entry["label"]:
        assert [(s.start, s.severe) for s in spikes] == [(918, False), (946, False)]
    else:
        assert spikes == ()
    assert correlated(series) == []


SPIKES = {
    "caspr_adaptive-study_3-wmt": {7100, 13800, 23900},
    "nadamp-study_1-criteo1tb": {2200, 3000},
    "shampoo_submission-study_0-criteo1tb": {500},
    "sinv6-study_0-imagenet": {142100, 338700},
    "sinv6-study_2-librispeech": {180100},
    "sinv6_75-study_3": {331600, 417900, 503100, 524300},
    "generalized_adam-study_1-criteo1tb": {70},
    "nadamp-study_3-librispeech": {11000},
    "adamg-study_1-criteo": {17},
}


@pytest.mark.parametrize("name", SPIKES)
def test_labelled_spikes_of_the_loss_are_found(name):
    starts = {spike.start for spike in find_spikes(*read(starting(name))["loss"])}
    assert starts >= SPIKES[name]


def test_spikes_that_come_again_are_all_found():
    assert len(find_spikes(*read(starting("sinv6-study_0-imagenet"))["loss"])) == 19


def test_gradient_norms_that_burst_alone_are_no_finding():
    series = read(starting("HangerYang"))
    assert len(find_spikes(*series["grad_norm"], ratio=1.5)) >= 37
    report = pytscope.analyze(as_run(series), warmup=0)
    assert report.findings == ()


TOGETHER = {
    "caspr_adaptive-study_3-wmt": 5,
    "sinv6-study_0-imagenet": 15,
    "sinv6_75-study_3": 4,
    "sinv6-study_2-librispeech": 1,
}


@pytest.mark.parametrize("name", TOGETHER)
def test_instabilities_of_loss_and_gradient_norm_are_correlated(name):
    (finding,) = correlated(read(starting(name)))
    assert finding.severity is pytscope.Severity.HIGH
    assert len(finding.steps) >= TOGETHER[name]


def test_the_gradient_norm_leads_where_it_is_seen_to():
    (finding,) = correlated(read(starting("caspr_adaptive-study_3-wmt")))
    assert "23600" in finding.detail


RESTARTS = {
    "nadamw_sequential-study_0": (80000, 160000),
    "nadamw_sequential-study_4": (80000, 160000),
    "nadamw_sequential-study_3": (48000,),
}


def test_restarts_are_found_where_they_are_and_nowhere_else():
    found = {}
    for entry in LOGS:
        series = read(entry)
        if "loss" in series and (at := find_restarts(*series["loss"])):
            found[entry["file"]] = at
    assert {name: at for name in found for short, at in RESTARTS.items() if short in name} == found
    assert len(found) == len(RESTARTS)


@pytest.mark.parametrize("name", RESTARTS)
def test_a_restart_is_explained_and_not_correlated(name):
    series = read(starting(name))
    assert correlated(series) == []
    report = pytscope.analyze(as_run(series), warmup=0)
    (panel,) = (panel for panel in report.panels if panel.id == "events")
    assert f"restart {len(RESTARTS[name])}" in panel.headline

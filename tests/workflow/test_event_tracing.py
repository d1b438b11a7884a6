"""The case study of event tracing, cut down to what runs in seconds: from the spec to the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.experiments.experiment_parts import measured
from regatta.host.events.tracefs import missing_for_events

_MISSING = missing_for_events()
pytestmark = pytest.mark.skipif(bool(_MISSING), reason=f"NOT TESTED: no {_MISSING}")
SHORT = {"servers": 5, "connections": 8, "warmup_ms": 300, "window_ms": 1500}


def test_phases_of_both_servers_are_measured(tmp_path: Path) -> None:
    apache = {
        "suite": "web",
        "benchmark": "apache-acceptance",
        "parameters": {**SHORT, "acceptance": "flock"},
    }
    nginx = {
        "suite": "web",
        "benchmark": "nginx-acceptance",
        "parameters": {**SHORT, "acceptance": "parallel"},
    }
    answer = measured("event-tracing", tmp_path, [apache, nginx], rounds=1, workflow=True)
    phases = {
        cell["parameters"]["phase"]
        for cell in answer["cells"]
        if cell["metric"] == "event_phase" and cell["mean"] > 0
    }
    assert phases >= {"1-prepare", "2-lock", "3-accept", "4-process", "5-close", "1-wait"}
    transactions = [cell["mean"] for cell in answer["cells"] if cell["metric"] == "event_transactions"]
    assert min(transactions) > 100
    busy = [cell["mean"] for cell in answer["cells"] if cell["metric"] == "event_cpu_busy"]
    assert max(busy) <= 100.5

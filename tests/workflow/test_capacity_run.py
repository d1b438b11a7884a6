"""The highest load that meets a target, from the spec to the answer; another target measures nothing again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.experiments.small_experiments import SmallExperiment

#: a latency of rate² · 100 ns, for the 99th percentile; from 800 requests per second on the server breaks down
SERVER = """
[ {rate} -lt 800 ] || exit 1
printf '{{"iteration": 0, "metric": "latency", "value": %d, "unit": "ns", "parameters": {{"percentile": 99}}}}\\n' \
    $(({rate} * {rate} * 100)) >"$REGATTA_RESULTS"
"""
TARGET = {
    "parameter": "rate",
    "metric": "latency",
    "parameters": {"percentile": 99},
    "at_most": 8,
    "unit": "ms",
}
BENCHMARKS = [{"suite": "tiny", "benchmark": "server", "parameters": {"rate": [100, 200, 400, 800]}}]


def capacity_of(small: SmallExperiment) -> dict[str, Any]:
    (found,) = json.loads(small.regatta("analyze", small.folder.name, "--json").stdout)["capacity"]
    return dict(found)


def test_the_highest_load_is_in_the_answer_and_the_report(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path, benchmarks=BENCHMARKS, invocations={"fixed": 2}, modifiers={})
    small.spec["capacity"] = TARGET
    small.suite["benchmarks"] = {
        "server": {
            "command": ["sh", "-c", SERVER],
            "adapter": "regatta",
            "metric": "latency",
            "sizes": {"default": {"parameters": {"rate": 1}}},
        }
    }
    small.write()
    # The failures of the highest load are reported, and the answer is written nevertheless.
    assert small.regatta("run", "spec.yml").returncode == 1
    found = capacity_of(small)
    assert [point["load"] for point in found["points"]] == [100, 200, 400, 800]
    assert [point["met"] for point in found["points"]] == [2, 2, 0, 0]
    # A server without noise: 1, 4 and 16 ms give a point, and no interval. The truth is 283.
    assert found["estimate"]["point"] == pytest.approx(283, rel=0.05)
    assert found["estimate"]["low"] is None
    assert 'id="capacity"' in small.folder.report.read_text()

    before, plan = small.records(), small.header()
    small.spec["capacity"] = [{**TARGET, "at_most": 16000, "unit": "us"}]
    small.write()
    small.step_by_step()
    assert (small.records(), small.header()) == (before, plan)
    found = capacity_of(small)
    assert found["estimate"]["point"] is None
    assert found["bound"] == {"low": 400, "high": 800}

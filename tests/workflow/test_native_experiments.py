"""The experiments on programs in C, each cut down to what runs in seconds, from the spec to the report."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from helpers.experiments.experiment_parts import measured, report_of

NETWORKS = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ip") is None,
    reason="NOT TESTED: network namespaces need root and iproute2",
)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="NOT TESTED: two processes need two CPUs")
def test_load_is_measured_and_drawn(tmp_path: Path) -> None:
    shortly = {"parallel": [1, 2], "interval_us": 100000, "repetitions": 2}
    stream = {"suite": "lm", "benchmark": ["stream"], "parameters": {**shortly, "mib": 1, "version": 2}}
    select = {"suite": "lm", "benchmark": ["lat_select"], "parameters": shortly}
    answer = measured("scaling", tmp_path, [stream, select], rounds=2)
    kernels = {cell["parameters"].get("kernel") for cell in answer["cells"] if cell["metric"] == "bandwidth"}
    assert kernels == {"fill", "copy", "daxpy", "sum"}
    systems = {c["parameters"]["parallel"] for c in answer["cells"] if c["metric"] == "bandwidth_system"}
    assert systems == {2}
    assert answer["scaling"]
    page = report_of("scaling", tmp_path)
    for text in ('id="load"', "STREAM", "daxpy"):
        assert text in page, text


def test_a_system_vector_has_a_number_for_each_primitive(tmp_path: Path) -> None:
    names = ["lat_syscall", "lat_pipe", "mhz"]
    parts = [{"suite": "lm", "benchmark": [name], "size": "quick"} for name in names]
    answer = measured("system-vector", tmp_path, parts, rounds=2)
    calls = {cell["parameters"].get("call") for cell in answer["cells"] if "lat_syscall" in cell["benchmark"]}
    assert calls == {"null", "read", "write", "stat", "fstat", "open_close", "fcntl"}
    (frequency,) = (cell for cell in answer["cells"] if cell["metric"] == "frequency")
    assert frequency["unit"] == "MHz"
    assert frequency["n"] == 2


def test_one_copy_and_two_of_a_program_are_measured(tmp_path: Path) -> None:
    parts = [{"suite": "speclike", "benchmark": ["search"], "size": "test", "parameters": {"copies": [1, 2]}}]
    answer = measured("speclike", tmp_path, parts, rounds=2)
    copies = {c["parameters"]["copies"]: c["n"] for c in answer["cells"] if c["metric"] == "elapsed"}
    assert set(copies) == {1, 2}


@NETWORKS
def test_a_round_trip_between_two_networks_is_measured(tmp_path: Path) -> None:
    parts = [{"suite": "lm", "benchmark": ["lat_tcp"], "size": "quick", "parameters": {"repetitions": 2}}]
    answer = measured("lm-network", tmp_path, parts, rounds=2, workflow=True)
    (latency,) = (cell for cell in answer["cells"] if cell["metric"] == "latency")
    assert (latency["n"], latency["unit"]) == (2, "ns")
    assert latency["mean"] > 0
    journals = sorted((tmp_path / "results/lm-network/journal/local").glob("0*.jsonl"))
    records = [json.loads(line) for path in journals for line in path.read_text().splitlines()]
    assert [list(record["roles"]) for record in records] == [["server", "client"]] * 2
    values = [value for record in records for _, name, value, *_ in record["iterations"] if name == "latency"]
    assert len(values) == 4
    assert min(values) > 0


@NETWORKS
@pytest.mark.alone  # the two clocks differ by what interrupts and neighbours take from a server
def test_a_web_server_is_measured_and_counted_without_its_clients(tmp_path: Path) -> None:
    parts = [{"suite": "web", "benchmark": ["nginx-static"], "size": "quick"}]
    answer = measured("web-network", tmp_path, parts, rounds=2, workflow=True)
    per_request = {
        cell["metric"]: cell["mean"]
        for cell in answer["cells"]
        if cell["metric"] in ("cpu_time", "counter_operation_task_clock")
    }
    # Both are of the server alone: of its processes, from its own host, and of its role, from the runner's counters.
    ratio = per_request["counter_operation_task_clock"] / per_request["cpu_time"]
    assert ratio == pytest.approx(1, abs=0.25)

"""The experiment of the operating system's primitives on several systems of one machine, cut down: records to system vectors."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from helpers.experiments.experiment_parts import measured, regatta
from regatta.host.measure.cgroup import open_accounting
from regatta.models.vectors.files import read_vector

SHORTLY = {"repetitions": 2, "interval_us": 20000}


def why_not() -> str:
    """Why the experiment cannot run here."""
    if not shutil.which("apache2", path=f"{os.environ['PATH']}:/usr/sbin"):
        return "there is no apache2"
    accounting, reason = open_accounting({"cpu"})
    if accounting is None:
        return reason
    reason = accounting.limit(0.5, None)
    accounting.close()
    return reason


@pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="NOT TESTED: a server and its client need two CPUs"
)
def test_each_system_of_a_machine_has_a_vector_and_a_measured_server(tmp_path: Path) -> None:
    reason = why_not()
    if reason:
        pytest.skip(f"NOT TESTED: {reason}")
    parts = [
        {"suite": "lm", "benchmark": "lat_syscall", "parameters": {"call": "null", **SHORTLY}},
        {
            "suite": "lm",
            "benchmark": "lat_transfer",
            "parameters": {"through": "pipe", "operation": "transfer", "bytes": "64,65536", **SHORTLY},
        },
        {"suite": "web", "benchmark": "apache-static", "size": "quick"},
    ]
    answer = measured(
        "hbench-os",
        tmp_path,
        parts,
        1,
        workflow=True,
        exclude=[],
        modifier_sets=[[], ["one-processor"], ["half-quota"]],
    )
    servers = {
        (cell["modifiers"], cell["n"]) for cell in answer["cells"] if cell["metric"] == "elapsed_per_request"
    }
    assert servers == {("none", 1), ("one-processor", 1), ("half-quota", 1)}
    done = regatta("vector", "system", "hbench-os", "--summary", "trimmed:10", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"stat excluded: lm/lat_syscall .*call=stat", done.stderr)
    names = ["local", "local-one-processor", "local-half-quota"]
    assert [row["name"] for row in json.loads(done.stdout)] == names
    for name in names:
        system = read_vector(tmp_path / "results/hbench-os/vectors" / f"{name}.yml")
        assert set(system.primitives) == {"null_call", "pipe_call", "pipe_read"}
        assert system.provenance["summary"] == "trimmed:10"

"""The samples of JMH through Regatta: from Maven's jar to records, and what a failing one leaves."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from helpers.experiments import jobs
from helpers.experiments.experiment_parts import regatta
from regatta.host.journal.journal import Damage, read_journal
from regatta.store.folder import Folder

ROOT = Path(__file__).resolve().parents[2]
SUITE = YAML(typ="safe").load((ROOT / "configs" / "suites" / "jmh-samples.yml").read_text(encoding="utf-8"))
MISSING = [p for p in SUITE["builds"]["jmh-samples"]["needs"] if shutil.which(p) is None]
SPEC: dict[str, Any] = {
    "name": "samples",
    "question": "Do the samples of JMH run, and does a failure say why?",
    "runtimes": ["host-java"],
    "collectors": ["serial"],
    "heap": {"sizes_mib": [64]},
    "benchmarks": [
        {"suite": "jmh-samples", "benchmark": "hello", "size": "quick"},
        {"suite": "jmh-samples", "benchmark": "prime", "size": "quick", "parameters": {"arg": [1, "x"]}},
    ],
    "invocations": {"fixed": 1},
    "iterations": {"count": 2, "warmup": 1},
    "perturbation": {
        "steal_percent": None,
        "other_cpu_percent": None,
        "memory_pressure_percent": None,
        "swapped_pages": None,
    },
}


def test_every_benchmark_names_one_sample_in_one_fork() -> None:
    patterns = [entry["command"][-1] for entry in SUITE["benchmarks"].values()]
    assert len(set(patterns)) == len(patterns) >= 12
    for entry in SUITE["benchmarks"].values():
        command = entry["command"]
        assert command[command.index("-f") + 1] == "1"
        assert command[command.index("-rff") + 1] == entry["adapter_options"]["file"]
        assert entry["better"] == ("higher" if "thrpt" in command else "lower")


@pytest.mark.skipif(bool(MISSING), reason=f"JMH IS NOT TESTED: {', '.join(MISSING)} not on PATH")
def test_the_samples_run_from_the_spec_to_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spec.yml").write_text(json.dumps(SPEC))
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "")
    here, folder = partial(regatta, cwd=tmp_path), Folder(tmp_path / "results" / "samples")
    jobs.measure(here, folder, "spec.yml")
    # The records are whole; one of them failed on purpose.
    done = here("verify", "samples")
    assert done.returncode == 1, done.stderr
    records = [r for r in read_journal(folder.path) if not isinstance(r, Damage)]
    by_status: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        by_status.setdefault(record["status"], []).append(record)
    assert sorted(by_status) == ["failed", "ok"]
    (failed,) = by_status["failed"]
    # Then follow Java's own words about the argument.
    assert failed["reason"].startswith("the benchmark failed: java.lang.NumberFormatException: ")
    assert failed["reason"].endswith('"x"')
    rows = {record["iterations"][0][1]: record["iterations"] for record in by_status["ok"]}
    assert [row[0] for row in rows["throughput"]] == [0, 1]
    assert all(row[2] > 0 and row[3] == "ops/s" for row in rows["throughput"])
    assert [row[5] for row in rows["time"]] == [{"arg": "1", "certainty": "4"}] * 2
    assert all(row[2] > 0 and row[3] == "ns" for row in rows["time"])

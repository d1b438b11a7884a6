"""The experiments on programs in Java, each cut down to what runs in seconds, from the spec to the report."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from helpers.counting import skip_without_counters
from helpers.experiments.experiment_parts import HOME, NEVER_PERTURBED, measured, regatta, report_of

pytestmark = pytest.mark.skipif(
    shutil.which("mvn") is None or shutil.which("javac") is None,
    reason="NO JDK OR MAVEN: THE JAVA EXPERIMENTS ARE NOT RUN",
)


def test_the_papers_experiment_uses_the_kept_minheaps_and_compares_five_collectors(tmp_path: Path) -> None:
    parts = [{"suite": "vm", "benchmark": ["compress"], "size": "s10"}]
    answer = measured("georges2007-quick", tmp_path, parts, rounds=1, workflow=True, heap={"factors": [2]})
    kept = YAML(typ="safe").load(HOME / "configs/suites/minheap/vm.yml")
    heaps = {(cell["heap_mib"], cell["collector"]) for cell in answer["cells"] if cell["metric"] == "elapsed"}
    heap_mib = 2 * kept["heaps_mib"]["compress"]["s10"]
    assert heaps == {(heap_mib, c) for c in ("serial", "parallel", "g1", "z", "shenandoah")}
    means = {(cell["collector"], cell["metric"]): cell["mean"] for cell in answer["cells"]}
    for _, collector in heaps:
        assert means[collector, "process_elapsed"] > means[collector, "elapsed"]
    assert {one["metric"] for one in answer["comparisons"]} == {"process_elapsed"}
    (factors,) = (text for text in answer["warnings"] if text.startswith("heap factors of vm "))
    assert f"minheap of {kept['runtime']}" in factors


def test_the_chat_server_is_measured_in_three_modes_and_drawn(tmp_path: Path) -> None:
    modes = {"mode": ["platform", "virtual", "selector"], "connections": [20]}
    parts = [{"suite": "chat", "benchmark": ["chat"], "size": "tiny", "parameters": modes}]
    jvms = ["temurin-17", "temurin-21"]
    answer = measured("chat", tmp_path, parts, rounds=1, runtimes=jvms)
    rates = [cell for cell in answer["cells"] if cell["metric"] == "delivered_rate"]
    assert len(rates) == 2 + 3, "virtual threads are not possible on release 17"
    assert all(cell["mean"] > 0 for cell in rates if cell["n"])
    (reason,) = {one["reason"] for one in answer["impossible"]}
    assert "not possible" in reason
    assert 'id="chat"' in report_of("chat", tmp_path)


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ip") is None,
    reason="NOT TESTED: network namespaces need root and iproute2",
)
def test_the_chat_server_is_counted_alone_in_its_windows_and_per_message(tmp_path: Path) -> None:
    skip_without_counters()
    spec = {
        "include": [str(HOME / "configs/experiments/volano.yml")],
        "name": "chat-roles",
        "counters": ["context-switches", "task-clock"],
        "benchmarks": [
            {
                "suite": "chat",
                "benchmark": "chat",
                "size": "tiny",
                "parameters": {"connections": 20, "mode": "platform"},
            }
        ],
        "invocations": {"fixed": 1, "each_counter": None},
        "perturbation": NEVER_PERTURBED,
    }
    YAML().dump(spec, tmp_path / "spec.yml")
    done = regatta("run", "spec.yml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = json.loads((tmp_path / "results" / "chat-roles" / "answer.json").read_bytes())
    (counted,) = answer["counters"]["cells"]
    counts = {one["metric"]: one["estimate"]["point"] for one in counted["counts"]}
    of_server = {cell["metric"]: cell["mean"] for cell in answer["cells"]}
    for name in ("context_switches", "task_clock"):
        within = counts[f"counter_iteration_{name}"]
        assert 0 < within < counts[f"counter_{name}"]
        messages = within / counts[f"counter_operation_{name}"]
        # Those at the borders of the window may be in one of both.
        assert messages == pytest.approx(of_server["messages"], rel=0.5)
    cpu_ns = of_server["cpu_user"] + of_server["cpu_system"]
    # The server reads its own in ticks of 10 ms.
    assert abs(counts["counter_iteration_task_clock"] - cpu_ns) <= 0.5 * cpu_ns + 20e6

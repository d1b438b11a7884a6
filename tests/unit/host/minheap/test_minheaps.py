"""Attempts at heap sizes as they are remembered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from regatta.host.minheap.searching import Attempts, NotMeasured, known_minheaps, minheap_of_platform, pairs
from regatta.host.values.experiment import (
    Baseline,
    Benchmark,
    Collector,
    Cores,
    Expectation,
    Experiment,
    Heap,
    PerturbationLimits,
    ProcessEnvironment,
    Rlimits,
    Runtime,
    SteadyState,
)  # fmt: skip
from regatta.host.values.host import Host
from regatta.host.values.resolved import ResolvedHost, ResolvedRuntime

BENCHMARK = Benchmark(
    suite="s", name="x", size="small", kind="java", command=("{runtime}", "X"), adapter="process", adapter_options={},
    metric="elapsed", better="lower", parameters={}, environment={}, arrange={}, check=(), expect=Expectation(), builds={},
    inputs={},
)  # fmt: skip
RUNTIME = Runtime("a", "java", "path")


@pytest.fixture
def experiment() -> Experiment:
    return Experiment(
        name="e", question="", spec_path="e.yml", hosts=(Host("local", "local"),), runtimes=(RUNTIME,),
        collectors=(Collector("serial", ("-XX:+UseSerialGC",)),), modifiers=((),), heaps=(Heap(factor=1.5),),
        benchmarks=(BENCHMARK,), invocations=1, steady=SteadyState("startup", 1, 0), order="interleaved", seed=1,
        compare=("collector",), rounds_per_segment=1, timeout_s=5.0, output_kib=32, cores=Cores(), limits=PerturbationLimits(),
        environment=ProcessEnvironment(), rlimits=Rlimits(), excludes=(), baseline=Baseline(), minheap_passes=1, level=0.95,
    )  # fmt: skip


def host(refusal: str = "") -> ResolvedHost:
    runtime = ResolvedRuntime("a", "/opt/a/bin/java", "a", "identity", (), {"serial": refusal})
    return ResolvedHost(
        "local", "local", {}, "class", {"PATH": "/bin"}, {"a": runtime}, {}, {}, {}, {}, memory_mib=16384
    )


def tried(attempts: Attempts, heap_mib: int, status: str, seconds: float) -> None:
    attempts.add(
        {
            "cell_id": attempts.cell("serial", heap_mib).cell_id,
            "status": status,
            "elapsed_ns": int(seconds * 1e9),
        }
    )


def test_what_is_recorded_is_enough(experiment: Experiment, tmp_path: Path) -> None:
    attempts = Attempts(tmp_path, experiment, host(), BENCHMARK, RUNTIME)
    for heap_mib, status in ((16, "ok"), (8, "oom"), (12, "ok"), (10, "oom"), (11, "ok")):
        tried(attempts, heap_mib, status, 1.0)
    assert attempts.known() == 11


def test_a_timeout_counts_only_for_as_long_as_it_waited(experiment: Experiment, tmp_path: Path) -> None:
    attempts = Attempts(tmp_path, experiment, host(), BENCHMARK, RUNTIME)
    tried(attempts, 16, "timeout", 5.1)
    assert attempts.remembered("serial", 16, 0) is not None
    patient = Attempts(tmp_path, replace(experiment, timeout_s=60.0), host(), BENCHMARK, RUNTIME)
    tried(patient, 16, "timeout", 5.1)
    assert patient.remembered("serial", 16, 0) is None
    with pytest.raises(NotMeasured):
        patient.known()


def test_an_attempt_may_take_five_times_the_quickest_but_not_less_than_ten_seconds(
    experiment: Experiment, tmp_path: Path
) -> None:
    attempts = Attempts(tmp_path, replace(experiment, timeout_s=60.0), host(), BENCHMARK, RUNTIME)
    assert attempts.timeout_s("serial") == 60.0
    tried(attempts, 64, "ok", 4.0)
    attempts.remembered("serial", 64, 0)
    assert attempts.timeout_s("serial") == 20.0
    tried(attempts, 32, "ok", 1.0)
    attempts.remembered("serial", 32, 0)
    assert attempts.timeout_s("serial") == 10.0


def test_a_runtime_that_refuses_every_collector_needs_no_minheap(
    experiment: Experiment, tmp_path: Path
) -> None:
    assert list(pairs(experiment, host())) == [(BENCHMARK, RUNTIME)]
    assert list(pairs(experiment, host("the JVM refuses"))) == []
    assert known_minheaps(experiment, [host("the JVM refuses")], tmp_path) == {"local": {}}


def test_a_benchmark_that_the_runtime_cannot_run_needs_no_minheap(
    experiment: Experiment, tmp_path: Path
) -> None:
    refused = replace(
        host(), refused_benchmarks={(BENCHMARK.label, RUNTIME.name): "not possible: no compiler"}
    )
    assert list(pairs(experiment, refused)) == []
    assert known_minheaps(experiment, [refused], tmp_path) == {"local": {}}


def test_hosts_of_a_platform_share_what_was_found_first_while_what_runs_is_the_same(
    experiment: Experiment, tmp_path: Path
) -> None:
    first = Attempts(tmp_path, experiment, replace(host(), name="h1"), BENCHMARK, RUNTIME)
    first.path.parent.mkdir(parents=True)
    first.path.touch()
    assert minheap_of_platform(first, lambda attempts: 100) == 100
    # h1 is out of reach now.
    second = Attempts(tmp_path, experiment, replace(host(), name="h2"), BENCHMARK, RUNTIME)
    assert minheap_of_platform(second, lambda attempts: pytest.fail("searched again")) == 100
    updated = replace(host(), name="h2", fingerprint={"kernel": "another"})
    other = Attempts(tmp_path, experiment, updated, BENCHMARK, RUNTIME)
    assert minheap_of_platform(other, lambda attempts: 102) == 102
    first.path.unlink()
    assert minheap_of_platform(second, lambda attempts: 101) == 101

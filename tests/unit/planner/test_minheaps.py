"""Attempts at heap sizes as they are remembered."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from regatta.host.minheap.search import Attempts, MinheapSearch, NotMeasured
from regatta.host.values.experiment import (
    Benchmark,
    Collector,
    Cores,
    Exclude,
    Expectation,
    Experiment,
    Heap,
    Modifier,
    PerturbationLimits,
    ProcessEnvironment,
    Rlimits,
    Runtime,
    SteadyState,
)  # fmt: skip
from regatta.host.values.from_json import value_from_json
from regatta.host.values.host import Host
from regatta.host.values.isolation import Isolation
from regatta.host.values.resolved import ResolvedHost, ResolvedRuntime
from regatta.planner.cells import cross
from regatta.planner.minheaps import known_minheaps, minheap_of_platform, pairs, search_of

BENCHMARK = Benchmark(
    suite="s", name="x", size="small", kind="java", command=("{runtime}", "X"), adapter="process", adapter_options={},
    metric="elapsed", better="lower", parameters={}, environment={}, arrange={}, check=(), expect=Expectation(), builds={},
    inputs={},
)  # fmt: skip
RUNTIME = Runtime("a", "java", "path")
#: of an attempt at 17 MiB; another one would make kept attempts unknown
PLAN_ID = "d2ed73239085dafb"


@pytest.fixture
def experiment() -> Experiment:
    return Experiment(
        name="e", question="", spec_path="e.yml", hosts=(Host("local", "local"),), runtimes=(RUNTIME,),
        collectors=(Collector("serial", ("-XX:+UseSerialGC",)),), modifiers=((),), heaps=(Heap(factor=1.5),),
        benchmarks=(BENCHMARK,), invocations=1, steady=SteadyState("startup", 1, 0), order="interleaved", seed=1,
        compare=("collector",), rounds_per_segment=1, timeout_s=5.0, output_kib=32, cores=Cores(), limits=PerturbationLimits(),
        environment=ProcessEnvironment(), rlimits=Rlimits(), excludes=(), baseline={}, minheap_passes=1, level=0.95,
    )  # fmt: skip


def host(refusal: str = "") -> ResolvedHost:
    runtime = ResolvedRuntime("a", "/opt/a/bin/java", "a", "identity", (), {"serial": refusal})
    return ResolvedHost(
        "local", "local", {}, "class", {"PATH": "/bin"}, {"a": runtime}, {}, {}, {}, {}, memory_mib=16384
    )


def attempts_of(folder: Path, experiment: Experiment, on: ResolvedHost) -> Attempts:
    return Attempts(folder, search_of(experiment, on, BENCHMARK, RUNTIME))


def tried(attempts: Attempts, heap_mib: int, status: str, seconds: float) -> None:
    attempts.add(
        {
            "cell_id": attempts.cell_id("serial", heap_mib),
            "status": status,
            "elapsed_ns": int(seconds * 1e9),
        }
    )


def test_what_is_recorded_is_enough(experiment: Experiment, tmp_path: Path) -> None:
    attempts = attempts_of(tmp_path, experiment, host())
    for heap_mib, status in ((16, "ok"), (8, "oom"), (12, "ok"), (10, "oom"), (11, "ok")):
        tried(attempts, heap_mib, status, 1.0)
    assert attempts.known() == 11


def test_a_timeout_counts_only_for_as_long_as_it_waited(experiment: Experiment, tmp_path: Path) -> None:
    attempts = attempts_of(tmp_path, experiment, host())
    tried(attempts, 16, "timeout", 5.1)
    assert attempts.remembered("serial", 16, 0) is not None
    patient = attempts_of(tmp_path, replace(experiment, timeout_s=60.0), host())
    tried(patient, 16, "timeout", 5.1)
    assert patient.remembered("serial", 16, 0) is None
    with pytest.raises(NotMeasured):
        patient.known()


def test_an_attempt_may_take_five_times_the_quickest_but_not_less_than_ten_seconds(
    experiment: Experiment, tmp_path: Path
) -> None:
    attempts = attempts_of(tmp_path, replace(experiment, timeout_s=60.0), host())
    assert attempts.timeout_s("serial") == 60.0
    tried(attempts, 64, "ok", 4.0)
    attempts.remembered("serial", 64, 0)
    assert attempts.timeout_s("serial") == 20.0
    tried(attempts, 32, "ok", 1.0)
    attempts.remembered("serial", 32, 0)
    assert attempts.timeout_s("serial") == 10.0


def test_a_collector_that_has_not_completed_is_timed_by_the_others(
    experiment: Experiment, tmp_path: Path
) -> None:
    attempts = attempts_of(tmp_path, replace(experiment, timeout_s=300.0), host())
    tried(attempts, 64, "ok", 4.0)
    attempts.remembered("serial", 64, 0)
    assert attempts.timeout_s("g1") == 60.0
    assert attempts_of(tmp_path, replace(experiment, timeout_s=30.0), host()).timeout_s("g1") == 30.0


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
        host(), refused_benchmarks={BENCHMARK.label: {RUNTIME.name: "not possible: no compiler"}}
    )
    assert list(pairs(experiment, refused)) == []
    assert known_minheaps(experiment, [refused], tmp_path) == {"local": {}}


def test_hosts_of_a_platform_share_what_was_found_first_while_what_runs_is_the_same(
    experiment: Experiment, tmp_path: Path
) -> None:
    first = attempts_of(tmp_path, experiment, replace(host(), name="h1"))
    first.path.parent.mkdir(parents=True)
    first.path.touch()
    assert minheap_of_platform(first, lambda attempts: 100) == 100
    # h1 is out of reach now.
    second = attempts_of(tmp_path, experiment, replace(host(), name="h2"))
    assert minheap_of_platform(second, lambda attempts: pytest.fail("searched again")) == 100
    updated = replace(host(), name="h2", fingerprint={"kernel": "another"})
    other = attempts_of(tmp_path, experiment, updated)
    assert minheap_of_platform(other, lambda attempts: 102) == 102
    first.path.unlink()
    assert minheap_of_platform(second, lambda attempts: 101) == 101


def test_an_attempt_is_the_cell_of_its_heap_wherever_it_is_made(
    experiment: Experiment, tmp_path: Path
) -> None:
    search = search_of(experiment, host(), BENCHMARK, RUNTIME)
    asked = value_from_json(MinheapSearch, json.loads(json.dumps(asdict(search))), "search")
    crossed = replace(experiment, heaps=(Heap(mib=17),))
    (cell,) = cross(crossed, host(), {}).cells
    for one in (search, asked):
        header, planned = Attempts(tmp_path, one).planned("serial", 17)
        assert planned == cell.to_json(5.0, 1)
        assert (header["cell"], header["plan_id"]) == (cell.cell_id, PLAN_ID)


def test_an_attempt_runs_without_modifiers_padding_limits_and_containers(
    experiment: Experiment, tmp_path: Path
) -> None:
    busy = replace(
        experiment,
        modifiers=((Modifier("m", ("-Xint",)),),),
        excludes=(Exclude(runtime="a"),),
        environment=ProcessEnvironment(padding_bytes=4096),
        isolation=Isolation("none"),
    )
    header, planned = Attempts(tmp_path, search_of(busy, host(), BENCHMARK, RUNTIME)).planned("serial", 8)
    assert planned["argv"] == ["/opt/a/bin/java", "-XX:+UseSerialGC", "-Xms8m", "-Xmx8m", "X"]
    assert planned["label"] == "s/x:small · a serial · 8 MiB"
    assert "isolation" not in planned
    assert header["environment"]["padding_bytes"] == 0
    assert set(header["limits"].values()) == {None, 0}

"""Experiments made in code, for tests of the crossing and of the plan."""

from __future__ import annotations

import pytest

from helpers.specs.made_experiments import COLLECTORS, java_benchmark, resolved_runtime
from regatta.host.values.experiment import (
    Collector,
    Cores,
    Experiment,
    Heap,
    PerturbationLimits,
    ProcessEnvironment,
    Rlimits,
    Runtime,
    SteadyState,
)
from regatta.host.values.host import Host
from regatta.host.values.resolved import File, ResolvedHost, ResolvedRuntime


@pytest.fixture
def experiment() -> Experiment:
    return Experiment(
        name="e", question="", spec_path="e.yml", hosts=(Host("local", "local"),),
        runtimes=(Runtime("a", "java", "path"), Runtime("b", "java", "path")),
        collectors=tuple(Collector(n, (f"-XX:+Use{n}",)) for n in COLLECTORS), modifiers=((),),
        heaps=(Heap(factor=1.5), Heap(factor=3.0)), benchmarks=(java_benchmark("x"), java_benchmark("y")),
        invocations=7, steady=SteadyState("fixed", 3, 1), order="randomized-blocks", seed=5,
        compare=("runtime", "collector", "modifiers"), rounds_per_segment=3, timeout_s=10.0, output_kib=32, cores=Cores(),
        limits=PerturbationLimits(), environment=ProcessEnvironment(), rlimits=Rlimits(), excludes=(), baseline={},
        minheap_passes=3, level=0.95,
    )  # fmt: skip


@pytest.fixture
def host() -> ResolvedHost:
    runtimes = {name: resolved_runtime(name) for name in ("a", "b")}
    runtimes["native"] = ResolvedRuntime("native", "", "native", "native")
    return ResolvedHost(
        "local",
        "local",
        {},
        "class",
        {"PATH": "/bin"},
        runtimes,
        {},
        {},
        {},
        {"true": File("/bin/true", "0" * 64)},
    )


@pytest.fixture
def minheaps() -> dict[tuple[str, str], int]:
    return {(f"s/{b}:small", r): 20 for b in ("x", "y") for r in ("a", "b")}

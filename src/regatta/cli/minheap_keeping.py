"""Minheaps that were measured, written where specs find them (`configs/suites/minheap/`)."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path

from regatta.cli.options import Ready
from regatta.errors import Problem, SpecError
from regatta.fleet.minheaps import accepted_collectors
from regatta.model.experiment import Runtime
from regatta.model.resolved import ResolvedHost
from regatta.spec.home import minheaps_path
from regatta.spec.minheap_schema import MinheapsFile
from regatta.spec.minheaps import merged_minheaps, minheaps_text, read_minheaps
from regatta.store.folder import replacing


def reference_of(ready: Ready) -> tuple[ResolvedHost, Runtime]:
    """The one host and the one Java runtime of an experiment whose minheaps can be kept.

    Raises:
        SpecError: it has several, or one refuses a collector, or parameters are chosen: nothing is measured then.
    """
    experiment = ready.experiment
    runtimes = [runtime for runtime in experiment.runtimes if runtime.kind == "java"]
    hosts = list(ready.hosts.values())
    problems = []

    def expect(what: str, got: str, fix: str) -> None:
        problems.append(Problem(f"{experiment.spec_path}: --keep", what, got, fix))

    if len(runtimes) != 1 or len(hosts) != 1:
        got = f"{len(runtimes)} and {len(hosts)}"
        expect("one Java runtime, the reference, and one host", got, "leave one of each in the spec")
    elif len(accepted_collectors(experiment, hosts[0], runtimes[0])) != len(experiment.collectors):
        got = ", ".join(accepted_collectors(experiment, hosts[0], runtimes[0])) or "none"
        expect(f"{runtimes[0].name} to take all collectors of the spec", got, "remove the others")
    if any(benchmark.chosen for benchmark in experiment.benchmarks):
        expect("sizes as the suites have them", "`parameters`", "remove `parameters`")
    if problems:
        raise SpecError(problems)
    return hosts[0], runtimes[0]


def keep_minheaps(
    ready: Ready,
    reference: tuple[ResolvedHost, Runtime],
    found: Mapping[tuple[str, str], int],
    replace: bool,
) -> list[Path]:
    """Write one file a suite; what is there already stays when it was measured in the same way.

    Raises:
        SpecError: it was measured in another way, and is not to be replaced.
    """
    host, runtime = reference
    experiment = ready.experiment
    heaps: dict[str, dict[str, dict[str, int]]] = {}
    for benchmark in experiment.benchmarks:
        heap_mib = found.get((benchmark.label, runtime.name))
        if heap_mib is not None:
            heaps.setdefault(benchmark.suite, {}).setdefault(benchmark.name, {})[benchmark.size] = heap_mib
    paths = []
    for suite, measured in heaps.items():
        new = MinheapsFile(
            suite=suite,
            runtime=runtime.name,
            build=host.runtimes[runtime.name].version,
            architecture=platform.machine(),
            collectors=[collector.name for collector in experiment.collectors],
            passes=experiment.minheap_passes,
            iterations=experiment.steady.iterations,
            heaps_mib=measured,
        )
        problems: list[Problem] = []
        there = None if replace else read_minheaps(ready.home, suite, problems)
        if problems:
            raise SpecError(problems)
        path = minheaps_path(ready.home, suite)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_text(minheaps_text(merged_minheaps(there, new)), encoding="utf-8")
        paths.append(path)
    return paths

"""Minheaps that were measured, written where specs find them (`configs/suites/minheap/`)."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from pathlib import Path

from regatta.cli.options import Ready
from regatta.host.errors import Problem, SpecError
from regatta.host.values.experiment import Runtime
from regatta.host.values.resolved import ResolvedHost
from regatta.planner.minheaps import accepted_collectors
from regatta.spec.home import minheaps_path
from regatta.spec.minheaps import MinheapsFile, merged_minheaps, minheaps_text, read_minheaps
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


def check_keeping(ready: Ready, reference: tuple[ResolvedHost, Runtime], replace: bool) -> None:
    """Look, before anything is measured, whether what will be found may be added to what is kept.

    Raises:
        SpecError: what is kept was measured in another way, and is not to be replaced.
    """
    anything = {(benchmark.label, reference[1].name): 1 for benchmark in ready.experiment.benchmarks}
    for new in _files(ready, reference, anything):
        _merged(ready, new, replace)


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
    paths = []
    for new in _files(ready, reference, found):
        text = minheaps_text(_merged(ready, new, replace))
        path = minheaps_path(ready.home, new.suite)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def _merged(ready: Ready, new: MinheapsFile, replace: bool) -> MinheapsFile:
    problems: list[Problem] = []
    there = None if replace else read_minheaps(ready.home, new.suite, problems)
    if problems:
        raise SpecError(problems)
    return merged_minheaps(there, new)


def _files(
    ready: Ready, reference: tuple[ResolvedHost, Runtime], found: Mapping[tuple[str, str], int]
) -> Iterator[MinheapsFile]:
    host, runtime = reference
    experiment = ready.experiment
    heaps: dict[str, dict[str, dict[str, int]]] = {}
    outputs: dict[str, dict[str, dict[str, str]]] = {}
    for benchmark in experiment.benchmarks:
        heap_mib = found.get((benchmark.label, runtime.name))
        if heap_mib is None:
            continue
        suite, name, size = benchmark.suite, benchmark.name, benchmark.size
        heaps.setdefault(suite, {}).setdefault(name, {})[size] = heap_mib
        if benchmark.expect.digest:
            outputs.setdefault(suite, {}).setdefault(name, {})[size] = benchmark.expect.digest
    for suite, measured in heaps.items():
        yield MinheapsFile(
            suite=suite,
            runtime=runtime.name,
            build=host.runtimes[runtime.name].version,
            architecture=platform.machine(),
            collectors=[collector.name for collector in experiment.collectors],
            passes=experiment.minheap_passes,
            iterations=experiment.steady.iterations,
            heaps_mib=measured,
            outputs=outputs.get(suite, {}),
        )

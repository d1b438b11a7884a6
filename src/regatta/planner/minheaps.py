"""The minheaps that an experiment needs: searches, their hosts, and known results."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from regatta.host.files import parse_object, write_object
from regatta.host.minheap.search import HEAP, Attempts, MinheapSearch, NotMeasured, OpenAttempt
from regatta.host.values.digest import digest_of
from regatta.host.values.experiment import Benchmark, Collector, Experiment, PerturbationLimits, Runtime
from regatta.host.values.resolved import ResolvedHost
from regatta.planner.cells import heap_flags, only_cell
from regatta.planner.plan import constant_header

#: Maximum share of the machine's memory for a heap.
_MEMORY_SHARE = 0.75


def pairs(experiment: Experiment, host: ResolvedHost) -> Iterator[tuple[Benchmark, Runtime]]:
    """Yield the benchmarks and runtimes of an experiment that need a minheap here; none if kept minheaps are used."""
    if experiment.kept_minheaps is not None or not any(heap.factor is not None for heap in experiment.heaps):
        return
    for benchmark in experiment.benchmarks:
        if benchmark.kind == "java":
            for runtime in experiment.runtimes:
                refused = runtime.name in host.refused_benchmarks.get(benchmark.label, ())
                if runtime.kind == "java" and not refused and accepted_collectors(experiment, host, runtime):
                    yield benchmark, runtime


def searches(
    experiment: Experiment, hosts: Sequence[ResolvedHost]
) -> Iterator[tuple[ResolvedHost, Benchmark, Runtime]]:
    """Yield the minheap searches of an experiment: one per platform, benchmark and runtime, on the first possible host.

    Hosts of a platform get the same heaps, so that their results can be pooled.
    """
    seen: set[tuple[str, str, str]] = set()
    for host in hosts:
        for benchmark, runtime in pairs(experiment, host):
            key = (host.platform, benchmark.label, runtime.name)
            if key not in seen:
                seen.add(key)
                yield host, benchmark, runtime


def accepted_collectors(experiment: Experiment, host: ResolvedHost, runtime: Runtime) -> list[str]:
    """Return the collectors of an experiment that a runtime accepts on a host. Other collectors have no cells and no heap."""
    resolved = host.runtimes.get(runtime.name)
    if resolved is None:
        return []
    return [
        c.name
        for c in experiment.collectors
        if runtime.name not in c.refused_by and not resolved.collectors.get(c.name, "")
    ]


def search_of(
    experiment: Experiment, host: ResolvedHost, benchmark: Benchmark, runtime: Runtime
) -> MinheapSearch:
    """Return the search for the minheap of a benchmark and runtime on a host."""
    accepted = accepted_collectors(experiment, host, runtime)
    name = f"{benchmark.suite}-{benchmark.name}-{benchmark.size}-{runtime.name}.jsonl"
    return MinheapSearch(
        benchmark.label,
        runtime.name,
        host.platform,
        f"{host.name}/{name}",
        experiment.minheap_passes,
        int(host.memory_mib * _MEMORY_SHARE),
        experiment.timeout_s,
        {c.name: _open(experiment, host, benchmark, runtime, c) for c in experiment.collectors if c.name in accepted},
    )  # fmt: skip


def _open(
    experiment: Experiment, host: ResolvedHost, benchmark: Benchmark, runtime: Runtime, collector: Collector
) -> OpenAttempt:
    """Return an attempt without modifiers, because a minheap belongs to benchmark and runtime."""
    narrowed = dataclasses.replace(
        experiment,
        benchmarks=(benchmark,),
        runtimes=(runtime,),
        collectors=(dataclasses.replace(collector, flags=(*collector.flags, *heap_flags(HEAP))),),
        modifiers=((),),
        heaps=(),
        # Perturbation makes an attempt slow, not invalid.
        limits=PerturbationLimits(None, None, None, None, None, None, None, retries=0),
        environment=dataclasses.replace(experiment.environment, padding_bytes=0),
    )
    cell, identity = only_cell(narrowed, host)
    planned = cell.to_json(experiment.timeout_s, experiment.steady.iterations)
    planned["label"] += f" · {HEAP} MiB"
    # The minheap is a property of the program, so the search avoids the cost of containers.
    planned.pop("isolation", None)
    return OpenAttempt(identity, planned, constant_header(narrowed, host))


def known_minheaps(
    experiment: Experiment, hosts: Sequence[ResolvedHost], directory: Path
) -> dict[str, dict[tuple[str, str], int]]:
    """Return platform -> its kept or recorded minheaps; unknown ones are omitted."""
    found: dict[str, dict[tuple[str, str], int]] = {host.platform: {} for host in hosts}
    if experiment.kept_minheaps is not None:
        kept = {
            (label, runtime.name): heap_mib
            for label, heap_mib in experiment.kept_minheaps.heaps_mib.items()
            for runtime in experiment.runtimes
        }
        return dict.fromkeys(found, kept)
    for host, benchmark, runtime in searches(experiment, hosts):
        with contextlib.suppress(NotMeasured):
            attempts = Attempts(directory, search_of(experiment, host, benchmark, runtime))
            found[host.platform][benchmark.label, runtime.name] = minheap_of_platform(
                attempts, Attempts.known
            )
    return found


def minheap_of_platform(attempts: Attempts, search: Callable[[Attempts], int]) -> int:
    """Return the minheap that hosts of a platform share: the first one found on any of them, for identical cells.

    Args:
        attempts: on one of the hosts.
        search: finds it on that host, if no host has found it.

    Raises:
        NotMeasured, HostError: as from `search`.
    """
    # Hosts of one class and one state have the same cells. The heap size in them is irrelevant here.
    cells = [attempts.cell_id(collector, 1) for collector in attempts.search.attempts]
    key = digest_of([attempts.search.platform, attempts.search.passes, sorted(cells)])
    path = attempts.directory / "platforms" / f"{key}.json"
    try:
        kept = parse_object(path)
        # Deleting the attempts requests new ones.
        if (attempts.directory / kept["attempts"]).exists():
            return int(kept["heap_mib"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    heap_mib = search(attempts)
    write_object(path, {"heap_mib": heap_mib, "attempts": attempts.search.file})
    return heap_mib


def summary(minheaps: Mapping[tuple[str, str, str], int]) -> list[dict[str, Any]]:
    """Return the minheaps as JSON; keys are platform, benchmark and runtime."""
    return [{"platform": p, "benchmark": b, "runtime": r, "heap_mib": m} for (p, b, r), m in minheaps.items()]

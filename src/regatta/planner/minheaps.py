"""The minheaps that an experiment needs: what is searched for, where, and what is known."""

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

#: share of the machine's memory that a heap may take
_MEMORY_SHARE = 0.75


def pairs(experiment: Experiment, host: ResolvedHost) -> Iterator[tuple[Benchmark, Runtime]]:
    """The benchmarks and runtimes of an experiment that need a minheap here; none where kept ones are used."""
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
    """The minheaps that an experiment needs: one a platform, benchmark and runtime, found on the first host that can.

    Hosts of a platform get the same heaps, so that their numbers can be put together.
    """
    seen: set[tuple[str, str, str]] = set()
    for host in hosts:
        for benchmark, runtime in pairs(experiment, host):
            key = (host.platform, benchmark.label, runtime.name)
            if key not in seen:
                seen.add(key)
                yield host, benchmark, runtime


def accepted_collectors(experiment: Experiment, host: ResolvedHost, runtime: Runtime) -> list[str]:
    """The collectors of an experiment that a runtime takes on a host; without it, it has no cells and needs no heap."""
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
    """Return the search for the minheap of a benchmark and runtime, as its host is asked for it."""
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
    """An attempt has no modifiers, for a minheap belongs to benchmark and runtime."""
    narrowed = dataclasses.replace(
        experiment,
        benchmarks=(benchmark,),
        runtimes=(runtime,),
        collectors=(dataclasses.replace(collector, flags=(*collector.flags, *heap_flags(HEAP))),),
        modifiers=((),),
        heaps=(),
        # A disturbed machine makes an attempt slow, not wrong.
        limits=PerturbationLimits(None, None, None, None, None, None, None, retries=0),
        environment=dataclasses.replace(experiment.environment, padding_bytes=0),
    )
    cell, identity = only_cell(narrowed, host)
    planned = cell.to_json(experiment.timeout_s, experiment.steady.iterations)
    planned["label"] += f" · {HEAP} MiB"
    # The least heap is a property of the program: it is looked for without the cost of containers.
    planned.pop("isolation", None)
    return OpenAttempt(identity, planned, constant_header(narrowed, host))


def known_minheaps(
    experiment: Experiment, hosts: Sequence[ResolvedHost], directory: Path
) -> dict[str, dict[tuple[str, str], int]]:
    """Platform -> its minheaps that are kept or recorded; those that are not are left out."""
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
    """The minheap that hosts of a platform share: the one that was found first, on whichever of them, while what runs is the same.

    Args:
        attempts: on one of the hosts.
        search: finds it on that host, where none has found it.

    Raises:
        NotMeasured, HostError: as `search` does.
    """
    # Hosts of one class and one state have the same cells; the size in them is of no matter here.
    cells = [attempts.cell_id(collector, 1) for collector in attempts.search.attempts]
    key = digest_of([attempts.search.platform, attempts.search.passes, sorted(cells)])
    path = attempts.directory / "platforms" / f"{key}.json"
    try:
        kept = parse_object(path)
        # Whoever removes the attempts wants them made again.
        if (attempts.directory / kept["attempts"]).exists():
            return int(kept["heap_mib"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    heap_mib = search(attempts)
    write_object(path, {"heap_mib": heap_mib, "attempts": attempts.search.file})
    return heap_mib


def summary(minheaps: Mapping[tuple[str, str, str], int]) -> list[dict[str, Any]]:
    """As JSON; keys are platform, benchmark and runtime."""
    return [{"platform": p, "benchmark": b, "runtime": r, "heap_mib": m} for (p, b, r), m in minheaps.items()]

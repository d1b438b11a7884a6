"""Minheaps measured on this machine: every attempt is a record, kept with the identity of what ran."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from regatta.host.errors import HostError
from regatta.host.files import parse_object, write_object
from regatta.host.journal.journal import Damage, read_file
from regatta.host.minheap.cells import cross
from regatta.host.minheap.minheap import Attempt, NoHeapIsEnough, search_minheap
from regatta.host.values.cell import Cell
from regatta.host.values.digest import digest_of
from regatta.host.values.experiment import Benchmark, Experiment, Heap, PerturbationLimits, Runtime
from regatta.host.values.resolved import ResolvedHost

#: a heap so tight that the program takes this many times as long as in a roomy one is no heap it completes in
SLOW_FACTOR = 5
LEAST_TIMEOUT_S = 10.0
#: share of the machine's memory that a heap may take
_MEMORY_SHARE = 0.75


class NotMeasured(Exception):
    """The search needs an attempt that nobody has made yet."""


def largest_heap_mib(host: ResolvedHost) -> int:
    """The largest heap that is tried on a host."""
    return int(host.memory_mib * _MEMORY_SHARE)


def pairs(experiment: Experiment, host: ResolvedHost) -> Iterator[tuple[Benchmark, Runtime]]:
    """The benchmarks and runtimes of an experiment that need a minheap here; none where kept ones are used."""
    if experiment.kept_minheaps is not None or not any(heap.factor is not None for heap in experiment.heaps):
        return
    for benchmark in experiment.benchmarks:
        if benchmark.kind == "java":
            for runtime in experiment.runtimes:
                refused = (benchmark.label, runtime.name) in host.refused_benchmarks
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


class Attempts:
    """The attempts for one benchmark and runtime, in a file that is only appended to."""

    def __init__(
        self,
        directory: Path,
        experiment: Experiment,
        host: ResolvedHost,
        benchmark: Benchmark,
        runtime: Runtime,
    ) -> None:
        """Find the cells' identities and read what was tried before."""
        self.experiment, self.host, self.benchmark, self.runtime = experiment, host, benchmark, runtime
        #: of the attempts of all hosts
        self.directory = directory
        self.path = (
            directory
            / host.name
            / f"{benchmark.suite}-{benchmark.name}-{benchmark.size}-{runtime.name}.jsonl"
        )
        self.collectors = accepted_collectors(experiment, host, runtime)
        self._outcomes: dict[str, list[dict[str, Any]]] = {}
        #: of the completing attempts that were asked for, by collector
        self._quickest_s: dict[str, float] = {}
        if self.path.exists():
            for record in read_file(self.path):
                if not isinstance(record, Damage):
                    self.add(record)

    def read_again(self, records: Iterable[dict[str, Any]]) -> None:
        """Know these attempts, and no others."""
        self._outcomes.clear()
        self._quickest_s.clear()
        for record in records:
            self.add(record)

    def add(self, record: dict[str, Any]) -> None:
        """Note an attempt."""
        self._outcomes.setdefault(record["cell_id"], []).append(record)

    def narrowed(self, collector: str, heap_mib: int) -> Experiment:
        """The experiment of one attempt: without modifiers, for a minheap belongs to benchmark and runtime."""
        return dataclasses.replace(
            self.experiment,
            benchmarks=(self.benchmark,),
            runtimes=(self.runtime,),
            collectors=tuple(c for c in self.experiment.collectors if c.name == collector),
            modifiers=((),),
            heaps=(Heap(size_mib=heap_mib),),
            excludes=(),
            # A disturbed machine makes an attempt slow, not wrong.
            limits=PerturbationLimits(None, None, None, None, None, None, None, retries=0),
            environment=dataclasses.replace(self.experiment.environment, padding_bytes=0),
        )

    def cell(self, collector: str, heap_mib: int) -> Cell:
        """The cell of one attempt."""
        return cross(self.narrowed(collector, heap_mib), self.host, {}).cells[0]

    def remembered(self, collector: str, heap_mib: int, nth: int) -> dict[str, Any] | None:
        """The record of an attempt that was made before.

        One that was given less time than an attempt has now, and did not end in it, says nothing.
        """
        patience_ns = self.timeout_s(collector) * 1e9
        made = self._outcomes.get(self.cell(collector, heap_mib).cell_id, [])
        records = [r for r in made if r["status"] != "timeout" or r["elapsed_ns"] >= patience_ns]
        if nth >= len(records):
            return None
        record = records[nth]
        if record["status"] == "ok":
            elapsed_s = record["elapsed_ns"] / 1e9
            self._quickest_s[collector] = min(elapsed_s, self._quickest_s.get(collector, elapsed_s))
        return record

    def timeout_s(self, collector: str) -> float:
        """How long an attempt may take: `SLOW_FACTOR` times the collector's own quickest completing one, once there is one."""
        quickest_s = self._quickest_s.get(collector)
        allowed_s = self.experiment.timeout_s
        return (
            allowed_s
            if quickest_s is None
            else min(allowed_s, max(LEAST_TIMEOUT_S, SLOW_FACTOR * quickest_s))
        )

    def known(self) -> int:
        """The minheap, from what is recorded.

        Raises:
            NotMeasured: an attempt is missing.
            HostError: no heap is enough.
        """

        def ask(collector: str, heap_mib: int, nth: int) -> Attempt:
            record = self.remembered(collector, heap_mib, nth)
            if record is None:
                raise NotMeasured
            return attempt_of(record)

        return self.search(ask)

    def search(self, ask: Any) -> int:
        """Run the search with the given source of attempts.

        Raises:
            HostError: no heap is enough.
        """
        where = f"minheap of {self.benchmark.label} on {self.runtime.name}"
        try:
            return search_minheap(
                ask, self.collectors, self.experiment.minheap_passes, largest_heap_mib(self.host)
            )
        except NoHeapIsEnough as error:
            raise HostError(
                where, f"to complete in {error.heap_mib} MiB", f"{error.outcome} under {error.collector}",
                f"see the last record in {self.path}, mend its cause, and remove the file to try again",
            ) from error  # fmt: skip


def attempt_of(record: dict[str, Any]) -> Attempt:
    """What an attempt's record says of its heap size."""
    status = record["status"]
    return "ok" if status in ("ok", "perturbed") else status


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
            attempts = Attempts(directory, experiment, host, benchmark, runtime)
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
    cells = [attempts.cell(collector, 1).cell_id for collector in attempts.collectors]
    key = digest_of([attempts.host.platform, attempts.experiment.minheap_passes, sorted(cells)])
    path = attempts.directory / "platforms" / f"{key}.json"
    try:
        kept = parse_object(path)
        # Whoever removes the attempts wants them made again.
        if (attempts.directory / kept["attempts"]).exists():
            return int(kept["heap_mib"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    heap_mib = search(attempts)
    named = str(attempts.path.relative_to(attempts.directory))
    write_object(path, {"heap_mib": heap_mib, "attempts": named})
    return heap_mib


def summary(minheaps: Mapping[tuple[str, str, str], int]) -> list[dict[str, Any]]:
    """As JSON; keys are platform, benchmark and runtime."""
    return [{"platform": p, "benchmark": b, "runtime": r, "heap_mib": m} for (p, b, r), m in minheaps.items()]

"""Predict the time of programs that work on files, with less memory or on another disk.

The time on a disk with a limit of memory is the measured time without a limit, plus the time of additional misses:

    T(memory, disk) = T(no limit, first disk) + sum of count(memory) x cost(disk) - sum of count(no limit) x cost(first disk)

Counts come from a trace and a simulated page cache, costs from measured primitives (configs/primitives/files.yml). Work outside
of files is part of the measured time, and is assumed to stay the same.

Source: the hybrid method of X. Zhang, Application-Specific Benchmarking, Harvard University 2001, section 3.1.3.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from regatta.answers.spine.cell_answers import cell_answers
from regatta.answers.spine.facts import read_facts
from regatta.answers.spine.methods import REGATTA
from regatta.answers.spine.result import CellAnswer
from regatta.answers.spine.samples import load_samples
from regatta.answers.spine.words import listed
from regatta.host.errors import SpecError
from regatta.host.values.benchmark_label import parts_of_label
from regatta.host.values.cell import NO_MODIFIERS
from regatta.models.page_cache.cache import DEFAULT_READ_AHEAD_KIB, PAGE_BYTES, CacheCounts, CacheSettings
from regatta.models.page_cache.limited import simulate_within
from regatta.models.page_cache.operations import Operations
from regatta.models.predict.measured_times import RequestedBenchmark, in_ns, measured_ratio
from regatta.models.predict.prediction import total
from regatta.models.vectors.measured import system_vectors
from regatta.models.vectors.primitives import PrimitiveTable
from regatta.models.vectors.sums import Sum, positive, ratio, uncertain
from regatta.models.vectors.values import ApplicationVector, Count, SystemVector, Value
from regatta.store.cells import planned_cells
from regatta.store.database import Progress, open_database
from regatta.store.folder import Folder

_MIB = 1 << 20
#: pages that the kernel's flusher writes at a time, at least (MIN_WRITEBACK_PAGES)
_FLUSHED_PAGES = 1024
#: without the cost of one of these, no time can be predicted
NEEDED = ("disk_read", "disk_ahead", "disk_write")
#: whose cost is used if it was measured on all disks of a host
USED = (*NEEDED, "file_read", "create", "unlink", "stat_cold", "open_cold")


@dataclass(frozen=True)
class FileTime:
    """The time of a program in one configuration, predicted and measured, in ns."""

    benchmark: str
    host: str
    #: of the disk: names of modifiers, or `none`
    disk: str
    #: None: no limit
    memory_mib: int | None
    counts: CacheCounts
    #: of the base, the measured time itself
    predicted: Value
    #: NaN with a reason: not measured
    measured: Value
    #: the configuration from whose measured time the others are predicted
    base: bool = False

    @property
    def error(self) -> float:
        """Return predicted / measured - 1; NaN for the base."""
        return math.nan if self.base else self.predicted.value / self.measured.value - 1.0


@dataclass(frozen=True)
class Order:
    """Two disks, with the ratio of the times of a program on them, a / b."""

    benchmark: str
    host: str
    disks: tuple[str, str]
    predicted: Value
    measured: Value

    @property
    def verdict(self) -> str:
        """Return `right`, `wrong`, `open` (the prediction cannot tell) or `same` (no difference was shown)."""
        signs = [_sign(one) for one in (self.measured, self.predicted)]
        if signs[0] == 0:
            return "same"
        return "open" if signs[1] == 0 else "right" if signs[0] == signs[1] else "wrong"


@dataclass(frozen=True)
class FileForecast:
    """All predictions of an experiment."""

    experiment: str
    times: tuple[FileTime, ...]
    orders: tuple[Order, ...]
    notes: tuple[str, ...] = ()


def counts_vector(name: str, counts: CacheCounts, known: Sequence[str]) -> ApplicationVector:
    """Return how often a program uses each primitive of files.

    Args:
        name: of the program.
        counts: of the simulated cache.
        known: primitives that have a cost.
    """
    # A page that was read ahead is copied when it is used; its cost includes that.
    hits = counts.read_hits - counts.read_ahead_used
    # The disk needs its latency for each window in the background too, and the program soon waits for the pages.
    reads = counts.waits + counts.background_windows
    writes = counts.writing_syncs + math.ceil(counts.pressed / _FLUSHED_PAGES)
    number: dict[str, tuple[float, float]] = {
        "disk_read": (reads, _each(counts.waited_pages, reads)),
        "disk_ahead": (counts.background_pages * PAGE_BYTES, 0.0),
        "disk_write": (writes, _each(counts.synced + counts.pressed, writes)),
        "file_read": (max(0, hits), PAGE_BYTES),
        "create": (counts.creates, 0.0),
        "unlink": (counts.unlinks, 0.0),
        "stat_cold": (counts.stats_cold, 0.0),
        "open_cold": (counts.opens_cold, 0.0),
    }
    found = tuple(
        Count(primitive, Value.exact(float(count)), {"bytes": float(size)} if size else {})
        for primitive, (count, size) in number.items()
        if count and primitive in known
    )
    return ApplicationVector(name, "run", found)


def simulated(operations: Operations, memory_bytes: int | None) -> CacheCounts:
    """Return what a program's operations do to an empty page cache of a limited size (None: no limit)."""
    told = operations.facts.read_ahead_kib
    ahead = told if told >= 0 else DEFAULT_READ_AHEAD_KIB
    settings = CacheSettings(None, read_ahead_pages=ahead * 1024 // PAGE_BYTES)
    return simulate_within(operations, memory_bytes, settings)


def waits_of(counts: CacheCounts, system: SystemVector) -> Sum:
    """Return the time that a program waits for the disk, in ns: its misses, minus the same reads of cached pages.

    Args:
        counts: of the simulated cache.
        system: with the costs of the primitives of files on the disk.

    Raises:
        SpecError: a cost is missing.
    """
    missing = [name for name in (*NEEDED, "file_read") if name not in system.primitives]
    if missing:
        fix = "measure lm/lat_uncached and lm/lat_file_io there"
        raise SpecError.of(system.name, f"costs of {', '.join(missing)}", "none", fix)
    pages = counts.read_misses + counts.read_ahead_used
    cached = (Count("file_read", Value.exact(float(pages)), {"bytes": float(PAGE_BYTES)}),)
    misses = counts_vector("misses", counts, NEEDED)
    return total(misses, system).minus(total(replace(misses, name="cached", counts=cached), system))


def _each(pages: int, times: int) -> float:
    return PAGE_BYTES * pages / times if times else 0.0


def forecast_files(
    experiment_dir: Path,
    traces: Mapping[str, Operations],
    table: PrimitiveTable,
    progress: Progress | None = None,
) -> FileForecast:
    """Predict the time of traced programs in all configurations of an experiment.

    Args:
        experiment_dir: `results/<experiment>`, measured: the programs, and the primitives of files on each disk.
        traces: benchmark (`files/tar`) -> its trace.
        table: of the primitives.
        progress: receives the progress of the database build.

    Raises:
        SpecError: a benchmark or a cost is missing.
        StoreError: the experiment cannot be read.
    """
    used = {name: table.primitives[name] for name in USED if name in table.primitives}
    vectors, told = system_vectors(experiment_dir, replace(table, primitives=used), progress=progress)
    facts = read_facts(experiment_dir)
    with open_database(experiment_dir, progress) as connection:
        answers = cell_answers(load_samples(connection, facts.steady), facts, REGATTA)
    places = _places(Folder(experiment_dir))
    costs = _costs(vectors, places, answers)
    times: list[FileTime] = []
    orders: list[Order] = []
    for benchmark, operations in traces.items():
        wanted = RequestedBenchmark.of(benchmark)
        elapsed = [one for one in answers if one.metric == "elapsed"]
        found = [one for one in elapsed if wanted.fits(parts_of_label(one.place.benchmark))]
        if not found:
            raise SpecError.of("APP", "a benchmark of the experiment with the metric elapsed", benchmark)
        labels = list(dict.fromkeys(one.place.benchmark for one in found))
        if len(labels) > 1:
            fix = "add its size or parameters: files/tar mib=64"
            raise SpecError.of("APP", "one benchmark", listed(labels), fix)
        for host in dict.fromkeys(one.place.host for one in found):
            program = _Program(benchmark, operations, costs, places)
            more, pairs = program.on([one for one in found if one.place.host == host])
            times += more
            orders += pairs
    # With less memory, the costs are those of the same disk without a limit.
    notes = tuple(sentence for sentence in told if ": no series of " not in sentence)
    return FileForecast(facts.name, tuple(times), tuple(orders), notes)


@dataclass(frozen=True)
class _Storage:
    """What the file operations of a cell use: `disk` is its environment and isolation without the limit of memory."""

    disk: str
    memory_mib: int | None


def _places(folder: Folder) -> dict[tuple[str, str], _Storage]:
    """Return (host, modifiers) -> storage."""
    found = {}
    for host in folder.planned_hosts():
        for cell in planned_cells(folder, host).values():
            isolation: dict[str, Any] = dict(cell.get("isolation") or {"kind": "cgroup"})
            memory = isolation.pop("memory_mib", None)
            disk = json.dumps([cell.get("environment") or {}, isolation], sort_keys=True)
            found[host, str(cell.get("modifiers"))] = _Storage(disk, memory)
    return found


def _costs(
    vectors: Sequence[SystemVector], places: Mapping[tuple[str, str], _Storage], answers: Sequence[CellAnswer]
) -> dict[tuple[str, str], SystemVector]:
    """Return (host, disk) -> its costs, those without a limit of memory first."""
    modifiers = {(one.place.host, one.place.configuration): one.place.modifiers for one in answers}
    found: dict[tuple[str, str], SystemVector] = {}
    limited: dict[tuple[str, str], SystemVector] = {}
    for vector in vectors:
        host = vector.provenance["host"]
        place = places[host, modifiers[host, vector.provenance["configuration"]]]
        (found if place.memory_mib is None else limited)[host, place.disk] = vector
    return {**limited, **found}


@dataclass(frozen=True)
class _Program:
    """A traced program."""

    benchmark: str
    operations: Operations
    costs: Mapping[tuple[str, str], SystemVector]
    places: Mapping[tuple[str, str], _Storage]

    def on(self, found: Sequence[CellAnswer]) -> tuple[list[FileTime], list[Order]]:
        """Return the predictions for the cells of a host, and the orders of its disks without a limit of memory."""
        base = next((one for one in found if one.place.modifiers == NO_MODIFIERS), None)
        reason = base.estimate.inconclusive if base else "not planned"
        if base is None or reason:
            raise SpecError.of(self.benchmark, "its time without modifiers", reason, "measure it again")
        host = base.place.host
        place = self.places[host, NO_MODIFIERS]
        if place.memory_mib is not None:
            got = f"{place.memory_mib} MiB"
            raise SpecError.of(self.benchmark, "no limit of memory without modifiers", got)
        names = {}
        for one in reversed(found):
            where = self.places[host, one.place.modifiers]
            if where.memory_mib is None:
                names[where.disk] = one.place.modifiers
        rest = uncertain(in_ns(base), ("measured", host)).minus(self._misses(host, place)[0])
        times, sums, unlimited = [], {}, {}
        for one in found:
            where = self.places[host, one.place.modifiers]
            disk = names.get(where.disk, one.place.modifiers)
            misses, counts = self._misses(host, where)
            predicted = rest.plus(misses)
            shown = in_ns(base) if one is base else positive(predicted.interval())
            told = FileTime(
                self.benchmark, host, disk, where.memory_mib, counts, shown, in_ns(one), one is base
            )
            times.append(told)
            if where.memory_mib is None:
                sums[disk], unlimited[disk] = predicted, one
        orders = []
        for a, b in combinations(sums, 2):
            measured = measured_ratio(unlimited[a], unlimited[b], base.estimate.level)
            orders.append(Order(self.benchmark, host, (a, b), ratio(sums[a], sums[b]), measured))
        return times, orders

    def _misses(self, host: str, place: _Storage) -> tuple[Sum, CacheCounts]:
        """Return the time of the primitives of files, and how often they are used."""
        system = self.costs.get((host, place.disk))
        missing = [name for name in NEEDED if system is None or name not in system.primitives]
        if system is None or missing:
            fix = "measure lm/lat_uncached there in the same experiment"
            raise SpecError.of(f"{host}: {place.disk}", f"costs of {', '.join(missing)}", "none", fix)
        counts = simulated(self.operations, None if place.memory_mib is None else place.memory_mib * _MIB)
        # A primitive that has no cost on one disk would count as free there.
        everywhere = set.intersection(
            *(set(one.primitives) for at, one in self.costs.items() if at[0] == host)
        )
        vector = counts_vector(self.benchmark, counts, [*NEEDED, *everywhere])
        return total(replace(vector, name=f"{self.benchmark} {place.memory_mib}"), system), counts


def _sign(one: Value) -> int:
    """Return whether a ratio is shown to be above (1) or below (-1) 1; 0: neither."""
    return int(one.low > 1.0) - int(one.high < 1.0)

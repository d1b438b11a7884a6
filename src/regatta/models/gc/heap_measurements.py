"""Measurements of one program over heap sizes: from a CSV file, or from the answer of an experiment."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from regatta.answers.compare.table import csv_lines
from regatta.answers.spine.parts import Place
from regatta.answers.spine.result import Answer, CellAnswer
from regatta.host.errors import Problem, SpecError
from regatta.host.values.experiment import Heap
from regatta.models.gc.heap_curve import HeapCurve, HeapPoint, fit_curve
from regatta.models.gc.heap_policy import can_stall

_MIB = float(1 << 20)
_NEEDED = ("heap_mib", "seconds")
#: optional columns: time in pauses; 99th percentile of the pauses of an invocation; minimum heap; longest
#: stall of an invocation
_PAUSED, _PAUSE, _MINHEAP, _STALL = "paused_seconds", "pause_p99_ms", "minheap_mib", "stall_max_ms"
_SHOWN = 5
_NS_PER_S, _NS_PER_MS = 1e9, 1e6
#: percentile of `gc_pause` that counts; with fewer than 100 pauses in an iteration, it is the longest
PERCENT, LONGEST = 99.0, 100.0


@dataclass(frozen=True)
class HeapMeasurements:
    """Measurements of one program.

    `place`: with the heaps and the collector left out; only a benchmark in a CSV file. `points`: collector ->
    measurements, ascending by heap. Their `pauses_ms` include stalls: of each invocation, the larger of the
    percentile of its pauses and its longest stall.
    """

    place: Place
    points: Mapping[str, tuple[HeapPoint, ...]]
    #: in bytes; NaN if unknown
    minheap_bytes: float = math.nan
    #: collector and heap in bytes -> mean of the longest stalls of the invocations, ms: 0 without a stall,
    #: NaN if an invocation may have stalled, but was not measured
    stalls_ms: Mapping[tuple[str, float], float] = field(default_factory=dict)

    def curves(self) -> dict[str, HeapCurve]:
        """Return the curve of each collector."""
        return {name: fit_curve(points, self.minheap_bytes) for name, points in self.points.items()}


@dataclass
class _Cell:
    seconds: list[float] = field(default_factory=list)
    paused: list[float] = field(default_factory=list)
    #: invocation -> ms
    pauses_ms: dict[object, float] = field(default_factory=dict)
    stalls_ms: dict[object, float] = field(default_factory=dict)

    def stall_ms(self, collector: str) -> float:
        """Return the mean of the longest stalls; NaN if one may be missing."""
        unknown = math.nan if can_stall(collector) else 0.0
        waits = [self.stalls_ms.get(each, unknown) for each in self.pauses_ms]
        return math.fsum(waits) / len(waits) if waits else unknown

    def point(self, heap_bytes: float) -> HeapPoint:
        share = sum(self.paused) / sum(self.seconds) if len(self.paused) == len(self.seconds) else math.nan
        return HeapPoint(
            heap_bytes,
            tuple(self.seconds),
            share if 0 <= share < 1 else math.nan,
            tuple(max(pause, self.stalls_ms.get(each, 0.0)) for each, pause in self.pauses_ms.items()),
        )


def read_heap_csv(path: Path, minheap_mib: float = math.nan) -> HeapMeasurements:
    """Read a CSV file with one row per invocation.

    Args:
        path: columns `collector`, `heap_mib`, `seconds`; optional `minheap_mib` (equal in all rows),
            `paused_seconds` (sum of the pauses), `pause_p99_ms` and `stall_max_ms` (the longest allocation
            stall; 0 without one). Other columns are ignored, and so are empty optional cells.
        minheap_mib: the minimum heap, instead of the one in the file; NaN if not given.

    Raises:
        SpecError: all problems: a missing file or column, a value that is not a positive number, no row,
            different minimum heaps, a heap below the minimum heap.
    """
    where = str(path)
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(csv_lines(file))
            header, needed = reader.fieldnames or [], ("collector", *_NEEDED)
            missing = [name for name in needed if name not in header]
            if missing:
                got = f"no {', '.join(missing)}"
                raise SpecError.of(where, f"columns {', '.join(needed)}", got, "add them")
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, ValueError, csv.Error) as error:
        raise SpecError.of(where, "a CSV file", str(error), "check the path") from error
    problems: list[Problem] = []
    cells: dict[str, dict[float, _Cell]] = defaultdict(lambda: defaultdict(_Cell))
    least: set[float] = set()
    for line, row in rows:
        collector = (row.get("collector") or "").strip()
        if not collector:
            problems.append(Problem(f"{where}:{line}:collector", "a name", "an empty cell"))
        numbers: dict[str, float] = {}
        for name in (*_NEEDED, _PAUSED, _PAUSE, _MINHEAP, _STALL):
            text = (row.get(name) or "").strip()
            if not text and name not in _NEEDED:
                continue
            numbers[name] = _number(text)
            zero_ok = name in (_PAUSED, _PAUSE, _STALL)
            if not numbers[name] >= 0 or (numbers[name] == 0 and not zero_ok):
                problems.append(Problem(f"{where}:{line}:{name}", "a positive number", repr(text)))
        if problems:
            continue
        cell = cells[collector][numbers["heap_mib"] * _MIB]
        cell.seconds.append(numbers["seconds"])
        if _PAUSED in numbers:
            cell.paused.append(numbers[_PAUSED])
        if _PAUSE in numbers:
            cell.pauses_ms[line] = numbers[_PAUSE]
        if _STALL in numbers:
            cell.stalls_ms[line] = numbers[_STALL]
        if _MINHEAP in numbers:
            least.add(numbers[_MINHEAP])
    if not rows:
        problems.append(Problem(where, "one row per invocation", "no row"))
    if math.isfinite(minheap_mib):
        least = {minheap_mib}
    if len(least) > 1:
        got, fix = f"{len(least)} different values", "use one file per program"
        problems.append(Problem(f"{where}:{_MINHEAP}", "one minimum heap", got, fix))
    if problems:
        raise SpecError(problems[:_SHOWN])
    place = Place("", "", path.stem, "", "", "", Heap())
    return _measurements(place, cells, next(iter(least), math.nan) * _MIB, where)


def _number(text: str) -> float:
    """Return a finite number; NaN for any other text."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def heaps_of_answer(
    answer: Answer, benchmark: str, minheap_mib: float = math.nan, runtime: str = ""
) -> HeapMeasurements:
    """Return the measurements of one benchmark of an experiment.

    Args:
        answer: of the experiment.
        benchmark: `SUITE/NAME` as in the answer, with or without its size.
        minheap_mib: the minimum heap, instead of the one that the heap factors imply; NaN if not given.
        runtime: which counts; "": the only one.

    Returns:
        One point per collector and heap, with `elapsed` (or another metric in ns) of each invocation, and
        pauses and stalls if measured.

    Raises:
        SpecError: no such benchmark; no heaps; several hosts, runtimes or modifiers, which the advice cannot
            mix.
    """
    names = sorted({cell.place.benchmark for cell in answer.cells})
    chosen = [name for name in names if name == benchmark] or [
        name for name in names if name.partition(":")[0] == benchmark or name.rpartition("/")[2] == benchmark
    ]
    where = f"{answer.experiment}: {benchmark}"
    if len(chosen) != 1:
        got, fix = f"{len(chosen)} that match", f"choose one of {', '.join(names) or 'none'}"
        raise SpecError.of(where, "one benchmark of the experiment", got, fix)
    found = [
        cell
        for cell in answer.cells
        if cell.place.benchmark == chosen[0] and cell.place.heap.mib and runtime in ("", cell.place.runtime)
    ]
    others = {(cell.place.host, cell.place.runtime, cell.place.modifiers) for cell in found}
    if len(others) != 1:
        expected = "cells with a heap on one host, with one runtime and one set of modifiers"
        fix = "add `--runtime NAME`, or use an experiment with one, or a CSV file"
        raise SpecError.of(where, expected, f"{len(others)} of them", fix)
    times = _time_cells(found)
    if not times:
        fix = "measure the benchmark first: `regatta run SPEC`"
        raise SpecError.of(where, "run times in nanoseconds", "none", fix)
    cells: dict[str, dict[float, _Cell]] = defaultdict(lambda: defaultdict(_Cell))
    for one in times:
        cell = cells[one.place.collector or "default"][float(one.place.heap.mib or 0) * _MIB]
        cell.seconds += [sample.value / _NS_PER_S for sample in one.samples if sample.value > 0]
    for one in found:
        cell = cells[one.place.collector or "default"][float(one.place.heap.mib or 0) * _MIB]
        if one.metric == "gc_time" and not one.parameters:
            cell.paused += [sample.value / _NS_PER_S for sample in one.samples]
        if one.metric == "gc_pause" and one.parameters == {"percentile": PERCENT}:
            cell.pauses_ms |= _by_invocation(one)
        elif one.metric == "gc_pause" and one.parameters == {"percentile": LONGEST}:
            cell.pauses_ms = _by_invocation(one) | cell.pauses_ms
        elif one.metric == "gc_stall" and one.parameters == {"percentile": LONGEST}:
            cell.stalls_ms |= _by_invocation(one)
        elif one.metric == "gc_stall_count" and not one.parameters:
            # Without a stall, there is no percentile.
            cell.stalls_ms = dict.fromkeys(_by_invocation(one), 0.0) | cell.stalls_ms
    # Heaps are whole MiB, so that their factors imply slightly different minimum heaps.
    heaps = (one.place.heap for one in times)
    implied = min((heap.mib / heap.factor for heap in heaps if heap.factor and heap.mib), default=math.nan)
    minheap = (minheap_mib if math.isfinite(minheap_mib) else implied) * _MIB
    place = replace(times[0].place, collector="", heap=Heap())
    return _measurements(place, cells, minheap, where)


def _by_invocation(cell: CellAnswer) -> dict[object, float]:
    """Return invocation -> milliseconds."""
    return {sample.invocation_id: sample.value / _NS_PER_MS for sample in cell.samples}


def _time_cells(cells: Iterable[CellAnswer]) -> list[CellAnswer]:
    """Return the cells of `elapsed`, or of the first metric in nanoseconds that is not of the collector."""
    timed = [
        cell
        for cell in cells
        if cell.unit == "ns" and not cell.parameters and cell.samples and not cell.metric.startswith("gc_")
    ]
    metrics = [cell.metric for cell in timed]
    wanted = "elapsed" if "elapsed" in metrics else next(iter(metrics), "")
    return [cell for cell in timed if cell.metric == wanted]


def _measurements(
    place: Place, cells: Mapping[str, Mapping[float, _Cell]], minheap_bytes: float, where: str
) -> HeapMeasurements:
    points = {}
    for collector, by_heap in cells.items():
        given = tuple(cell.point(heap) for heap, cell in sorted(by_heap.items()) if cell.seconds)
        if given:
            points[collector] = given
    if not points:
        raise SpecError.of(where, "run times", "none", "measure the benchmark first")
    least = min(given[0].heap_bytes for given in points.values())
    if least < minheap_bytes * (1 - 1e-9):
        expected = f"a minimum heap of at most {least / _MIB:g} MiB, the smallest measured heap"
        raise SpecError.of(where, expected, f"{minheap_bytes / _MIB:g} MiB", "correct the minimum heap")
    stalls = {
        (collector, heap): cell.stall_ms(collector)
        for collector, by_heap in cells.items()
        for heap, cell in by_heap.items()
    }
    return HeapMeasurements(place, points, minheap_bytes, stalls)

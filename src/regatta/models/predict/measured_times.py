"""Measured kernel, user and elapsed time per unit of work of applications on the systems of an experiment."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from regatta.answers.spine.cell_answers import cell_answers
from regatta.answers.spine.facts import fingerprint_of, read_facts
from regatta.answers.spine.methods import REGATTA
from regatta.answers.spine.parts import Place
from regatta.answers.spine.result import CellAnswer
from regatta.answers.spine.samples import load_samples
from regatta.answers.spine.words import listed
from regatta.host.units import UNITS
from regatta.host.values.benchmark_label import LabelParts, parts_of_label
from regatta.host.values.cell import NO_MODIFIERS
from regatta.models.vectors.measured import heap_name
from regatta.models.vectors.values import Measured, SystemVector, Value
from regatta.stats.ratios import welch_log_ratio
from regatta.store.database import Progress, open_database

#: quantity -> its metric, per unit of work; a vector can name another one of the elapsed time
METRICS: Mapping[str, str] = {
    "elapsed": "elapsed_per_request",
    "kernel": "kernel_time",
    "user": "user_time",
}
#: unit of work -> the metric of its elapsed time, where that is not the one above
_ELAPSED = {"iteration": "elapsed"}
#: parameters of a benchmark that serves a mix of requests
DYNAMIC, DYNAMIC_PERCENT = "dynamic", "dynamic_percent"
_STATIC, _MIX = "static", "-mix"
_NS = 1e-9


@dataclass(frozen=True)
class RequestedBenchmark:
    """A benchmark as named by an application vector: `suite/benchmark`, with choices where they matter."""

    suite: str
    name: str
    chosen: Mapping[str, str] = field(default_factory=dict)
    #: of a mix: the dynamic request; it may also be a part of the name
    dynamic: str = ""
    #: "": any measured size
    size: str = ""
    #: unit of work of the application
    per: str = ""
    #: of the elapsed time per unit of work; "": that of the unit
    metric: str = ""

    @classmethod
    def of(cls, benchmark: str, per: str = "", metric: str = "") -> RequestedBenchmark:
        """Parse `web/apache-static`, or `web/apache-cgi dynamic_percent=30`."""
        parts = parts_of_label(benchmark)
        return cls(parts.suite, parts.name, dict(parts.chosen), size=parts.size, per=per, metric=metric)

    @property
    def metrics(self) -> Mapping[str, str]:
        """Return quantity -> its metric, per unit of work."""
        return {**METRICS, "elapsed": self.metric or _ELAPSED.get(self.per, METRICS["elapsed"])}

    @classmethod
    def mix(cls, parts: Sequence[tuple[str, float]]) -> RequestedBenchmark | None:
        """Return the benchmark of a mix of `SUITE/SERVER-static` and `SUITE/SERVER-KIND`: (benchmark, weight).

        It is `SUITE/SERVER-KIND-mix dynamic_percent=N`; None for other mixes.
        """
        weights: dict[str, float] = {}
        suites, servers = set(), set()
        for benchmark, weight in parts:
            one = parts_of_label(benchmark)
            server, _, kind = one.name.rpartition("-")
            suites.add(one.suite)
            servers.add(server)
            weights[kind] = weights.get(kind, 0.0) + weight
        kinds = [kind for kind in weights if kind != _STATIC]
        if len(suites) != 1 or len(servers) != 1 or len(kinds) != 1 or not all(servers | suites):
            return None
        percent = 100.0 * weights[kinds[0]] / math.fsum(weights.values())
        return cls(suites.pop(), servers.pop(), {DYNAMIC_PERCENT: f"{round(percent, 6):g}"}, kinds[0])

    def fits(self, parts: LabelParts) -> bool:
        """Return whether a label matches, though it may contain additional choices (`adds`)."""
        if parts.suite != self.suite or not self.chosen.items() <= parts.chosen.items():
            return False
        if self.size not in ("", parts.size):
            return False
        if not self.dynamic:
            return parts.name == self.name
        name = parts.name.removesuffix(_MIX)
        server, _, kind = name.rpartition("-")
        return self.name in (name, server) and self.dynamic == parts.chosen.get(DYNAMIC, kind)

    def adds(self, parts: LabelParts) -> bool:
        """Return whether a matching label has additional choices, so that other work was measured."""
        told = {*self.chosen, DYNAMIC} if self.dynamic else {*self.chosen}
        return not parts.chosen.keys() <= told

    def __str__(self) -> str:
        chosen = {**({DYNAMIC: self.dynamic} if self.dynamic else {}), **self.chosen}
        name = f"{self.suite}/{self.name}{f':{self.size}' if self.size else ''}"
        return " ".join([name, *(f"{key}={value}" for key, value in chosen.items())])


@dataclass(frozen=True)
class MeasuredCell:
    """The series of one cell with the time per unit of work."""

    place: Place
    #: metric -> its series, times only
    series: Mapping[str, CellAnswer]
    #: quantity -> its metric, for the application's unit of work
    metrics: Mapping[str, str] = field(default_factory=lambda: METRICS)

    @property
    def parts(self) -> LabelParts:
        """Return the parts of its label."""
        return parts_of_label(self.place.benchmark)

    def is_on(self, system: SystemVector) -> bool:
        """Return whether the cell is of a system.

        Native programs need no runtime name; a vector without a heap fits any.
        """
        place, told = self.place, system.provenance
        names = {place.configuration, place.modifiers}
        if place.modifiers in ("", NO_MODIFIERS):
            names |= {"", NO_MODIFIERS}
        host, configuration, heap = (told.get(key, "") for key in ("host", "configuration", "heap"))
        return host == place.host and configuration in names and heap in ("", heap_name(place))

    def of(self, what: str) -> CellAnswer | None:
        """Return the series of a key of `METRICS`."""
        return self.series.get(self.metrics[what])

    def series_of(self, what: str) -> CellAnswer:
        """Return the series of a key that is known to exist."""
        return self.series[self.metrics[what]]

    def interval(self, what: str) -> Value:
        """Return the mean in ns."""
        cell = self.of(what)
        if cell is None:
            return Value(math.nan, reason=f"{self.place.benchmark} does not report {self.metrics[what]}")
        return in_ns(cell)

    def measured(self, system: str) -> Measured:
        """Return the measured times as the model uses them."""
        elapsed, kernel, user = map(self.interval, METRICS)
        return Measured(system, elapsed, kernel, user, "ns")


class MeasuredExperiment:
    """The measured times of one experiment."""

    def __init__(self, folder: Path, level: float, progress: Progress | None = None) -> None:
        """Read the records; `level`: of the intervals.

        Raises:
            StoreError: the folder holds no plan, or cannot be read or written.
        """
        facts = replace(read_facts(folder), level=level)
        with open_database(folder, progress) as connection:
            samples = load_samples(connection, facts.steady)
        self.name = facts.name
        self.folder = folder
        self._fingerprints = {host: fingerprint_of(known) for host, known in facts.hosts.items()}
        self._cells = _cells_of(cell_answers(samples, facts, REGATTA))

    def find(self, wanted: RequestedBenchmark, system: SystemVector) -> MeasuredCell | str:
        """Return the cell of a benchmark where a system vector was measured, or why it is missing."""
        of_benchmark = [one for one in self._cells if wanted.fits(one.parts)]
        if not of_benchmark:
            return f"{self.name} has no benchmark {wanted}"
        if not system.provenance.get("host"):
            return "the vector names no host"
        if reason := self._other_machine(system):
            return reason
        found = [one for one in of_benchmark if one.is_on(system)]
        if not found:
            keys = ("host", "configuration", "heap")
            there = " ".join(filter(None, (system.provenance.get(key) for key in keys)))
            with_heap = bool(system.provenance.get("heap"))
            told = sorted({_where(one.place, with_heap) for one in of_benchmark})
            return f"{self.name} has {wanted} on {listed(told)}, not on {there}"
        others, found = found, [one for one in found if not wanted.adds(one.parts)]
        if len(found) != 1:
            several = "several matches of " if found else ""
            only = "" if found else " only with other parameters"
            labels = listed([one.place.benchmark for one in found or others])
            return f"{self.name} has {several}{wanted}{only}: {labels}; select one with --benchmark"
        cell = replace(found[0], metrics=wanted.metrics)
        if wanted.metric and cell.of("elapsed") is None:
            return (
                f"{cell.place.benchmark} reports no time {wanted.metric}, but {listed(sorted(cell.series))}"
            )
        if not any(cell.of(what) for what in METRICS):
            names = listed(sorted(cell.series))
            fix = f"; name its metric in the vector (`metric`): {names}" if names else ""
            return f"{cell.place.benchmark} reports no time per {wanted.per or 'unit of work'}{fix}"
        return cell

    def times_of_suite(
        self, suite: str, system: SystemVector, without: RequestedBenchmark | None
    ) -> dict[str, Value]:
        """Return the elapsed times of a suite, `without` one benchmark, where a vector was measured, in ns."""
        if self._other_machine(system):
            return {}
        found = {}
        for cell in self._cells:
            parts, elapsed = cell.parts, cell.series.get("elapsed")
            if parts.suite != suite or elapsed is None or not cell.is_on(system):
                continue
            if without is None or not without.fits(parts):
                found[cell.place.benchmark] = in_ns(elapsed)
        return found

    def _other_machine(self, system: SystemVector) -> str:
        """Return why a vector that names one of the hosts belongs to another machine; "" without evidence."""
        host = system.provenance.get("host", "")
        facts = machine_difference(self._fingerprints.get(host, ""), system.provenance.get("fingerprint", ""))
        return f"{host} of {self.name} is not the machine of the vector: {facts}" if facts else ""


def machine_difference(ours: str, theirs: str) -> str:
    """Return what differs between the fingerprints of two machines; "" if nothing does, or one of them is unknown."""
    parts = [text.split("; ") for text in (ours, theirs)]
    here, there = ("; ".join(sorted({*one} - {*other})) for one, other in (parts, parts[::-1]))
    if not (ours and theirs and (here or there)):
        return ""
    return f"{here or 'fewer facts'}, not {there or 'only these'}"


def in_ns(cell: CellAnswer) -> Value:
    """Return the mean of a series of times in ns; NaN with the reason if it is undefined."""
    if cell.estimate.inconclusive:
        return Value(math.nan, reason=cell.estimate.inconclusive)
    return Value.of(cell.estimate).times(UNITS[cell.unit][1] / _NS)


def _where(place: Place, with_heap: bool) -> str:
    heap = heap_name(place) if with_heap else ""
    return " ".join(filter(None, (place.host, place.configuration, heap)))


def _cells_of(answers: Iterable[CellAnswer]) -> list[MeasuredCell]:
    cells: dict[tuple[str, str], tuple[Place, dict[str, CellAnswer]]] = {}
    for answer in answers:
        _, series = cells.setdefault((answer.place.host, answer.cell_id), (answer.place, {}))
        is_time = UNITS.get(answer.unit, ("", 1.0))[0] == "time"
        if is_time and not answer.estimate.inconclusive:
            series.setdefault(answer.metric, answer)
    return [MeasuredCell(place, series) for place, series in cells.values()]


def measured_ratio(a: CellAnswer, b: CellAnswer, level: float) -> Value:
    """Return the measured ratio a/b of two unpaired series, by Welch on logarithms."""
    first, second = ([sample.value * UNITS[one.unit][1] for sample in one.samples] for one in (a, b))
    return Value.of(welch_log_ratio(first, second, level).interval)

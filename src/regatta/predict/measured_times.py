"""What was measured of applications on the systems of an experiment: kernel, user and elapsed time of one unit of work."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from regatta.answers.cell_answers import cell_answers
from regatta.answers.facts import fingerprint_of, read_facts
from regatta.answers.methods import REGATTA
from regatta.answers.result import CellAnswer
from regatta.answers.samples import load_samples
from regatta.answers.words import listed
from regatta.host.units import UNITS
from regatta.host.values.benchmark_label import LabelParts, parts_of_label
from regatta.host.values.cell import NO_MODIFIERS, heap_text
from regatta.spec.vectors import Measured, SystemVector, Value
from regatta.stats.ratios import welch_log_ratio
from regatta.store.database import Progress, open_database

#: what is measured -> the metric that says it, of one unit of work
METRICS: Mapping[str, str] = {
    "elapsed": "elapsed_per_request",
    "kernel": "kernel_time",
    "user": "user_time",
}
#: parameters of a benchmark that serves a mix of requests
DYNAMIC, DYNAMIC_PERCENT = "dynamic", "dynamic_percent"
_STATIC, _MIX = "static", "-mix"
_NS = 1e-9


@dataclass(frozen=True)
class Wanted:
    """A benchmark as an application vector names it: `suite/benchmark`, with what was chosen where that matters."""

    suite: str
    name: str
    chosen: Mapping[str, str] = field(default_factory=dict)
    #: of a mix: what is dynamic may be a part of the name as well
    dynamic: str = ""
    #: "": whichever was measured
    size: str = ""

    @classmethod
    def of(cls, benchmark: str) -> Wanted:
        """Of `web/apache-static`, or `web/apache-cgi dynamic_percent=30`."""
        parts = parts_of_label(benchmark)
        return cls(parts.suite, parts.name, dict(parts.chosen), size=parts.size)

    @classmethod
    def mix(cls, parts: Sequence[tuple[str, float]]) -> Wanted | None:
        """Of a mix of `SUITE/SERVER-static` and `SUITE/SERVER-KIND`, as (benchmark, weight): `SUITE/SERVER-KIND-mix dynamic_percent=N`.

        None where it is no such mix.
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
        """Whether a label is of it, though more may be chosen there (`adds`)."""
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
        """Whether a label that fits chooses what is not wanted, so that other work was measured."""
        told = {*self.chosen, DYNAMIC} if self.dynamic else {*self.chosen}
        return not parts.chosen.keys() <= told

    def __str__(self) -> str:
        chosen = {**({DYNAMIC: self.dynamic} if self.dynamic else {}), **self.chosen}
        name = f"{self.suite}/{self.name}{f':{self.size}' if self.size else ''}"
        return " ".join([name, *(f"{key}={value}" for key, value in chosen.items())])


@dataclass(frozen=True)
class MeasuredCell:
    """The series of one cell that tell how long a unit of work takes."""

    benchmark: str
    host: str
    configuration: str
    modifiers: str
    #: as `heap_text` writes it
    heap: str
    #: metric -> its series, of times alone
    series: Mapping[str, CellAnswer]

    @property
    def parts(self) -> LabelParts:
        """Of its label."""
        return parts_of_label(self.benchmark)

    def is_on(self, host: str, configuration: str, heap: str = "") -> bool:
        """Whether it is of a system. The runtime of native programs needs no name; without `heap` any will do."""
        names = {self.configuration, self.modifiers}
        if self.modifiers in ("", NO_MODIFIERS):
            names |= {"", NO_MODIFIERS}
        return host == self.host and configuration in names and heap in ("", self.heap)

    def of(self, what: str) -> CellAnswer | None:
        """The series of a key of `METRICS`."""
        return self.series.get(METRICS[what])

    def series_of(self, what: str) -> CellAnswer:
        """The same where it is known to be there."""
        return self.series[METRICS[what]]

    def interval(self, what: str) -> Value:
        """The mean in ns."""
        cell = self.of(what)
        if cell is None:
            return Value(math.nan, reason=f"{self.benchmark} does not report {METRICS[what]}")
        factor = UNITS[cell.unit][1] / _NS
        one = cell.estimate
        return Value(one.point * factor, one.low * factor, one.high * factor, one.n, one.reason)

    def measured(self, system: str) -> Measured:
        """As the model has it."""
        return Measured(
            system, self.interval("elapsed"), self.interval("kernel"), self.interval("user"), "ns"
        )


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

    def find(self, wanted: Wanted, system: SystemVector) -> MeasuredCell | str:
        """The cell of a benchmark on the host and in the configuration of a system vector; else why there is none."""
        host, configuration, heap = (
            system.provenance.get(key, "") for key in ("host", "configuration", "heap")
        )
        of_benchmark = [one for one in self._cells if wanted.fits(one.parts)]
        if not of_benchmark:
            return f"{self.name} has no benchmark {wanted}"
        if not host:
            return "the vector does not say on which host it was measured"
        if reason := self._other_machine(host, system.provenance.get("fingerprint", "")):
            return reason
        found = [one for one in of_benchmark if one.is_on(host, configuration, heap)]
        if not found:
            told = sorted({_system(one.host, one.configuration, heap and one.heap) for one in of_benchmark})
            return f"{self.name} has {wanted} on {listed(told)}, not on {_system(host, configuration, heap)}"
        others, found = found, [one for one in found if not wanted.adds(one.parts)]
        if not found:
            labels = listed([one.benchmark for one in others])
            return f"{self.name} has {wanted} only with other parameters: {labels}; --benchmark chooses one"
        if len(found) > 1:
            labels = listed([one.benchmark for one in found])
            return f"{self.name} has several that fit {wanted}: {labels}; --benchmark chooses one"
        if not any(found[0].of(what) for what in METRICS):
            return f"{found[0].benchmark} has no value of {listed(list(METRICS.values()))}"
        return found[0]

    def _other_machine(self, host: str, fingerprint: str) -> str:
        """Why a vector of a host of that name is of another machine; "" where nothing says so."""
        ours, theirs = self._fingerprints.get(host, "").split("; "), fingerprint.split("; ")
        here, there = (
            "; ".join(sorted({*one} - {*other})) for one, other in ((ours, theirs), (theirs, ours))
        )
        if not (ours[0] and theirs[0] and (here or there)):
            return ""
        facts = f"{here or 'fewer facts'}, not {there or 'only that'}"
        return f"{host} of {self.name} is another machine than that of the vector: {facts}"


def _system(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _cells_of(answers: Iterable[CellAnswer]) -> list[MeasuredCell]:
    cells: dict[tuple[str, str], dict[str, CellAnswer]] = {}
    first: dict[tuple[str, str], CellAnswer] = {}
    for answer in answers:
        key = answer.place.host, answer.cell_id
        first.setdefault(key, answer)
        series = cells.setdefault(key, {})
        is_time = UNITS.get(answer.unit, ("", 1.0))[0] == "time"
        if is_time and not math.isnan(answer.estimate.point):
            series.setdefault(answer.metric, answer)
    return [
        MeasuredCell(
            one.place.benchmark,
            one.place.host,
            one.place.configuration,
            one.place.modifiers,
            heap_text(one.place.heap.factor, one.place.heap.mib),
            cells[key],
        )
        for key, one in first.items()
    ]


def measured_ratio(a: CellAnswer, b: CellAnswer, level: float) -> Value:
    """The measured ratio a/b of two series, by Welch on logs: nothing ties their invocations together."""
    first, second = ([sample.value * UNITS[one.unit][1] for sample in one.samples] for one in (a, b))
    found = welch_log_ratio(first, second, level).interval
    return Value(found.point, found.low, found.high, found.n, found.reason)

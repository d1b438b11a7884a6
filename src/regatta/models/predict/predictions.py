"""Compare predictions with measurements: applications on systems, by rank, ratio and time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from pathlib import Path

from regatta.host.errors import RegattaError, SpecError
from regatta.models.predict import what_if
from regatta.models.predict.accuracy import agreement, beyond, coverage, score_ratio, shared_processor
from regatta.models.predict.forecast import (
    NOTHING,
    ApplicationForecast,
    Change,
    Forecast,
    PairForecast,
    Saving,
    SpeedUp,
    SystemForecast,
)
from regatta.models.predict.measured_times import (
    MeasuredCell,
    MeasuredExperiment,
    RequestedBenchmark,
    measured_ratio,
)
from regatta.models.predict.mixing import Mix, as_mix, mixed, speedup
from regatta.models.predict.model_error import (
    ModelErrors,
    errors_of,
    time_with_model_error,
)
from regatta.models.predict.parts import without_parts
from regatta.models.predict.prediction import check_units, predict
from regatta.models.predict.ranking import Compared, Comparison, Ranking, compared, predicted_ratio, rank
from regatta.models.predict.times import (
    Quantity,
    TracedOn,
    brings_user_time,
    common_benchmarks,
    of_one_thread,
    overcounted,
    own_user_time,
    quantity,
    with_own_code,
)
from regatta.models.predict.words import sentences_of, warnings_of
from regatta.models.vectors.model_error import with_model_error
from regatta.models.vectors.sources import SystemSource
from regatta.models.vectors.sums import at_level, positive
from regatta.models.vectors.values import ApplicationVector, Measured, SystemVector, Value

#: compared quantities, the most important first
LEVELS = ("elapsed", "kernel", "user")
#: names of the configuration of an unmodified machine
BARE = ("", "none", "native")


@dataclass(frozen=True)
class RequestedApplication:
    """A requested application. `parts`: of a mix, with their weights."""

    vector: ApplicationVector
    parts: tuple[tuple[ApplicationVector, float], ...] = ()

    @property
    def mix(self) -> Mix:
        """Return its parts, or itself alone."""
        return self.parts or as_mix(self.vector)

    def wanted(self, benchmark: str) -> RequestedBenchmark | None:
        """Return the benchmark that measures it; None if unknown."""
        if benchmark:
            return RequestedBenchmark.of(benchmark, self.vector.per, self.vector.metric)
        if self.parts:
            return RequestedBenchmark.mix([(part.benchmark, weight) for part, weight in self.parts])
        named = self.vector.benchmark
        return RequestedBenchmark.of(named, self.vector.per, self.vector.metric) if named else None


@dataclass(frozen=True)
class Replaced:
    """A request to replace a part of an application."""

    before: RequestedApplication
    after: RequestedApplication

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """Return (old, new) of the parts that differ."""
        pairs = zip(self.before.mix, self.after.mix, strict=True)
        return tuple((old.name, new.name) for (old, _), (new, _) in pairs if old.name != new.name)


@dataclass(frozen=True)
class Request:
    """One request."""

    applications: tuple[RequestedApplication, ...]
    systems: tuple[SystemSource, ...]
    #: further experiments to search for measured times
    measured: tuple[Path, ...] = ()
    #: suite/benchmark that overrides those of the applications
    benchmark: str = ""
    #: primitive -> change of its cost
    changes: Mapping[str, what_if.Change] = field(default_factory=dict)
    #: primitive -> change of its count
    count_changes: Mapping[str, what_if.Change] = field(default_factory=dict)
    replaced: tuple[Replaced, ...] = ()
    optimise: bool = False
    level: float | None = None
    #: a suite whose geometric mean is a rival prediction of ratios; "": none
    score: str = ""
    #: a suite whose benchmarks scale the applications' own code, in place of `user_work`; "": none
    own_code: str = ""
    #: of speedups, the user time as a multiple of the kernel time before (u / s1); None: as measured
    user_over_kernel: float | None = None
    #: further systems on which applications may have been traced
    known: tuple[SystemVector, ...] = ()
    #: whether another heap or memory is asked for than that of the systems, in which nothing was measured
    elsewhere: bool = False

    @property
    def hypothetical(self) -> bool:
        """Return whether any cost, count, heap or memory is changed, so that no measurement is comparable."""
        return self.is_changed or self.elsewhere

    @property
    def is_changed(self) -> bool:
        """Return whether any cost or count is changed."""
        return bool(self.changes or self.count_changes)


def forecast_of(request: Request) -> Forecast:
    """Predict, and look up measurements.

    Args:
        request: at least one application and one system.

    Returns:
        each application on each system, compared with the measured times.

    Raises:
        StoreError: an experiment cannot be read.
        RegattaError: a cost needs an argument that the application lacks, or a change has an unknown name.
        SpecError: the suite of the score was measured on no system.
    """
    vectors = [*request.applications, *(one.after for one in request.replaced)]
    what_if.check_counted([one.vector for one in vectors], request.count_changes)
    level = request.level or request.systems[0].vector.level
    request = _at_level(request, level)
    return _Forecaster(request, level).forecast()


def _at_level(request: Request, level: float) -> Request:
    def asked(one: RequestedApplication) -> RequestedApplication:
        parts = tuple((of_one_thread(at_level(part, level)), weight) for part, weight in one.parts)
        # Each part has a different number of traces, which the mix loses.
        vector = mixed(one.vector.name, parts) if parts else of_one_thread(at_level(one.vector, level))
        return RequestedApplication(vector, parts)

    return replace(
        request,
        level=level,
        applications=tuple(map(asked, request.applications)),
        systems=_named_apart([replace(one, vector=at_level(one.vector, level)) for one in request.systems]),
        replaced=tuple(Replaced(asked(one.before), asked(one.after)) for one in request.replaced),
        known=tuple(at_level(one, level) for one in request.known),
    )


def _named_apart(systems: Sequence[SystemSource]) -> tuple[SystemSource, ...]:
    """Make the names of systems unique by an experiment prefix, or else a number suffix."""
    seen: dict[str, int] = {}
    found = []
    for one in systems:
        name = one.vector.name
        if name in seen and (experiment := one.vector.provenance.get("experiment")):
            name = f"{experiment}/{name}"
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            name = f"{name} ({seen[name]})"
        found.append(replace(one, vector=replace(one.vector, name=name)))
    return tuple(found)


@dataclass
class _Forecaster:
    """Processes one request."""

    request: Request
    level: float
    _experiments: dict[Path, MeasuredExperiment] = field(default_factory=dict)

    def forecast(self) -> Forecast:
        """Return the complete forecast."""
        applications = tuple(map(self._application, self.request.applications))
        speed_ups = tuple(
            self._speed_up(one, source) for one in self.request.replaced for source in self.request.systems
        )
        costs = (Change(name, one.text) for name, one in self.request.changes.items())
        counts = (Change(name, one.text, "count") for name, one in self.request.count_changes.items())
        found = Forecast(applications, self.level, (*costs, *counts), speed_ups)
        return replace(found, sentences=sentences_of(found), warnings=warnings_of(found))

    # One application

    def _application(self, asked: RequestedApplication) -> ApplicationForecast:
        application = what_if.recounted(asked.vector, self.request.count_changes)
        what: Quantity = "time" if application.user_time is None else "elapsed"
        traced = self._traced_on(application)
        cells = {source.vector.name: self._measured(asked, source) for source in self.request.systems}
        before = {source.vector.name: source.vector for source in self.request.systems}
        if self.request.own_code:
            before = with_own_code(before, self._times_of("--own-code", self.request.own_code, asked))
            traced = before.get(traced.name) if traced else None
        systems = {name: self._changed(vector) for name, vector in before.items()}
        # The user time includes costs of the unchanged systems, for any requested change.
        traced_on = {name: traced or vector for name, vector in before.items()}
        ranking = rank(application, list(systems.values()), what, traced_on)
        errors = errors_of(application, systems.values())
        # How far apart two systems are does not depend on collections or disks.
        traced_ns = quantity(without_parts(application), traced, what).value if traced else math.nan
        rows = tuple(
            self._system(application, systems[name], traced_on, cells[name], errors, traced_ns)
            for name in ranking.systems
        )
        held = None if self.request.hypothetical else self._held(application, systems, traced_on, cells)
        scores = self._times_of("--score", self.request.score, asked) if self.request.score else {}
        effects = {
            name: what_if.effect(
                asked.vector, vector, self.request.changes, traced_on, self.request.count_changes
            )
            for name, vector in (before.items() if self.request.is_changed else ())
        }
        return ApplicationForecast(
            application,
            rows,
            tuple(
                replace(pair, score=score_ratio(scores.get(pair.slower, {}), scores.get(pair.faster, {})))
                for pair in self._pairs(ranking, held, errors, self.level)
            ),
            ranking.groups,
            self._savings(application, systems, rows) if self.request.optimise else {},
            effects,
            held is not None and held.ranked_right,
            traced.name if traced else "",
            self._unscaled(application, before, traced),
            self.request.score,
            tuple(label.rpartition("/")[2] for label in common_benchmarks(scores.values())),
            overcounted(asked.vector, traced) if traced and asked.vector.user_time else 0.0,
            errors,
        )

    def _traced_on(self, application: ApplicationVector) -> SystemVector | None:
        """Return the system on which the application's user time was measured, if it is in the request or known.

        It is the same machine, by its fingerprint, in its plain configuration unless the application names
        another. A vector without a fingerprint may name a host of the request.
        """
        told = application.provenance
        names = {one.vector.name for one in self.request.systems}
        requested = self._traced_among(application, [one.vector for one in self.request.systems])
        if requested is not None or not told.get("fingerprint"):
            return requested
        known = self._traced_among(
            application, [one for one in self.request.known if self._measured_like(application, one)]
        )
        if known is not None and known.name in names:
            # Errors are identified by the name of a system.
            return replace(known, name=f"{known.name} (traced)")
        return known

    def _measured_like(self, application: ApplicationVector, known: SystemVector) -> bool:
        """Return whether a system that was not asked for has what the application's own time needs from it."""
        traced = replace(application, counts=application.traced_counts or application.counts)
        try:
            check_units([traced], [known, *(one.vector for one in self.request.systems)])
            return math.isfinite(quantity(traced, known, "user").value)
        except RegattaError:
            return False

    @staticmethod
    def _traced_among(application: ApplicationVector, systems: Sequence[SystemVector]) -> SystemVector | None:
        told = application.provenance
        key = "fingerprint" if told.get("fingerprint") else "host"
        configurations = {told["configuration"]} if told.get("configuration") else {*BARE}
        found = [
            one
            for one in systems
            if told.get(key)
            and one.provenance.get(key) == told[key]
            and one.provenance.get("configuration", "") in configurations
        ]
        heap = told.get("heap", "")
        alike = [vector for vector in found if vector.provenance.get("heap", "") == heap]
        if not alike and not heap and len({vector.provenance.get("heap", "") for vector in found}) == 1:
            # The application names no heap, and there is only one.
            alike = found
        return alike[0] if alike else None

    @staticmethod
    def _unscaled(
        application: ApplicationVector, systems: Mapping[str, SystemVector], traced: SystemVector | None
    ) -> tuple[str, ...]:
        if application.user_time is None or traced is None:
            return ()
        others = {name: system for name, system in systems.items() if name != traced.name}
        return tuple(name for name, system in others.items() if not brings_user_time(system, traced))

    def _system(
        self,
        application: ApplicationVector,
        system: SystemVector,
        traced_on: TracedOn,
        cell: MeasuredCell | str,
        errors: ModelErrors,
        traced_ns: float,
    ) -> SystemForecast:
        prediction = predict(application, system)
        what: Quantity = "time" if application.user_time is None else "elapsed"
        elapsed = user = prediction.time
        if application.user_time is None:
            user = prediction.user
        else:
            elapsed = positive(quantity(application, system, what, traced_on).interval())
            own = own_user_time(application, system, traced_on)
            user = positive(own.plus(quantity(application, system, "user")).interval())
        distant_ns = quantity(without_parts(application), system, what, traced_on).value
        elapsed, kernel, user = (
            time_with_model_error(part, errors, self.level, distant_ns, traced_ns)
            for part in (elapsed, prediction.kernel, user)
        )
        measured = None
        if isinstance(cell, MeasuredCell) and not self.request.hypothetical:
            # The measurement is of the unchanged system and application.
            measured = cell.measured(system.name)
        ratios, covered, warning = {}, "", ""
        if measured is not None:
            # Measured kernel and user times are processor time only.
            predicted, explained = {"elapsed": elapsed, "kernel": kernel, "user": user}, prediction.kernel
            if reason := shared_processor(system):
                explained = Value(math.nan, reason=reason)
                predicted |= {"kernel": explained, "user": explained}
            ratios = _ratios(predicted, measured, application)
            covered, warning = coverage(explained, measured.kernel)
        unmeasured = cell if isinstance(cell, str) else ""
        predictions = (system.name, system.provenance, prediction, elapsed, kernel, user)
        used = beyond(application, system)
        return SystemForecast(*predictions, measured, unmeasured, ratios, covered, warning, used)

    def _held(
        self,
        application: ApplicationVector,
        systems: Mapping[str, SystemVector],
        traced_on: TracedOn,
        cells: Mapping[str, MeasuredCell | str],
    ) -> Comparison | None:
        """Compare the predictions with measurements; None with measurements of fewer than two systems."""
        known = {name: cell for name, cell in cells.items() if isinstance(cell, MeasuredCell)}
        what: Compared = "kernel"
        if application.user_time is not None and all(cell.of("elapsed") for cell in known.values()):
            what = "elapsed"
        if what == "kernel":
            known = {name: cell for name, cell in known.items() if not shared_processor(systems[name])}
        known = {name: cell for name, cell in known.items() if cell.of(what)}
        if len(known) < 2:
            return None
        series = {name: cell.series_of(what) for name, cell in known.items()}
        ratios = {(a, b): measured_ratio(series[a], series[b], self.level) for a, b in permutations(known, 2)}
        differ = {
            frozenset(pair): found.low > 1.0 or found.high < 1.0
            for pair, found in ratios.items()
            if math.isfinite(found.low)
        }
        measured = {name: cell.interval(what) for name, cell in known.items()}
        vectors = [systems[name] for name in known]
        return replace(compared(application, vectors, measured, what, differ, traced_on), ratios=ratios)

    @staticmethod
    def _pairs(
        ranking: Ranking, held: Comparison | None, errors: ModelErrors, level: float
    ) -> Iterable[PairForecast]:
        for pair in ranking.pairs:
            verdict = held.verdicts.get(frozenset((pair.faster, pair.slower))) if held else None
            if verdict is None or held is None:
                yield pair
                continue
            measured = held.ratios[pair.slower, pair.faster]
            like = predicted_ratio(held.times[pair.slower], held.times[pair.faster], errors, level)
            yield replace(pair, measured=measured, verdict=verdict, compared=like, quantity=held.quantity)

    # Measured times

    def _measured(self, asked: RequestedApplication, source: SystemSource) -> MeasuredCell | str:
        wanted = asked.wanted(self.request.benchmark)
        if not self.request.measured and source.experiment is None:
            return ""
        if wanted is None:
            if asked.parts:
                return "the benchmark of this mix is unknown; select one with --benchmark SUITE/NAME"
            return f"{asked.vector.name} names no benchmark; select one with --benchmark SUITE/NAME"
        reasons = []
        for experiment in self._searched(source):
            found = experiment.find(wanted, source.vector)
            if isinstance(found, MeasuredCell):
                return found
            reasons.append(found)
        return "; ".join(reasons)

    def _searched(self, source: SystemSource) -> Iterator[MeasuredExperiment]:
        """Yield the experiments with measured times of a system."""
        folders = [*self.request.measured, *([source.experiment] if source.experiment is not None else [])]
        for folder in dict.fromkeys(path.resolve() for path in folders):
            if folder not in self._experiments:
                self._experiments[folder] = MeasuredExperiment(folder, self.level)
            yield self._experiments[folder]

    def _times_of(self, option: str, suite: str, asked: RequestedApplication) -> dict[str, dict[str, Value]]:
        """Return the times of a suite's benchmarks by system, without that of the application itself.

        Each system's are of the first experiment that has them.
        """
        without = asked.wanted(self.request.benchmark)
        found: dict[str, dict[str, Value]] = {}
        for source in self.request.systems:
            times = (one.times_of_suite(suite, source.vector, without) for one in self._searched(source))
            found[source.vector.name] = next(filter(None, times), {})
        if not common_benchmarks(found.values()):
            expected = "a suite that was measured on these systems"
            raise SpecError.of(option, expected, suite, "name one of their experiment")
        return found

    # Changes, savings, replacements

    def _changed(self, system: SystemVector) -> SystemVector:
        return what_if.changed(system, self.request.changes, system.name) if self.request.changes else system

    def _recounted(self, asked: RequestedApplication) -> Mix:
        """Return the parts with changed counts; a number for a mix is the count in its mean unit of work."""
        changes = self.request.count_changes
        if asked.parts:
            changes = what_if.as_factors(asked.vector, changes)
        return [(what_if.recounted(part, changes), weight) for part, weight in asked.mix]

    @staticmethod
    def _savings(
        application: ApplicationVector, systems: Mapping[str, SystemVector], rows: Sequence[SystemForecast]
    ) -> dict[str, tuple[Saving, ...]]:
        whole = {row.system: row.elapsed.value for row in rows}
        found = {}
        for name, system in systems.items():
            if whole[name] > 0:
                others = [one for one in systems.values() if one is not system]
                found[name] = what_if.optimise(application, system, whole[name], others)
        return found

    def _speed_up(self, one: Replaced, source: SystemSource) -> SpeedUp:
        before, after = self._measured(one.before, source), self._measured(one.after, source)
        system = self._changed(source.vector)
        user = None
        if isinstance(before, MeasuredCell) and before.of("user") is not None:
            # Of the workload as measured there, which is better than the mean of its parts from their traces.
            user = before.interval("user")
        shared = shared_processor(system)
        if shared:
            user = Value(math.nan, reason=shared)

        def traced(application: ApplicationVector) -> SystemVector:
            # The user time includes costs of the unchanged systems, for any requested change.
            return self._traced_on(application) or source.vector

        mixes = (self._recounted(one.before), self._recounted(one.after))
        found = speedup(*mixes, system, user, traced, None if shared else self.request.user_over_kernel)
        measured, reason = NOTHING, ""
        if isinstance(before, str) or isinstance(after, str):
            reasons = (cell for cell in (before, after) if isinstance(cell, str) and cell)
            reason = "; ".join(dict.fromkeys(reasons))
        elif not self.request.hypothetical:
            if before.of("elapsed") and after.of("elapsed"):
                measured = measured_ratio(before.series_of("elapsed"), after.series_of("elapsed"), self.level)
            else:
                reason = "elapsed times of both are not available"
        names = (system.name, one.before.vector.name, one.after.vector.name, one.names)
        ratios = (found.kernel, found.user_stays, found.own_user)
        both = (errors_of(each.vector, [system]).speedups for each in (one.before, one.after))
        own = max(both, key=lambda error: error.half_width(0.0, self.level))
        kernel, with_user, own_user = (with_model_error(each, own, self.level) for each in ratios)
        return SpeedUp(*names, kernel, with_user, own_user, found.user, measured, reason)


def _ratios(
    predicted: Mapping[str, Value], measured: Measured, application: ApplicationVector
) -> dict[str, Value]:
    """Return predicted divided by measured, where both exist; without a user time only for the kernel."""
    found = {}
    for what in LEVELS if application.user_time is not None else ("kernel",):
        real: Value = getattr(measured, what)
        if math.isfinite(real.value) and real.value > 0 and math.isfinite(predicted[what].value):
            found[what] = agreement(predicted[what], real)
    return found

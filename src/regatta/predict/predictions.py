"""Predictions beside what was measured: applications on systems, at the three levels of rank, ratio and time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from pathlib import Path
from typing import Literal

from regatta.predict import what_if
from regatta.predict.compared import Comparison, compared
from regatta.predict.coverage import coverage, shared_processor
from regatta.predict.forecast import (
    NOTHING,
    ApplicationForecast,
    Effect,
    Forecast,
    PairForecast,
    Saving,
    SpeedUp,
    SystemForecast,
)
from regatta.predict.measured_times import MeasuredCell, MeasuredExperiment, measured_ratio
from regatta.predict.mixing import mixed
from regatta.predict.optimise import optimise
from regatta.predict.prediction import predict
from regatta.predict.prediction_request import Asked, Replaced, Request
from regatta.predict.ranges import beyond
from regatta.predict.ranking import Ranking, rank
from regatta.predict.speedup import speedup
from regatta.predict.sums import positive, ratio, uncertain
from regatta.predict.times import Quantity, TracedOn, brings_user_time, own_user_time, quantity
from regatta.predict.vector_levels import at_level
from regatta.predict.vector_sources import SystemSource
from regatta.predict.what_if import changed, effect, parse_change
from regatta.predict.words import sentences_of, warnings_of
from regatta.spec.vectors import ApplicationVector, Measured, SystemVector, Value

#: what is compared, what matters most first
LEVELS = ("elapsed", "kernel", "user")
#: names of the configuration of a machine as it is
_BARE = ("", "none", "native")


def forecast_of(request: Request) -> Forecast:
    """Predict, and look up what was measured.

    Args:
        request: at least one application and one system.

    Returns:
        each application on each system, with what the measured times say of it.

    Raises:
        StoreError: an experiment cannot be read.
        RegattaError: a cost needs an argument that the application does not give, or a change names what is not there.
    """
    level = request.level or request.systems[0].vector.level
    request = _at_level(request, level)
    return _Forecaster(request, level).forecast()


def _at_level(request: Request, level: float) -> Request:
    def asked(one: Asked) -> Asked:
        parts = tuple((at_level(part, level), weight) for part, weight in one.parts)
        # Each part has its own number of traces, which the mix has not.
        return Asked(mixed(one.vector.name, parts) if parts else at_level(one.vector, level), parts)

    return replace(
        request,
        level=level,
        applications=tuple(map(asked, request.applications)),
        systems=_named_apart([replace(one, vector=at_level(one.vector, level)) for one in request.systems]),
        replaced=tuple(Replaced(asked(one.before), asked(one.after)) for one in request.replaced),
    )


def _named_apart(systems: Sequence[SystemSource]) -> tuple[SystemSource, ...]:
    """Systems of one name get their experiment before it, or else a number behind it."""
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


@dataclass(frozen=True)
class _Held:
    """Predictions held against what was measured. `ratios`: of the measured times of two systems, which say whether they differ."""

    comparison: Comparison
    ratios: Mapping[tuple[str, str], Value]


@dataclass
class _Forecaster:
    """Works on one request."""

    request: Request
    level: float
    _experiments: dict[Path, MeasuredExperiment] = field(default_factory=dict)

    def forecast(self) -> Forecast:
        """All of it."""
        applications = tuple(map(self._application, self.request.applications))
        speed_ups = tuple(
            self._speed_up(one, source) for one in self.request.replaced for source in self.request.systems
        )
        found = Forecast(applications, self.level, self.request.changes, speed_ups)
        return replace(found, sentences=sentences_of(found), warnings=warnings_of(found))

    # One application

    def _application(self, asked: Asked) -> ApplicationForecast:
        application = asked.vector
        what: Quantity = "time" if application.user_time is None else "elapsed"
        traced = self._traced_on(application)
        cells = {source.vector.name: self._measured(asked, source) for source in self.request.systems}
        before = {source.vector.name: source.vector for source in self.request.systems}
        systems = {name: self._changed(vector) for name, vector in before.items()}
        # What the user time has in it is of systems as they are, whatever is asked for.
        traced_on = {name: traced or vector for name, vector in before.items()}
        ranking = rank(application, list(systems.values()), "", what, traced_on)
        rows = tuple(
            self._system(application, systems[row.system], traced_on, cells[row.system])
            for row in ranking.rows
        )
        held = None if self.request.changes else self._held(application, systems, traced_on, cells)
        return ApplicationForecast(
            application,
            rows,
            tuple(self._pairs(application, systems, ranking, traced_on, held)),
            ranking.groups,
            self._savings(application, systems, rows) if self.request.optimise else {},
            self._effects(application, before, traced_on) if self.request.changes else {},
            held is not None and held.comparison.ranked_right,
            traced.name if traced else "",
            self._unscaled(application, before, traced),
        )

    def _traced_on(self, application: ApplicationVector) -> SystemVector | None:
        """The system on which the application's user time was measured, where it is one of those that are asked for.

        The same machine, by its fingerprint, in its plain configuration unless the application names another; a vector that
        tells no fingerprint may name a host.
        """
        told = application.provenance
        key = "fingerprint" if told.get("fingerprint") else "host"
        configurations = {told["configuration"]} if told.get("configuration") else {*_BARE}
        return next(
            (
                one.vector
                for one in self.request.systems
                if told.get(key)
                and one.vector.provenance.get(key) == told[key]
                and one.vector.provenance.get("configuration", "") in configurations
                and one.vector.provenance.get("heap", "") == told.get("heap", "")
            ),
            None,
        )

    @staticmethod
    def _unscaled(
        application: ApplicationVector, systems: Mapping[str, SystemVector], traced: SystemVector | None
    ) -> tuple[str, ...]:
        if application.user_time is None or traced is None:
            return ()
        return tuple(
            name
            for name, system in systems.items()
            if name != traced.name and not brings_user_time(system, traced)
        )

    def _system(
        self,
        application: ApplicationVector,
        system: SystemVector,
        traced_on: TracedOn,
        cell: MeasuredCell | str,
    ) -> SystemForecast:
        prediction = predict(application, system)
        elapsed = user = prediction.time
        if application.user_time is None:
            user = prediction.user
        else:
            elapsed = positive(quantity(application, system, "elapsed", traced_on).interval())
            own = own_user_time(application, system, traced_on)
            user = positive(own.plus(quantity(application, system, "user")).interval())
        measured = None
        if isinstance(cell, MeasuredCell) and not self.request.changes:
            # What was measured is of the system as it is.
            measured = cell.measured(system.name)
        ratios, covered = {}, None
        if measured is not None:
            # What was measured of kernel and user is the processor's time alone.
            unlike = Value(math.nan, reason=shared_processor(system))
            kernel = unlike if unlike.reason else prediction.kernel
            predicted = {"elapsed": elapsed, "kernel": kernel, "user": unlike if unlike.reason else user}
            ratios = _ratios(predicted, measured, application)
            covered = coverage(kernel, measured.kernel)
        return SystemForecast(
            system.name, system.provenance, prediction, elapsed, user, measured,
            cell if isinstance(cell, str) else "", ratios,
            covered.words if covered else "", covered.warning if covered else "", beyond(application, system),
        )  # fmt: skip

    def _held(
        self,
        application: ApplicationVector,
        systems: Mapping[str, SystemVector],
        traced_on: TracedOn,
        cells: Mapping[str, MeasuredCell | str],
    ) -> _Held | None:
        """The predictions held against what was measured; None where that is of fewer than two systems."""
        known = {name: cell for name, cell in cells.items() if isinstance(cell, MeasuredCell)}
        what: Literal["kernel", "elapsed"] = "kernel"
        if application.user_time is not None and all(cell.of("elapsed") for cell in known.values()):
            what = "elapsed"
        if what == "kernel":
            known = {name: cell for name, cell in known.items() if not shared_processor(systems[name])}
        known = {name: cell for name, cell in known.items() if cell.of(what)}
        if len(known) < 2:
            return None
        ratios = {}
        for a, b in permutations(known, 2):
            ratios[a, b] = measured_ratio(known[a].series_of(what), known[b].series_of(what), self.level)
        differ = {
            frozenset(pair): found.low > 1.0 or found.high < 1.0
            for pair, found in ratios.items()
            if math.isfinite(found.low)
        }
        measured = [cell.measured(name) for name, cell in known.items()]
        vectors = [systems[name] for name in known]
        return _Held(compared(application, vectors, measured, what, differ, traced_on), ratios)

    def _pairs(
        self,
        application: ApplicationVector,
        systems: Mapping[str, SystemVector],
        ranking: Ranking,
        traced_on: TracedOn,
        held: _Held | None,
    ) -> Iterable[PairForecast]:
        sums = {
            name: quantity(application, one, ranking.quantity, traced_on) for name, one in systems.items()
        }
        what = held.comparison.quantity if held else ranking.quantity
        alike = {name: quantity(application, one, what, traced_on) for name, one in systems.items()}
        judged = (
            {frozenset((pair.first, pair.second)): pair for pair in held.comparison.pairs} if held else {}
        )
        for pair in ranking.pairs:
            found = ratio(sums[pair.second], sums[pair.first])
            real = judged.get(frozenset((pair.first, pair.second)))
            if real is None or held is None:
                yield PairForecast(pair.first, pair.second, found, pair.told_apart)
                continue
            measured = held.ratios[pair.second, pair.first]
            like = ratio(alike[pair.second], alike[pair.first])
            yield PairForecast(
                pair.first, pair.second, found, pair.told_apart, measured, real.verdict, like, what
            )

    # Measured times

    def _measured(self, asked: Asked, source: SystemSource) -> MeasuredCell | str:
        wanted = asked.wanted(self.request.benchmark)
        folders = [*self.request.measured, *([source.experiment] if source.experiment is not None else [])]
        if not folders:
            return ""
        if wanted is None:
            if asked.parts:
                return "no benchmark is known of this mix: name it by --benchmark SUITE/NAME"
            return f"{asked.vector.name} does not say of which benchmark it is: name it by --benchmark SUITE/NAME"
        reasons = []
        for folder in dict.fromkeys(path.resolve() for path in folders):
            if folder not in self._experiments:
                self._experiments[folder] = MeasuredExperiment(folder, self.level)
            found = self._experiments[folder].find(wanted, source.vector)
            if isinstance(found, MeasuredCell):
                return found
            reasons.append(found)
        return "; ".join(reasons)

    # Changes, savings, replacements

    def _changed(self, system: SystemVector) -> SystemVector:
        return changed(system, self._changes(), system.name) if self.request.changes else system

    def _changes(self) -> dict[str, what_if.Change]:
        where = "--what-if"
        return {
            one.primitive: parse_change(one.text, f"{where} {one.primitive}") for one in self.request.changes
        }

    def _effects(
        self,
        application: ApplicationVector,
        systems: Mapping[str, SystemVector],
        traced_on: TracedOn,
    ) -> dict[str, Effect]:
        found = {}
        for name, system in systems.items():
            one = effect(application, system, self._changes(), traced_on)
            whole = self._system(application, system, traced_on, "").elapsed.value
            share = one.saved.value / whole if whole else math.nan
            found[name] = Effect(one.before, one.after, one.saved, share, one.unused)
        return found

    def _savings(
        self,
        application: ApplicationVector,
        systems: Mapping[str, SystemVector],
        rows: Sequence[SystemForecast],
    ) -> dict[str, tuple[Saving, ...]]:
        whole = {row.system: row.elapsed.value for row in rows}
        return {
            name: tuple(
                Saving(
                    one.primitive, one.time, one.time.value / whole[name],
                    one.best, one.as_best if one.best else NOTHING, one.as_best.value / whole[name] if one.best else math.nan,
                )
                for one in optimise(application, system, [other for other in systems.values() if other is not system])
            )
            for name, system in systems.items()
            if whole[name] > 0
        }  # fmt: skip

    def _speed_up(self, one: Replaced, source: SystemSource) -> SpeedUp:
        before, after = self._measured(one.before, source), self._measured(one.after, source)
        system = self._changed(source.vector)
        user = None
        if isinstance(before, MeasuredCell) and before.of("user") is not None:
            # Of the workload as it runs there, which is better than the mean of its parts where they were traced.
            user = before.interval("user")
        shared = shared_processor(system)
        if shared:
            user = Value(math.nan, reason=shared)

        def traced(application: ApplicationVector) -> SystemVector:
            # What the user time has in it is of systems as they are, whatever is asked for.
            return self._traced_on(application) or source.vector

        found = speedup(one.before.mix, one.after.mix, system, user, traced)
        measured, reason = NOTHING, ""
        if isinstance(before, str) or isinstance(after, str):
            reason = "; ".join(
                dict.fromkeys(cell for cell in (before, after) if isinstance(cell, str) and cell)
            )
        elif not self.request.changes:
            if before.of("elapsed") and after.of("elapsed"):
                measured = measured_ratio(before.series_of("elapsed"), after.series_of("elapsed"), self.level)
            else:
                reason = "elapsed times were not measured of both"
        return SpeedUp(
            system.name, one.before.vector.name, one.after.vector.name, one.names,
            found.kernel, found.user_stays, found.own_user, found.user, measured, reason,
        )  # fmt: skip


def _ratios(
    predicted: Mapping[str, Value], measured: Measured, application: ApplicationVector
) -> dict[str, Value]:
    """Predicted over measured, where both are; without a measured time in user mode nothing but the kernel's compares."""
    found = {}
    for what in LEVELS if application.user_time is not None else ("kernel",):
        real: Value = getattr(measured, what)
        if math.isfinite(real.value) and real.value > 0 and math.isfinite(predicted[what].value):
            found[what] = ratio(uncertain(predicted[what], "predicted"), uncertain(real, "measured"))
    return found

"""Compute what a transaction costs in traced cells, as means over invocations, and what tracing costs.

Source: Horikawa, A Framework for Performance Evaluation Based on Event Tracing (2000), tables 2 and 4 to 7.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from regatta.answers.spine.comparisons import contrasts_of
from regatta.answers.spine.context import Context
from regatta.answers.spine.kept_files import runs_with
from regatta.answers.spine.pairs import Pair
from regatta.answers.spine.samples import PlannedCell, Samples, Series
from regatta.answers.spine.stops import Stops
from regatta.host.units import is_positive
from regatta.host.values.benchmark_label import benchmark_label, parts_of_label
from regatta.host.values.cell import NO_MODIFIERS
from regatta.host.values.events import METRIC_PREFIX, TRACE_FILE
from regatta.host.values.experiment import Scalar
from regatta.models.kernel_traces.demands import DEMAND, Demands, predict_throughput, throughput_bound
from regatta.models.kernel_traces.model import CAUSES, KERNEL_LOCKS
from regatta.models.kernel_traces.record_measures import UNREADABLE
from regatta.models.kernel_traces.topic.result import (
    NO_PHASE,
    TIMES,
    ObjectUse,
    Phase,
    Prediction,
    TracedCell,
    Tracing,
)
from regatta.stats.estimate import Interval, undefined
from regatta.stats.intervals import mean_interval

_COUNT, _RESPONSE = "event_transactions", "event_response"
_THROUGHPUT = "throughput"
NO_TRANSACTION = "no transaction finished in the window"
NOT_REPORTED = "the kernel reports only waits for its locks"
NO_PARTNER = "no untraced cell in the same place"
#: the other causes are in `rest`
_OWN_CAUSE = {"network": "network", "disk": "disk", "lock": "lock", "others": "process"}

#: parameters of benchmarks that are numbers of clients in a closed loop
_CLIENTS = ("connections", "clients")

_Parameters = tuple[tuple[str, Scalar], ...]


@dataclass
class _Run:
    """Metric -> parameters -> value of one invocation. What did not occur is not in the record."""

    values: dict[str, dict[_Parameters, float]] = field(default_factory=lambda: defaultdict(dict))

    def total(self, metric: str, **given: Scalar) -> float:
        """Return the sum over all rows of a metric whose parameters include the given ones; 0 without any."""
        return math.fsum(
            value
            for parameters, value in self.values.get(metric, {}).items()
            if given.items() <= dict(parameters).items()
        )

    def seen(self, metric: str, name: str) -> list[Scalar]:
        """Return the values of a parameter of a metric."""
        return [
            dict(parameters)[name] for parameters in self.values.get(metric, {}) if name in dict(parameters)
        ]


def trace_costs(context: Context) -> Tracing:
    """Return the costs of each traced cell: the cells with measurements of events."""
    runs = {cell.number: _runs(context.samples, cell) for cell in context.samples.cells}
    traced = [cell for cell in context.samples.cells if _is_traced(context.samples, cell)]
    names = _names(traced, context)
    cells = tuple(
        _Cell(context, cell, list(runs[cell.number].values()), traced).result(name)
        for cell, name in zip(traced, names, strict=True)
    )
    return Tracing(
        cells,
        predictions(cells),
        context.folder.path / "charts" if traced else None,
    )


def _is_traced(samples: Samples, cell: PlannedCell) -> bool:
    return any(one.metric.startswith(METRIC_PREFIX) for one in samples.series.get(cell.number, ()))


def _runs(samples: Samples, cell: PlannedCell) -> dict[str, _Run]:
    found: dict[str, _Run] = {}
    for series in samples.series.get(cell.number, ()):
        if series.metric.startswith(METRIC_PREFIX) and series.metric != UNREADABLE:
            parameters = tuple(sorted(series.parameters.items()))
            for sample in series.samples:
                run = found.setdefault(sample.invocation_id, _Run())
                run.values[series.metric][parameters] = sample.value
    return found


def _names(cells: Sequence[PlannedCell], context: Context) -> list[str]:
    """Return benchmarks and parameters that differ, else names of benchmarks, with the place where needed."""
    parts = [parts_of_label(cell.place.benchmark) for cell in cells]
    several = len({(one.suite, one.name, one.size) for one in parts}) > 1
    keys = [key for key in dict.fromkeys(key for one in parts for key in one.chosen)
            if len({one.chosen.get(key) for one in parts}) > 1]  # fmt: skip
    short = [
        " ".join(
            [
                *([one.name] if several else []),
                *(f"{key}={one.chosen[key]}" for key in keys if key in one.chosen),
            ]
        )
        for one in parts
    ]
    if all(short) and len(set(short)) == len(short):
        return short
    names = [context.names.benchmark(cell.place.benchmark) for cell in cells]
    heads = {name.partition(" ")[0] for name in names}
    if len(heads) == 1 and len(set(names)) == len(names) > 1 and all(" " in name for name in names):
        return [name.partition(" ")[2] for name in names]
    if len(set(names)) < len(names):
        names = [
            name + context.names.around(cell, ("modifiers",)) for name, cell in zip(names, cells, strict=True)
        ]
    if len(set(names)) < len(names):
        names = [f"{name}, {cell.place.modifiers}" for name, cell in zip(names, cells, strict=True)]
    return names


def untraced_partner(
    cell: PlannedCell, cells: Sequence[PlannedCell], traced: Sequence[PlannedCell]
) -> PlannedCell | None:
    """Return the cell in the same place without the modifier that records events.

    Args:
        cell: a traced cell.
        cells: of the plan.
        traced: all traced cells.
    """
    recorded = {(one.place.host, one.cell_id) for one in traced}
    own = cell.place.modifiers.split("+")
    fewer = {"+".join(own[:at] + own[at + 1 :]) or NO_MODIFIERS for at in range(len(own))}
    for one in cells:
        if (one.place.host, one.cell_id) in recorded or one.metric != cell.metric:
            continue
        if one.place.modifiers in fewer and replace(one.place, modifiers=cell.place.modifiers) == cell.place:
            return one
    return None


class _Cell:
    def __init__(
        self, context: Context, cell: PlannedCell, runs: Sequence[_Run], traced: Sequence[PlannedCell]
    ) -> None:
        self._context = context
        self._cell = cell
        self._level = context.facts.level
        self._traced = traced
        self._all = runs
        #: the others have nothing per transaction
        self._runs = [run for run in runs if _RESPONSE in run.values]

    def result(self, name: str) -> TracedCell:
        runs, cell = self._runs, self._cell
        own = self._series(cell)
        metric, unit, traced, untraced, overhead = self._overhead(own)
        interrupts = list(
            dict.fromkeys(str(kind) for run in runs for kind in run.seen("event_interrupt", "kind"))
        )
        fixed = ("disk", "network", "timer", "interrupt")
        kinds = [*fixed, *(kind for kind in interrupts if kind not in fixed)]
        return TracedCell(
            cell_id=cell.cell_id,
            place=cell.place,
            name=name,
            settings=dict(parts_of_label(cell.place.benchmark).chosen),
            n=len(self._all),
            without_events=max(0, (0 if own is None else len(own.samples)) - len(self._all)),
            metric=metric,
            unit=unit,
            traced=traced,
            untraced=untraced,
            overhead=overhead,
            transactions=self._mean(lambda run: run.total(_COUNT), self._all),
            rate=self._mean(
                lambda run: run.total("event_throughput"),
                [run for run in self._all if "event_throughput" in run.values],
            ),
            response=self._mean(lambda run: run.total(_RESPONSE)),
            cpu={
                "user": self._sum("event_user"),
                "kernel": self._sum("event_kernel"),
                "spin": self._sum("event_spin"),
                **{kind: self._sum("event_interrupt", kind=kind) for kind in kinds},
                "total": self._mean(
                    lambda run: sum(
                        run.total(one)
                        for one in ("event_user", "event_kernel", "event_spin", "event_interrupt")
                    )
                ),
            },
            objects=self._objects(),
            uses=tuple(self._uses()),
            phases=tuple(self._phase(phase) for phase in self._phases()),
            wakeups={cause: self._sum("event_wakeups", cause=cause) for cause in CAUSES},
            switches=self._sum("event_switches"),
            unneeded=self._sum("event_unneeded_wakeups"),
            demands=self._demands(),
            recording=self._recording(),
        )

    def _mean(self, of: Callable[[_Run], float], runs: Sequence[_Run] | None = None) -> Interval:
        return self._mean_of([of(run) for run in (self._runs if runs is None else runs)])

    def _mean_of(self, values: Sequence[float]) -> Interval:
        if not values:
            return undefined(0, self._level, "t", NO_TRANSACTION)
        return mean_interval(values, self._level, positive=True)

    def _sum(self, metric: str, **given: Scalar) -> Interval:
        return self._mean(lambda run: run.total(metric, **given))

    def _series(self, cell: PlannedCell, metric: str | None = None) -> Series | None:
        """Return the throughput of a cell, if it reports one, else its own metric."""
        many = self._context.samples.series.get(cell.number, ())
        wanted = (metric,) if metric else (_THROUGHPUT, cell.metric)
        for name in wanted:
            for one in many:
                if one.metric == name and one.samples:
                    return one
        return None

    def _overhead(self, own: Series | None) -> tuple[str, str, Interval, Interval, Interval]:
        metric = own.metric if own is not None else self._cell.metric
        unit = own.unit if own is not None else ""
        partner = untraced_partner(self._cell, self._context.samples.cells, self._traced)
        if partner is None:
            absent = undefined(0, self._level, "t", NO_PARTNER)
            return metric, unit, self._of_series(own), absent, absent
        other = self._series(partner, metric)
        pair = Pair(self._cell, partner, own, other)
        (found,) = contrasts_of([pair], self._level, Stops())
        return metric, unit, self._of_series(own), self._of_series(other), found.contrast.interval

    def _of_series(self, series: Series | None) -> Interval:
        if series is None:
            return undefined(0, self._level, "t", "no valid invocation")
        return mean_interval(series.values, self._level, positive=is_positive(series.unit))

    def _names_of(self, metric: str, name: str) -> list[str]:
        return sorted({str(value) for run in self._runs for value in run.seen(metric, name)})

    def _phases(self) -> list[str]:
        names = self._names_of("event_phase", "phase")
        return sorted(names, key=lambda name: name == NO_PHASE)

    def _phase(self, name: str) -> Phase:
        def times(run: _Run) -> Mapping[str, float]:
            found = {
                "process": run.total("event_phase_cpu", phase=name)
                - run.total("event_phase_spin", phase=name),
                "spin": run.total("event_phase_spin", phase=name),
                "interrupts": run.total("event_phase_interrupts", phase=name),
                "ready": run.total("event_phase_ready", phase=name),
                **{
                    key: run.total("event_phase_wait", phase=name, cause=cause)
                    for key, cause in _OWN_CAUSE.items()
                },
            }
            known = sum(found[key] for key in _OWN_CAUSE)
            return {**found, "rest": max(0.0, run.total("event_phase_wait", phase=name) - known)}

        found = [times(run) for run in self._runs]
        return Phase(
            name,
            self._sum("event_phase", phase=name),
            {key: self._mean_of([one[key] for one in found]) for key in TIMES},
            self._sum("event_phase_wakeups", phase=name),
        )

    def _objects(self) -> dict[str, Interval]:
        """Return times per transaction of all disks and of all locks."""
        if not any(run.seen("event_use", "object") for run in self._runs):
            return {}
        if not any(run.seen("event_use", "kind") for run in self._runs):
            absent = undefined(
                len(self._runs), self._level, "t", "the record does not say which objects are disks"
            )
            return {"disk": absent, "lock": absent, "lock wait": absent}
        kernel = {"object": KERNEL_LOCKS, "kind": "lock"}
        locks = [name for name in self._names_of("event_use", "object") if name != KERNEL_LOCKS]
        held = self._mean(lambda run: run.total("event_use", kind="lock") - run.total("event_use", **kernel))
        return {
            "disk": self._sum("event_use", kind="disk"),
            "lock": held if locks else undefined(len(self._runs), self._level, "t", NOT_REPORTED),
            "lock wait": self._sum("event_wait", kind="lock"),
        }

    def _uses(self) -> list[ObjectUse]:
        found = []
        for name in self._names_of("event_use", "object"):
            kinds = {
                str(dict(parameters).get("kind", ""))
                for run in self._runs
                for parameters in run.values.get("event_use", {})
                if dict(parameters)["object"] == name
            }
            used = self._sum("event_use", object=name)
            if name == KERNEL_LOCKS:
                used = undefined(used.n, self._level, "t", NOT_REPORTED)
            waited = self._sum("event_wait", object=name)
            uses = self._sum("event_uses", object=name)
            found.append(ObjectUse(name, min(kinds), uses, used, waited))
        return sorted(found, key=lambda one: (one.kind, one.name))

    def _demands(self) -> Demands | None:
        """Return the mean demands of the stations; one that an invocation lacks has no demand there."""
        sums: dict[str, float] = defaultdict(float)
        servers: dict[str, float] = defaultdict(float)
        shared: dict[str, bool] = {}
        for run in self._runs:
            for parameters, value in run.values.get(DEMAND, {}).items():
                told = dict(parameters)
                name = str(told["station"])
                sums[name] += value / len(self._runs)
                # Invocations can differ in the number of CPUs that the service used.
                servers[name] = max(servers[name], float(told["servers"]))
                shared[name] = told["shared"] == "true"
        if not sums:
            return None
        stations = tuple(sums)
        values, counts = (np.array([of[name] for name in stations]) for of in (sums, servers))
        return Demands(stations, values, counts, tuple(shared[name] for name in stations))

    def _recording(self) -> Path | None:
        """Return the folder of the kept recording of the run with the median response time."""
        kept = runs_with(self._context.folder.path, self._context.samples, self._cell, TRACE_FILE)
        responses = {
            sample.invocation_id: sample.value
            for series in self._context.samples.series.get(self._cell.number, ())
            if series.metric == _RESPONSE
            for sample in series.samples
        }
        known = sorted(
            (
                (responses[sample.invocation_id], path)
                for sample, path in kept
                if sample.invocation_id in responses
            ),
        )
        if known:
            return known[(len(known) - 1) // 2][1].parent
        return kept[0][1].parent if kept else None


def predictions(cells: Sequence[TracedCell]) -> tuple[Prediction, ...]:
    """Return predictions for cells that differ in the number of clients only, from the one with the most.

    Args:
        cells: traced cells.
    """
    groups: dict[object, list[tuple[int, TracedCell]]] = defaultdict(list)
    for cell in cells:
        for name in _CLIENTS:
            text = cell.settings.get(name, "")
            if text.isdigit() and int(text) > 0:
                label = parts_of_label(cell.place.benchmark)
                others = {key: value for key, value in label.chosen.items() if key != name}
                same = benchmark_label(label.suite, label.name, label.size, others)
                groups[replace(cell.place, benchmark=same)].append((int(text), cell))
                break
    return tuple(
        one for group in groups.values() for one in _predicted(sorted(group, key=lambda one: one[0]))
    )


def _predicted(cells: Sequence[tuple[int, TracedCell]]) -> Iterator[Prediction]:
    _, source = cells[-1]
    demands = source.demands
    if len(cells) < 2 or demands is None:
        return
    found = predict_throughput(demands, 0.0, [clients for clients, _ in cells])
    for (clients, cell), predicted in zip(cells, found.tolist(), strict=True):
        bound = throughput_bound(demands, 0.0, clients)
        # Other metrics are no throughputs.
        reported = cell.metric == _THROUGHPUT
        untraced = cell.untraced if reported else undefined(0, cell.rate.level, "t", "not reported")
        yield Prediction(cell.name, source.name, clients, predicted, bound, cell.rate, untraced)

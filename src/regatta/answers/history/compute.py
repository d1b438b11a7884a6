"""Compare several experiments over time: detect level shifts of the series that they share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from regatta.answers.history.canary import (
    Canary,
    Cause,
    Paired,
    at_one_speed,
    cause_of,
    scales_with_the_host,
)
from regatta.answers.history.environment import (
    Environment,
    changes_of,
    environment_of,
)
from regatta.answers.history.result import (
    History,
    LevelShift,
    PastExperiment,
    PastPoint,
    SeriesHistory,
    Track,
)
from regatta.answers.history.words import CAUSES, CAUSES_AT_ONE_SPEED, environment_sentences, sentences
from regatta.answers.kit.plain import plain
from regatta.answers.spine.facts import Facts, read_facts
from regatta.answers.spine.names import Names
from regatta.answers.spine.samples import PlannedCell, Samples, Series, load_samples
from regatta.answers.spine.verdicts import judge
from regatta.answers.spine.words import counted, difference, is_speed, listed, too_small
from regatta.figures.text import show_percent
from regatta.host.units import is_counted, is_positive
from regatta.host.values.experiment import Heap, SteadyState
from regatta.stats.estimate import Floats
from regatta.stats.intervals import mean_interval
from regatta.stats.shifts import LEAST_TO_SEE_VARIATION, Shift, Shifts, find_shifts
from regatta.store.database import Progress, open_database

#: key of comparable series: host, benchmark, configuration, heap, metric, unit, parameters and steady-state method
_Key = tuple[str, str, str, Heap, str, str, str, str]


@dataclass(frozen=True)
class _Read:
    """One experiment that was read."""

    path: Path
    facts: Facts
    started_utc_ns: int
    series: Mapping[_Key, Series]
    environment: Environment


def history_of(
    folders: Sequence[Path], level: float | None = None, progress: Progress | None = None
) -> History:
    """Compare experiments over time.

    Args:
        folders: folders of planned experiments, in any order, without duplicates.
        level: confidence of the intervals, between 0 and 1; None: the level of the latest experiment.
        progress: called while each database is built.

    Returns:
        The experiments in order of their first record, and the history of every series that at least two of them share.
        Series match by host, benchmark, configuration name, heap, metric and parameters; only the cells' own metrics are
        compared. Experiments without values are excluded and reported.

    Raises:
        StoreError: a folder has no plan, or cannot be read or written.
    """
    read = [_read(path, progress) for path in {path.resolve(): path for path in folders}.values()]
    used = sorted((one for one in read if one.series), key=lambda one: one.started_utc_ns)
    names = _names_of(used)
    experiments = tuple(
        PastExperiment(
            name,
            str(one.path),
            one.facts.name,
            dict(one.facts.labels),
            one.started_utc_ns,
            _steady(one.facts.steady),
        )
        for name, one in zip(names, used, strict=True)
    )
    confidence = level if level is not None else used[-1].facts.level if used else 0.95
    theta_percent = used[-1].facts.theta_percent if used else 1.0
    keys = dict.fromkeys(key for one in used for key in one.series)
    many = {
        key: [(number, one.series[key]) for number, one in enumerate(used) if key in one.series]
        for key in keys
    }
    cell_names = Names([points[-1][1].cell for points in many.values()])
    method = _Method(names, cell_names, confidence, theta_percent)
    canaries, unused = _canaries(used)
    of_hosts = {key: canary.newest() for key, canary in canaries.items()}
    series = tuple(
        method.history(points, of_hosts.get((key[0], key[-1]), {}))
        for key, every in many.items()
        if len(points := _of_one_program(every, of_hosts.get((key[0], key[-1]), {}), used)) > 1
    )
    environment = changes_of([one.environment for one in used])
    return History(
        experiments,
        series,
        confidence,
        (*sentences(series, len(experiments)), *environment_sentences(environment, series, names)),
        (*_warnings(read, used, many, names), *unused, *_canary_warnings(canaries, names)),
        environment,
    )


#: host, and steady-state method of the values
_CanaryKey = tuple[str, str]


def _canaries(used: Sequence[_Read]) -> tuple[dict[_CanaryKey, Canary], list[str]]:
    """Return the canaries, and why those of some experiments are not used."""
    found: dict[_CanaryKey, Canary] = {}
    unused: list[str] = []
    for number, one in enumerate(used):
        name = one.facts.canary
        own: dict[_CanaryKey, list[Series]] = {}
        for key, series in one.series.items():
            if key[1] == name:
                own.setdefault((key[0], key[-1]), []).append(series)
        for (host, steady), several in own.items():
            unit = several[0].unit
            if len(several) > 1:
                unused.append(
                    f"the canary {name} of {host} is not used: it has {len(several)} series, not one"
                )
            elif not scales_with_the_host(unit):
                unused.append(f"the canary {name} of {host} is not used: {unit} is no time or rate")
            else:
                program = one.facts.canary_programs.get(host, "")
                found.setdefault((host, steady), Canary()).add(number, name, program, several[0])
    return found, list(dict.fromkeys(unused))


def _of_one_program(
    points: Sequence[tuple[int, Series]], canary: Mapping[int, Series], used: Sequence[_Read]
) -> Sequence[tuple[int, Series]]:
    """Return the points of a series; of a canary, those of the latest one, because others are other programs."""
    number, latest = points[-1]
    if latest.cell.place.benchmark != used[number].facts.canary or not canary:
        return points
    return [point for point in points if canary.get(point[0]) is point[1]]


def _read(path: Path, progress: Progress | None) -> _Read:
    facts = read_facts(path)
    with open_database(path, progress) as connection:
        samples = load_samples(connection, facts.steady)
    starts = [
        sample.started_utc_ns
        for many in samples.series.values()
        for series in many
        for sample in (*series.discarded, *series.perturbed, *series.samples)
    ]
    cell_names = {
        (cell.place.host, cell.cell_id): (cell.place.benchmark, cell.place.configuration)
        for cell in samples.cells
    }
    environment = environment_of(path, facts, cell_names)
    return _Read(path, facts, min(starts, default=0), _own_series(samples, facts.steady), environment)


def _own_series(samples: Samples, steady: SteadyState) -> dict[_Key, Series]:
    found = {}
    for cell in samples.cells:
        for series in samples.own(cell):
            if series.samples:
                found[_key(cell, series, steady)] = series
    return found


def _key(cell: PlannedCell, series: Series, steady: SteadyState) -> _Key:
    return (
        cell.place.host,
        cell.place.benchmark,
        cell.place.configuration,
        cell.place.heap.asked,
        series.metric,
        series.unit,
        series.parameters_text,
        _steady(steady) + ("" if cell.summary == "mean" else f", {cell.summary}"),
    )


def _steady(steady: SteadyState) -> str:
    """Return the method that gives the value of an invocation: values from different methods are not compared."""
    if steady.method in ("fixed", "replay"):
        return f"{steady.method}, warmup {steady.warmup} of {steady.iterations}"
    if steady.method == "cov":
        return f"cov, {steady.window} iterations below {show_percent(steady.threshold)}"
    return steady.method


def _names_of(read: Sequence[_Read]) -> list[str]:
    """Return labels, or folder names; with the time if they are not unique."""
    names = [
        ", ".join(f"{key} {value}" for key, value in one.facts.labels.items()) or one.path.resolve().name
        for one in read
    ]
    counts = Counter(names)
    names = [
        f"{name} of {datetime.fromtimestamp(one.started_utc_ns / 1e9, UTC):%Y-%m-%d %H:%M}"
        if counts[name] > 1
        else name
        for name, one in zip(names, read, strict=True)
    ]
    counts = Counter(names)
    return [
        f"{name} ({one.path})" if counts[name] > 1 else name for name, one in zip(names, read, strict=True)
    ]


@dataclass(frozen=True)
class _Method:
    """What all series of a history share. `names`: of the experiments."""

    names: Sequence[str]
    cell_names: Names
    level: float
    theta_percent: float

    def history(self, points: Sequence[tuple[int, Series]], canary: Mapping[int, Series]) -> SeriesHistory:
        """Return the history of a series. `canary`: experiment -> series of the canary of its host; empty: none."""
        number, latest = points[-1]
        cell = latest.cell
        is_canary = canary.get(number) is latest
        title = self.cell_names.series(cell, latest.parameters)
        words = f"the canary of {cell.place.host}" if is_canary else title
        track = self._track([(one, series, series.values) for one, series in points], words)
        found = SeriesHistory(
            **vars(track),
            title=title,
            place=cell.place,
            metric=latest.metric,
            unit=latest.unit,
            better=cell.better,
            parameters=dict(latest.parameters),
            is_canary=is_canary,
        )
        if is_canary or not scales_with_the_host(latest.unit):
            return found
        pairs = at_one_speed(points, canary)
        return self._with_causes(found, points, pairs) if pairs else found

    def _with_causes(
        self, one: SeriesHistory, points: Sequence[tuple[int, Series]], pairs: Sequence[Paired]
    ) -> SeriesHistory:
        """Return the history with its values at one speed of the host, and the causes of its shifts."""
        series = dict(points)
        track = self._track(
            [(pair.experiment, series[pair.experiment], pair.values) for pair in pairs], one.title
        )
        # From the same rounds, so that both have the same places.
        found = find_shifts([pair.canary for pair in pairs], self.level)
        of_host = {pairs[shift.at].experiment: math.log(shift.ratio.interval.point) for shift in found.shifts}
        of_program = {shift.since: math.log(shift.ratio.point) for shift in track.shifts}
        own = tuple(_caused(shift, of_program, of_host, track, CAUSES_AT_ONE_SPEED) for shift in track.shifts)
        before = {after: earlier for (earlier, _), (after, _) in pairwise(points)}
        has = {pair.experiment for pair in pairs}
        shifts = tuple(
            _caused(shift, of_program, of_host, one, CAUSES)
            if {before[shift.since], shift.since} <= has
            else shift
            for shift in one.shifts
        )
        return replace(one, shifts=shifts, at_one_speed=replace(track, shifts=own))

    def _track(self, parts: Sequence[tuple[int, Series, Floats]], title: str) -> Track:
        """Return the shifts of values. `parts`: experiment, series, and the values to judge in place of those of the series."""
        latest = parts[-1][1]
        found = find_shifts([values for _, _, values in parts], self.level, is_counted(latest.unit))
        return Track(
            points=tuple(
                PastPoint(
                    number,
                    series.cell.place.heap.mib,
                    mean_interval(values, self.level, positive=is_positive(series.unit)),
                    tuple(values.tolist()),
                )
                for number, series, values in parts
            ),
            shifts=tuple(self._shift(one, parts, latest, title, found.unit) for one in found.shifts),
            replicates=found.unit,
            autocorrelation=found.autocorrelation,
            false_rate=found.false_rate,
            rate_reason=_why_no_rate(found),
            reason=found.reason,
        )

    def _shift(
        self,
        shift: Shift,
        parts: Sequence[tuple[int, Series, Floats]],
        latest: Series,
        place: str,
        unit: str,
    ) -> LevelShift:
        since = parts[shift.at][0]
        ratio = shift.ratio.interval
        how = difference("before", ratio, latest.metric, latest.unit, latest.cell.better)
        verb = "is" if is_speed(latest.unit, latest.cell.better) else "has"
        small = judge(ratio, self.theta_percent).practical == "no"
        words = f"{place} {verb} {how} since {self.names[since]} (n = {ratio.n} {unit})"
        if small:
            words += f", {too_small(self.theta_percent)}"
        return LevelShift(since, ratio, shift.ratio.p, shift.before, shift.after, words)


def _caused(
    shift: LevelShift,
    of_program: Mapping[int, float],
    of_host: Mapping[int, float],
    track: Track,
    words: Mapping[Cause, str],
) -> LevelShift:
    """Return a shift of a track with its cause, also in words. The other arguments are those of `cause_of`."""
    cause = cause_of(shift.since, of_program, of_host, track.replicates)
    return replace(shift, cause=cause, words=f"{shift.words}: {words[cause]}")


def _canary_warnings(canaries: Mapping[_CanaryKey, Canary], names: Sequence[str]) -> list[str]:
    return [
        f"the canary of {host} is another program in {listed([names[one] for one in others])} (changed, or built anew): there, "
        "changes of the host and of programs are not separated"
        for (host, _), canary in canaries.items()
        if (others := canary.others())
    ]


def _why_no_rate(found: Shifts) -> str:
    if not math.isnan(found.false_rate):
        return ""
    return (
        found.reason
        or f"fewer than {LEAST_TO_SEE_VARIATION} experiments do not show how much experiments vary"
    )


def _warnings(
    read: Sequence[_Read],
    used: Sequence[_Read],
    many: Mapping[_Key, Sequence[tuple[int, Series]]],
    names: Sequence[str],
) -> list[str]:
    warnings = [f"{one.path} excluded: no values" for one in read if one not in used]
    alone = sum(len(points) < 2 for points in many.values())
    if alone:
        warnings.append(f"series in one experiment only, without a history: {alone}")
    ways: dict[str, list[str]] = {}
    for name, one in zip(names, used, strict=True):
        ways.setdefault(_steady(one.facts.steady), []).append(name)
    if len(ways) > 1:
        each = "; ".join(f"{way} in {listed(those)}" for way, those in ways.items())
        warnings.append(f"values by different steady-state methods are not compared: {each}")
    ways_of: dict[tuple[Any, ...], set[str]] = {}
    for key, points in many.items():
        ways_of.setdefault(key[:-1], set()).add(points[-1][1].cell.summary)
    mixed = sorted({str(key[1]) for key, summaries in ways_of.items() if len(summaries) > 1})
    if mixed:
        warnings.append(
            f"values by different statistics of an invocation's repetitions are not compared: {', '.join(mixed)}"
        )
    moved = {
        points[-1][1].cell.label
        for points in many.values()
        if points[-1][1].cell.place.heap.factor is not None
        and len({series.cell.place.heap for _, series in points}) > 1
    }
    if moved:
        warnings.append(
            f"minheap differs between experiments, and so does the heap in MiB, in {counted(len(moved), 'cell')}, for example "
            f"{sorted(moved)[0]}"
        )
    return warnings


def history_document(history: History) -> dict[str, Any]:
    """Return the history as JSON values; NaN becomes null."""
    document: dict[str, Any] = plain(history)
    document["series"] = [
        {"host": series["host"], "place": series.pop("title")} | series for series in document["series"]
    ]
    return document

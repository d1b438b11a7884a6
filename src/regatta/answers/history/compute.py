"""Compare several experiments over time: detect level shifts of the series that they share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from regatta.answers.kit.plain import plain
from regatta.answers.spine.facts import Facts, read_facts
from regatta.answers.spine.names import Names
from regatta.answers.spine.parts import HEAP, INLINED, Place
from regatta.answers.spine.samples import PlannedCell, Samples, Series, load_samples
from regatta.answers.spine.verdicts import judge
from regatta.answers.spine.words import bound_words, counted, difference, is_speed, listed, too_small
from regatta.figures.text import show_percent
from regatta.host.units import is_counted, is_positive
from regatta.host.values.experiment import Better, Heap, Scalar, SteadyState
from regatta.stats.estimate import Interval
from regatta.stats.intervals import mean_interval
from regatta.stats.ratios import welch_log_ratio
from regatta.stats.shifts import INVOCATIONS, LEAST_TO_SEE_VARIATION, Shift, Shifts, find_shifts
from regatta.store.database import Progress, open_database


@dataclass(frozen=True)
class PastExperiment:
    """One experiment. `name`: its labels, or its folder name; unique in a history."""

    name: str
    folder: str
    experiment: str
    labels: Mapping[str, str]
    #: start of its first invocation
    started_utc_ns: int
    #: how the iterations of an invocation are reduced to its value
    steady: str


@dataclass(frozen=True)
class PastPoint:
    """One series in one experiment. `experiment`: index into the history's experiments. `values`: one per invocation."""

    experiment: int
    heap_mib: int | None
    mean: Interval
    values: tuple[float, ...]


@dataclass(frozen=True)
class LevelShift:
    """A shift of one series. `since`: index of the first experiment after it.

    `ratio`: after to before, over the experiments between the neighbouring shifts.
    """

    since: int
    ratio: Interval
    #: share of unchanged series with such a shift at any place; with invocations as replicates, of Welch's test
    p: float
    before: int
    after: int
    words: str


@dataclass(frozen=True)
class SeriesHistory:
    """A series (host, benchmark, configuration name, heap, metric, parameters) over the experiments that have it."""

    #: `h2 at 2 x minheap (g1)`, for sentences
    title: str
    place: Place = field(metadata={INLINED: ("host", "benchmark", "configuration", *HEAP)})
    metric: str
    unit: str
    better: Better
    parameters: Mapping[str, Scalar]
    points: tuple[PastPoint, ...]
    shifts: tuple[LevelShift, ...]
    #: unit of replication: "experiments", or "invocations" with fewer than five experiments
    replicates: str
    #: autocorrelation of successive experiments around the levels, 0 to 0.9
    autocorrelation: float = math.nan
    #: share of unchanged series of this length and autocorrelation that show a shift (simulated)
    false_rate: float = math.nan
    #: why `autocorrelation` and `false_rate` are undefined, else ""
    rate_reason: str = ""
    #: why the result is undefined, else ""
    reason: str = ""


@dataclass(frozen=True)
class History:
    """The changes over several experiments."""

    experiments: tuple[PastExperiment, ...]
    series: tuple[SeriesHistory, ...]
    level: float
    sentences: tuple[str, ...]
    warnings: tuple[str, ...] = ()


#: key of comparable series: host, benchmark, configuration, heap, metric, unit, parameters and steady-state method
_Key = tuple[str, str, str, Heap, str, str, str, str]


@dataclass(frozen=True)
class _Read:
    """One experiment that was read."""

    path: Path
    facts: Facts
    started_utc_ns: int
    series: Mapping[_Key, Series]


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
    series = tuple(
        _history(points, names, cell_names, confidence, theta_percent)
        for points in many.values()
        if len(points) > 1
    )
    return History(
        experiments,
        series,
        confidence,
        tuple(_sentences(series, len(experiments))),
        tuple(_warnings(read, used, many, names)),
    )


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
    return _Read(path, facts, min(starts, default=0), _own_series(samples, facts.steady))


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


def _history(
    points: Sequence[tuple[int, Series]],
    names: Sequence[str],
    cell_names: Names,
    level: float,
    theta_percent: float,
) -> SeriesHistory:
    latest = points[-1][1]
    cell = latest.cell
    found = find_shifts([series.values for _, series in points], level, is_counted(latest.unit))
    title = cell_names.series(cell, latest.parameters)
    return SeriesHistory(
        title=title,
        place=cell.place,
        metric=latest.metric,
        unit=latest.unit,
        better=cell.better,
        parameters=dict(latest.parameters),
        points=tuple(
            PastPoint(
                number,
                series.cell.place.heap.mib,
                mean_interval(series.values, level, positive=is_positive(series.unit)),
                tuple(series.values.tolist()),
            )
            for number, series in points
        ),
        shifts=tuple(
            _shift(one, points, latest, names, title, found.unit, theta_percent) for one in found.shifts
        ),
        replicates=found.unit,
        autocorrelation=found.autocorrelation,
        false_rate=found.false_rate,
        rate_reason=_why_no_rate(found),
        reason=found.reason,
    )


def _shift(
    shift: Shift,
    points: Sequence[tuple[int, Series]],
    latest: Series,
    names: Sequence[str],
    place: str,
    unit: str,
    theta_percent: float,
) -> LevelShift:
    since = points[shift.at][0]
    ratio = shift.ratio.interval
    how = difference("before", ratio, latest.metric, latest.unit, latest.cell.better)
    verb = "is" if is_speed(latest.unit, latest.cell.better) else "has"
    small = judge(ratio, theta_percent).practical == "no"
    words = f"{place} {verb} {how} since {names[since]} (n = {ratio.n} {unit})"
    if small:
        words += f", {too_small(theta_percent)}"
    return LevelShift(since, ratio, shift.ratio.p, shift.before, shift.after, words)


def _sentences(series: Sequence[SeriesHistory], experiments: int) -> list[str]:
    if not series:
        return []
    shifted = [shift for one in series for shift in one.shifts]
    shifted.sort(key=lambda shift: -abs(math.log(shift.ratio.point)))
    found = [shift.words for shift in shifted]
    still = [one for one in series if not one.shifts]
    if still:
        first = f"{len(still)} of {len(series)} series: no significant shift over {counted(experiments, 'experiment')}"
        latest = [_first_to_last(one) for one in still if len(one.points) == 2]
        found.append(f"{first} ({bound_words(latest)})" if len(latest) == len(still) else first)
    known = [one for one in series if not math.isnan(one.false_rate)]
    if known:
        found.append(_false_shifts(known))
    few = sum(one.replicates == INVOCATIONS and not one.reason for one in series)
    if few:
        which = f"{few} of {len(series)} series have fewer than {LEAST_TO_SEE_VARIATION} experiments"
        found.append(
            f"{counted(experiments, 'experiment') if experiments < LEAST_TO_SEE_VARIATION else which}: a shift is not "
            "distinguishable from day-to-day variation. Repeat the experiment unchanged, or collect more experiments"
        )
    return found


def _false_shifts(known: Sequence[SeriesHistory]) -> str:
    """Return the rate of false shifts of these series, and their expected number."""
    rate = math.fsum(one.false_rate for one in known) / len(known)
    autocorrelation = math.fsum(one.autocorrelation for one in known) / len(known)
    expected = rate * len(known)
    number = f"{expected:.0f}" if expected >= 10 else f"{expected:.1g}"
    return (
        f"False shifts: about {rate * 100.0:.1f} % of unchanged series show one, {number} of {len(known)} series "
        f"(simulated with the autocorrelation between these experiments, {autocorrelation:.1f}"
        f"{' on average' if len(known) > 1 else ''})"
    )


def _why_no_rate(found: Shifts) -> str:
    if not math.isnan(found.false_rate):
        return ""
    return (
        found.reason
        or f"fewer than {LEAST_TO_SEE_VARIATION} experiments do not show how much experiments vary"
    )


def _first_to_last(one: SeriesHistory) -> Interval:
    first, last = one.points[0].values, one.points[-1].values
    return welch_log_ratio(last, first, counted=is_counted(one.unit)).interval


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

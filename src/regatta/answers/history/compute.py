"""Compare several experiments over time: detect level shifts of the series that they share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    same_place,
    scales_with_the_host,
)
from regatta.answers.history.environment import (
    Environment,
    EnvironmentChange,
    changes_of,
    environment_of,
)
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
from regatta.stats.estimate import Floats, Interval
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

    `ratio`: after to before, over the experiments between the neighbouring shifts. `cause`: program, host or both.
    """

    since: int
    ratio: Interval
    #: share of unchanged series with such a shift at any place; with invocations as replicates, of Welch's test
    p: float
    before: int
    after: int
    words: str
    cause: Cause = ""


@dataclass(frozen=True, kw_only=True)
class Track:
    """Values over experiments, and their shifts."""

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


@dataclass(frozen=True, kw_only=True)
class SeriesHistory(Track):
    """A series (host, benchmark, configuration name, heap, metric, parameters) over the experiments that have it."""

    #: `h2 at 2 x minheap (g1)`, for sentences
    title: str
    place: Place = field(metadata={INLINED: ("host", "benchmark", "configuration", *HEAP)})
    metric: str
    unit: str
    better: Better
    parameters: Mapping[str, Scalar]
    #: whether it is the canary, whose shifts are those of the host
    is_canary: bool = False
    #: the series as if the host had not changed, by its canary, where both ran; None: no canary, or not a time or a rate
    at_one_speed: Track | None = None

    @property
    def told(self) -> Track:
        """Return the values whose shifts are told: at one speed of the host, if as many experiments have them.

        A canary of the last few nights does not show how much nights vary; then it only gives causes to shifts as measured.
        """
        own = self.at_one_speed
        return self if own is None or own.replicates != self.replicates else own


@dataclass(frozen=True)
class History:
    """The changes over several experiments."""

    experiments: tuple[PastExperiment, ...]
    series: tuple[SeriesHistory, ...]
    level: float
    sentences: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    #: what differs between the environments of successive experiments
    environment: tuple[EnvironmentChange, ...] = ()


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
        (*_sentences(series, len(experiments)), *_environment_sentences(environment, series, names)),
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
        own = tuple(
            _caused(shift, of_program, of_host, track, _CAUSES_AT_ONE_SPEED) for shift in track.shifts
        )
        before = {after: earlier for (earlier, _), (after, _) in pairwise(points)}
        has = {pair.experiment for pair in pairs}
        shifts = tuple(
            _caused(shift, of_program, of_host, one, _CAUSES)
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


_CAUSES: Mapping[Cause, str] = {
    "program": "the program, not its host",
    "host": "the host, because its canary shifts with it",
    "both": "the program, and its host, which may affect it more or less than the canary",
    "": "the program or its host, because neither shifts alone",
}
_CAUSES_AT_ONE_SPEED: Mapping[Cause, str] = {
    **_CAUSES,
    "host": "a small part of a change of its host, which may affect it more or less than the canary",
}


def _sentences(series: Sequence[SeriesHistory], experiments: int) -> list[str]:
    if not series:
        return []
    programs = [one for one in series if not one.is_canary]
    found = [words for one in series if one.is_canary for words in _of_host(one, programs)]
    shifted = [shift for one in programs for shift in told_shifts(one)]
    shifted.sort(key=lambda shift: -abs(math.log(shift.ratio.point)))
    found += [shift.words for shift in shifted]
    still = [one for one in programs if not told_shifts(one)]
    if still:
        first = f"{len(still)} of {len(programs)} series: no significant shift over {counted(experiments, 'experiment')}"
        if any(shift.cause == "host" for one in still for shift in one.shifts):
            first += " besides those of the host"
        latest = [_first_to_last(one) for one in still if len(one.told.points) == 2]
        found.append(f"{first} ({bound_words(latest)})" if len(latest) == len(still) else first)
    known = [one.told for one in series if not math.isnan(one.told.false_rate)]
    if known:
        found.append(_false_shifts(known))
    few = sum(one.told.replicates == INVOCATIONS and not one.told.reason for one in series)
    if few:
        which = f"{few} of {len(series)} series have fewer than {LEAST_TO_SEE_VARIATION} experiments"
        found.append(
            f"{counted(experiments, 'experiment') if experiments < LEAST_TO_SEE_VARIATION else which}: a shift is not "
            "distinguishable from day-to-day variation. Repeat the experiment unchanged, or collect more experiments"
        )
    return found


def told_shifts(one: SeriesHistory) -> list[LevelShift]:
    """Return the shifts that are not those of the host: of the track that is told, and those as measured without a cause."""
    more = () if one.told is one else (shift for shift in one.shifts if not shift.cause)
    return [*one.told.shifts, *more]


def _of_host(canary: SeriesHistory, programs: Sequence[SeriesHistory]) -> Iterator[str]:
    """Yield a sentence for each shift of a host."""
    judged = [one for one in programs if one.place.host == canary.place.host and one.at_one_speed is not None]
    for shift in canary.shifts:
        alike = sum(
            any(
                own.cause == "host" and same_place(own.since, [shift.since], one.replicates)
                for own in one.shifts
            )
            and not same_place(shift.since, [own.since for own in told_shifts(one)], one.replicates)
            for one in judged
        )
        words = f"{shift.words[0].upper()}{shift.words[1:]}"
        yield (
            f"{words}; {alike} of {len(judged)} series of programs shifted only with it" if judged else words
        )


def _environment_sentences(
    changes: Sequence[EnvironmentChange], series: Sequence[SeriesHistory], names: Sequence[str]
) -> list[str]:
    """Return the changes where something shifted, and the number of the others."""
    shifts = [
        (one.place.host, shift.since, one.replicates)
        for one in series
        for shift in (*one.shifts, *told_shifts(one))
    ]
    here = [
        change
        for change in changes
        if any(
            change.host in ("", host) and same_place(change.since, [at], unit) for host, at, unit in shifts
        )
    ]
    found = [
        f"Environment{f' of {one.host}' if one.host else ''} since {names[one.since]}: {'; '.join(one.changes)}"
        for one in here
    ]
    rest = len(changes) - len(here)
    if rest:
        found.append(f"Environment: {counted(rest, 'change')} where nothing shifted")
    return found


def _canary_warnings(canaries: Mapping[_CanaryKey, Canary], names: Sequence[str]) -> list[str]:
    return [
        f"the canary of {host} is another program in {listed([names[one] for one in others])} (changed, or built anew): there, "
        "changes of the host and of programs are not separated"
        for (host, _), canary in canaries.items()
        if (others := canary.others())
    ]


def _false_shifts(known: Sequence[Track]) -> str:
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
    first, last = one.told.points[0].values, one.told.points[-1].values
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

"""Sentences about a history."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from regatta.answers.history.canary import Cause, same_place
from regatta.answers.history.environment import EnvironmentChange
from regatta.answers.history.result import SeriesHistory, Track, told_shifts
from regatta.answers.spine.words import bound_words, counted
from regatta.host.units import is_counted
from regatta.stats.estimate import Interval
from regatta.stats.ratios import welch_log_ratio
from regatta.stats.shifts import INVOCATIONS, LEAST_TO_SEE_VARIATION

#: what follows the words of a shift, as measured and at one speed of the host
CAUSES: Mapping[Cause, str] = {
    "program": "the program, not its host",
    "host": "the host, because its canary shifts with it",
    "both": "the program, and its host, which may affect it more or less than the canary",
    "": "the program or its host, because neither shifts alone",
}
CAUSES_AT_ONE_SPEED: Mapping[Cause, str] = {
    **CAUSES,
    "host": "a small part of a change of its host, which may affect it more or less than the canary",
}


def sentences(series: Sequence[SeriesHistory], experiments: int) -> list[str]:
    """Return what changed, the largest first: hosts, then programs, then how sure that is."""
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


def _first_to_last(one: SeriesHistory) -> Interval:
    first, last = one.told.points[0].values, one.told.points[-1].values
    return welch_log_ratio(last, first, counted=is_counted(one.unit)).interval


def environment_sentences(
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

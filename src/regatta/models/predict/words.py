"""Conclusions and warnings of predictions. Tables have the values of each system."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from regatta.answers.spine.words import how_much, listed, measured
from regatta.figures.text import show_brief, show_quantity
from regatta.models.predict.accuracy import Accuracy, accuracy_of, accuracy_of_score
from regatta.models.predict.forecast import (
    ApplicationForecast,
    Beyond,
    Forecast,
    SpeedUp,
    SystemForecast,
    Verdict,
)
from regatta.models.predict.prediction import LITTLE
from regatta.models.predict.times import PARALLELISM, USER_WORK
from regatta.models.vectors.values import Value
from regatta.stats.estimate import Interval

#: a smaller share of pauses of a garbage collector is not reported
LITTLE_PAUSE = 0.005
#: beyond this ratio to the measured kernel time, a vector double-counts, or has costs that the application does not pay
MUCH = 1.5
_VERDICTS: tuple[Verdict, ...] = ("right", "wrong", "open", "same", "unknown")


def sentences_of(forecast: Forecast) -> tuple[str, ...]:
    """Return the answer."""
    # The most specific question comes first.
    found = [_speed_up(one) for one in forecast.speed_ups]
    for one in forecast.applications:
        found += _ranking(one)
        found += _changes(one, forecast)
        found += _accuracy(one)
        found += _system_share(one)
        found += _saving(one)
    found += all_together(forecast)
    return tuple(found)


def estimate_of(number: Value) -> Interval:
    """Return an interval of a vector as an estimate."""
    return Interval(number.n, number.value, number.low, number.high, math.nan, "", number.reason)


def time_text(number: Value) -> str:
    """Format `628.7 µs [601.2, 655.0]`; an exact time without its ends."""
    if number.is_exact or (math.isnan(number.low) and math.isfinite(number.value)):
        return show_quantity(number.value, "ns", 4)
    return measured(estimate_of(number), "ns")


def ratio_text(number: Value) -> str:
    """Format `7.25 [6.9, 7.6]`."""
    if math.isnan(number.value):
        return f"undefined ({number.reason})" if number.reason else "undefined"
    if number.is_exact or math.isnan(number.low):
        return show_brief(number.value, 3)
    high = show_brief(number.high, 3) if math.isfinite(number.high) else "∞"
    return f"{show_brief(number.value, 3)} [{show_brief(number.low, 3)}, {high}]"


def _ranking(one: ApplicationForecast) -> list[str]:
    name, per = one.application.name, one.application.per
    known = [system for system in one.systems if math.isfinite(system.elapsed.value)]
    if not known:
        return [f"{name}: no prediction on {listed([system.system for system in one.systems])}"]
    first = known[0]
    time = f"{time_text(first.elapsed)} per {per}"
    if len(known) == 1:
        return [f"{name} on {first.system}: {time}"]
    conclusion = f"{name}: {first.system} is fastest of {len(known)}, {time}"
    if alike := next((group for group in one.groups if first.system in group), ()):
        others = [system for system in alike if system != first.system]
        return [f"{conclusion}; not distinguishable from {listed(others)}"]
    second = known[1].system
    pair = next(pair for pair in one.pairs if (pair.faster, pair.slower) == (first.system, second))
    more = f"{100 * (pair.ratio.value - 1):.3g} %"
    if math.isfinite(pair.ratio.low):
        more = how_much(estimate_of(pair.ratio))
    return [f"{conclusion}; {second} takes {more} longer"]


def _changes(one: ApplicationForecast, forecast: Forecast) -> list[str]:
    """Summarize the effect of the changes over all systems; a table has the times."""
    changed = ", ".join(change.words for change in forecast.changes)
    name = one.application.name
    effects = list(one.effects.values())
    primitives = {change.primitive for change in forecast.changes}
    if effects and all(primitives <= {*effect.unused} for effect in effects):
        return [f"{changed}: no effect on {name}, which does not use {listed(list(effects[0].unused))}"]
    shares = sorted(100 * effect.share for effect in effects if math.isfinite(effect.share))
    # A dearer cost can slow down one system while it does not matter on another: each sign has its own words.
    saved = [share for share in shares if share >= 0.0]
    lost = sorted(-share for share in shares if share < 0.0)
    return [
        *([f"{changed}: saves {_span(saved)} of the time of {name}"] if saved else []),
        *([f"{changed}: costs {_span(lost)} more time of {name}"] if lost else []),
    ]


def _accuracy(one: ApplicationForecast) -> list[str]:
    """Summarize rank, ratio and time: each is harder to predict than the previous one."""
    parts = []
    if found := accuracy_of(one.pairs):
        parts.append(_pairs(found))
    if off := [system.ratios["elapsed"].value for system in one.systems if "elapsed" in system.ratios]:
        parts.append(f"elapsed times: {_off(off)}")
    if explained := sorted(100 * system.explained for system in one.systems if system.explained > 0):
        parts.append(f"explained kernel time: {_span(explained)}")
    name = one.application.name
    sentences = [f"{name}, predicted compared with measured: {'; '.join(parts)}"] if parts else []
    if score := accuracy_of_score(one.pairs):
        benchmarks = listed(list(one.score_of))
        mean = f"the geometric mean of {one.score} ({benchmarks})"
        sentences.append(f"{name}, by {mean} instead: {_pairs(score)}")
    return sentences


def all_together(forecast: Forecast) -> list[str]:
    """Summarize the pairs of several applications."""
    pairs = [pair for one in forecast.applications for pair in one.pairs]
    found = accuracy_of(pairs)
    if found is None or len(forecast.applications) < 2:
        return []
    sentences = [f"all {len(forecast.applications)} applications: {_pairs(found)}"]
    if score := accuracy_of_score(pairs):
        suite = forecast.applications[0].score
        sentences.append(f"all by the geometric mean of {suite} instead: {_pairs(score)}")
    return sentences


def _pairs(found: Accuracy) -> str:
    """Format `rank of pairs: 3 right; ratios: error 6.1 % (median), 12 % (90th percentile), ...`."""
    counts = [f"{found.verdicts[verdict]} {verdict}" for verdict in _VERDICTS if found.verdicts.get(verdict)]
    median, high = (f"{show_brief(100.0 * error, 2)} %" for error in (found.median_error, found.high_error))
    text = f"error {median}" if found.pairs == 1 else f"error {median} (median), {high} (90th percentile)"
    if found.with_intervals:
        text += f", {found.agree} of {found.with_intervals} agree with the measured ratio within both errors"
    return f"rank of pairs: {', '.join(counts)}; ratios: {text}"


def _off(ratios: Iterable[float]) -> str:
    """Format relative errors, as `-7.0 %` or `-12 % to +3.1 %`."""
    errors = sorted(100.0 * (ratio - 1.0) for ratio in ratios)
    first, last = (
        f"{'-' if error < 0 else '+'}{show_brief(abs(error), 2)} %" for error in (errors[0], errors[-1])
    )
    return first if first == last else f"{first} to {last}"


def _system_share(one: ApplicationForecast) -> list[str]:
    """Compare the predicted time in Java's system classes with the samples of the traced JVM, if there are any."""
    share = one.application.provenance.get("system_share")
    if not share:
        return []
    text = f"{one.application.name}: measured time in system classes {share} on the traced JVM"
    traced = next((system for system in one.systems if system.system == one.traced_on), None)
    if traced is None or not traced.elapsed.value > 0:
        return [text]
    predicted = 100 * traced.in_primitives / traced.elapsed.value
    return [f"{text}, predicted {show_brief(predicted, 3)} % on {traced.system}"]


def _saving(one: ApplicationForecast) -> list[str]:
    """Report the largest savings; systems with the same primitive share a sentence."""
    best: dict[str, list[tuple[str, float]]] = {}
    for system in one.systems:
        if savings := one.savings.get(system.system, ()):
            best.setdefault(savings[0].primitive, []).append((system.system, savings[0].share))
    found = []
    for primitive, systems in best.items():
        share = _span(sorted(100 * share for _, share in systems))
        where = ", ".join(name for name, _ in systems)
        found.append(
            f"{one.application.name}: {primitive} is the largest part of the time, {share} on {where}"
        )
    return found


def _span(percents: list[float]) -> str:
    first, last = (show_brief(percents[at], 3) for at in (0, -1))
    return f"{first} %" if first == last else f"{first} to {last} %"


def _speed_up(one: SpeedUp) -> str:
    """Report the best predicted speedup and the measured one; a table has all variants."""
    known = math.isfinite(one.best.value)
    # Without any number, the reason is that of the elapsed times, which are asked for.
    kernel = not known and math.isfinite(one.kernel.value)
    number = ratio_text(one.kernel if kernel else one.best)
    text = (
        f"{replacements(one)} on {one.system}: predicted {'kernel-time ' if kernel else ''}speedup {number}"
    )
    if math.isfinite(one.measured.value):
        text += f", measured {ratio_text(one.measured)}"
    return f"{text}, error {_off([one.off])}" if math.isfinite(one.off) else text


def replacements(one: SpeedUp) -> str:
    """Return `old → new` for each replaced application, and the mix in which it is replaced."""
    where = "" if one.before in dict(one.replaced) else f" in {one.before}"
    return ", ".join(f"{old} → {new}" for old, new in one.replaced) + where


# Warnings


def warnings_of(forecast: Forecast) -> tuple[str, ...]:
    """Return the warnings, each once."""
    found = [words for one in forecast.applications for words in _warnings(one)]
    found += [
        f"{replacements(one)} on {one.system}: no measured speedup ({one.unmeasured})"
        for one in forecast.speed_ups
        if one.unmeasured
    ]
    return tuple(dict.fromkeys(found))


def _warnings(one: ApplicationForecast) -> Iterator[str]:
    name = one.application.name
    for system in one.systems:
        where = f"{name} on {system.system}"
        if system.prediction.missing:
            yield f"{where}: no prediction (no cost of {', '.join(system.prediction.missing)})"
        elif math.isnan(system.prediction.time.value):
            yield f"{where}: no prediction ({system.prediction.time.reason})"
        if system.warning:
            yield f"{where}: {system.warning}"
        elif system.explained > MUCH:
            yield (
                f"{where}: the vector predicts {100 * system.explained:.0f} % of the measured kernel time. A cost is counted twice,"
                " or costs include waiting (for example under a quota), which measured kernel time excludes."
            )
        if system.unmeasured:
            yield f"{where}: no measured time ({system.unmeasured})"
    yield from _of_user_time(one)
    once = [count.count.n == 1 and math.isfinite(count.count.low) for count in one.application.counts]
    if any(once):
        # Of a mix, those counts that come from an application with a single trace.
        which = "all counts" if all(once) else "some counts"
        yield f"{name}: {which} are from one trace. Intervals exclude their variation."
    user = one.application.user_time
    if user is not None and user.n == 1 and math.isfinite(user.low):
        yield f"{name}: the user time is from one run. Intervals exclude its variation."
    yield from _beyond(one)
    for system in one.systems:
        prediction, where = system.prediction, f"{name} on {system.system}"
        if math.isfinite(prediction.time.value) and math.isnan(system.elapsed.value):
            yield f"{where}: no prediction ({system.elapsed.reason})"
        elif math.isfinite(prediction.time.value) and math.isnan(prediction.kernel.value):
            yield f"{where}: kernel time undefined ({prediction.kernel.reason})"
    if any(math.isnan(system.elapsed.low) and math.isfinite(system.elapsed.value) for system in one.systems):
        reasons = (system.elapsed.reason for system in one.systems if system.elapsed.reason)
        yield f"{name}: some times have no interval ({next(reasons, 'a value in their vectors has none')})"


def _of_user_time(one: ApplicationForecast) -> Iterator[str]:
    """Yield warnings where the application's user time is unknown, or not scaled to a system."""
    name = one.application.name
    if one.application.user_time is None:
        yield f"{name}: no measured user time. Predicted times are those of the primitives alone."
    elif one.unscaled:
        yield (
            f"{name}: the user time on {', '.join(one.unscaled)} is assumed to be that of {one.traced_on}, where it was measured,"
            f" because one of both has no cost of {USER_WORK}."
        )
    elif not one.traced_on and one.application.user_time.high > 0.0:
        yield f"{name}: the user time was measured on none of these systems. Its own part is assumed to be equal on all."
    if one.overcounted > LITTLE:
        yield (
            f"{name}: on {one.traced_on}, where the user time was measured, the primitives are predicted to take"
            f" {100 * one.overcounted:.0f} % more than all of it. No time is left for the application's own code."
        )
    yield from _of_a_jvm(one)


def _of_a_jvm(one: ApplicationForecast) -> Iterator[str]:
    """Yield the assumptions about threads and pauses."""
    name, application = one.application.name, one.application
    threads = application.provenance.get(PARALLELISM)
    if threads is not None:
        yield (
            f"{name}: {threads} threads worked at the same time. Counts are divided by this number, which is assumed to be"
            " the same on all systems."
        )
    pause, user = application.pause_time, application.user_time
    if pause is not None and user is not None and pause.value > LITTLE_PAUSE * user.value:
        yield (
            f"{name}: {100 * pause.value / user.value:.2g} % of the measured time are pauses of the garbage collector, which are"
            " assumed to be the same on all systems."
        )


def _beyond(one: ApplicationForecast) -> Iterator[str]:
    """Yield costs that are extrapolated for more than a small part of the time."""
    found: dict[tuple[str, str], list[tuple[SystemForecast, Beyond]]] = {}
    for system in one.systems:
        for use in system.beyond:
            if use.time > LITTLE * system.prediction.time.value:
                found.setdefault((use.primitive, use.argument), []).append((system, use))
    for (primitive, argument), each in found.items():
        low, high = max(use.low for _, use in each), min(use.high for _, use in each)
        used = each[0][1]
        outside = [f"{used.least:,.6g}"] if used.least < low else []
        outside += [f"{used.largest:,.6g}"] if used.largest > high else []
        shares = sorted(100 * use.time / system.prediction.time.value for system, use in each)
        yield (
            f"{one.application.name}: the cost of {primitive} at {argument} {' and '.join(outside)} is extrapolated from the measured"
            f" range {low:,.6g} to {high:,.6g}, {_span(shares)} of the predicted time on {', '.join(system.system for system, _ in each)}."
        )

"""Predictions as sentences: the fastest system, groups that cannot be distinguished, accuracy, warnings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator

from regatta.answers.words import counted, how_much, listed, measured
from regatta.figures.text import show_brief, show_quantity
from regatta.predict.forecast import (
    ApplicationForecast,
    Beyond,
    Forecast,
    PairForecast,
    SpeedUp,
    SystemForecast,
    Verdict,
)
from regatta.predict.prediction import LITTLE
from regatta.predict.times import USER_WORK
from regatta.spec.vectors import Value
from regatta.stats.estimate import Interval

#: beyond this ratio to the measured kernel time, a vector double-counts, or has costs that the application does not pay
MUCH = 1.5
#: problems of one kind that are listed one by one
_TOLD = 4
_JUDGED: tuple[Verdict, ...] = ("right", "wrong", "open")


def sentences_of(forecast: Forecast) -> tuple[str, ...]:
    """Return the answer."""
    # The most specific question comes first.
    found = [_speed_up(one) for one in forecast.speed_ups]
    for one in forecast.applications:
        found += _ranking(one, forecast)
        found += _changes(one, forecast)
        found += _accuracy(one)
        found += _saving(one)
    return tuple(found)


def estimate_of(number: Value) -> Interval:
    """Return an interval of a vector as an estimate."""
    return Interval(number.n, number.value, number.low, number.high, math.nan, "", number.reason)


def time_text(number: Value) -> str:
    """Format `628.7 µs [601.2, 655.0]`; an exact time without its ends."""
    if number.low == number.value == number.high or (math.isnan(number.low) and math.isfinite(number.value)):
        return show_quantity(number.value, "ns", 4)
    return measured(estimate_of(number), "ns")


def ratio_text(number: Value) -> str:
    """Format `7.25 [6.9, 7.6]`."""
    if math.isnan(number.value):
        return f"not known ({number.reason})" if number.reason else "not known"
    if number.low == number.value == number.high or math.isnan(number.low):
        return show_brief(number.value, 3)
    high = show_brief(number.high, 3) if math.isfinite(number.high) else "∞"
    return f"{show_brief(number.value, 3)} [{show_brief(number.low, 3)}, {high}]"


def _ranking(one: ApplicationForecast, forecast: Forecast) -> list[str]:
    name, per = one.application.name, one.application.per
    known = [system for system in one.systems if math.isfinite(system.elapsed.value)]
    if not known:
        return [f"{name}: nothing can be predicted on {listed([system.system for system in one.systems])}"]
    first = known[0]
    what = f"{name} will take {time_text(first.elapsed)} per {per} on {first.system}{_parts(first, one)}"
    if len(known) == 1:
        return [what]
    found = []
    alike = next((group for group in one.groups if first.system in group), ())
    if alike:
        others = [system for system in alike if system != first.system]
        found.append(f"{what}, which cannot be told apart from {listed(others)}")
    else:
        pair = next(
            pair for pair in one.pairs if (pair.faster, pair.slower) == (first.system, known[1].system)
        )
        faster = (
            how_much(estimate_of(pair.ratio))
            if math.isfinite(pair.ratio.low)
            else f"{100 * (pair.ratio.value - 1):.3g} %"
        )
        found.append(f"{what}, the fastest of {len(known)}; {known[1].system} follows with {faster} more")
    last = known[-1]
    ends = next(
        (pair for pair in one.pairs if (pair.faster, pair.slower) == (first.system, last.system)), None
    )
    if ends is not None and len(known) > 2:
        found.append(
            f"{name} takes {ratio_text(ends.ratio)} times as long on the slowest, {last.system}: {time_text(last.elapsed)}"
        )
    for group in one.groups:
        if first.system not in group:
            found.append(f"{name}: {listed(list(group))} cannot be told apart")
    return found


def _parts(system: SystemForecast, one: ApplicationForecast) -> str:
    if one.application.user_time is None:
        return " in the kernel and its primitives (its own time in user mode was not measured)"
    if math.isnan(system.prediction.kernel.value):
        return ""
    kernel = time_text(system.prediction.kernel).partition(" (")[0]
    user = time_text(system.user).partition(" (")[0]
    return f", {kernel} of it in the kernel and {user} in user mode"


def _changes(one: ApplicationForecast, forecast: Forecast) -> list[str]:
    told = (
        listed([f"{change.primitive} {change.text}" for change in forecast.changes])
        if forecast.changes
        else ""
    )
    name, per = one.application.name, one.application.per
    found = []
    for system in one.systems:
        effect = one.effects.get(system.system)
        if effect is None or math.isnan(effect.saved.value):
            continue
        if len(effect.unused) == len(forecast.changes):
            found.append(
                f"{name} does not use {listed(list(effect.unused))}: nothing changes on {system.system}"
            )
            continue
        does, saved, share = "saves", effect.saved, effect.share
        if saved.value < 0:
            does, share = "costs", -share
            saved = Value(-saved.value, -saved.high, -saved.low)
        part = "" if math.isnan(share) else f", {100 * share:.3g} % of what it takes"
        found.append(f"with {told}, {name} {does} {time_text(saved)} per {per} on {system.system}{part}")
    return found


def _accuracy(one: ApplicationForecast) -> list[str]:
    """Describe rank, ratio and time: each is harder than the previous one."""
    told = []
    verdicts: Counter[Verdict] = Counter(pair.verdict for pair in one.pairs if pair.verdict)
    if verdicts:
        told.append(_rank_words(verdicts))
        if off := [ratio for ratio in map(_ratio_off, one.pairs) if math.isfinite(ratio)]:
            told.append(f"predicted ratios are {_off(off)}")
    if off := [system.ratios["elapsed"].value for system in one.systems if "elapsed" in system.ratios]:
        told.append(f"times {_off(off)}")
    if explained := sorted(100 * system.explained for system in one.systems if system.explained > 0):
        told.append(f"{_span(explained)} of the measured kernel time is explained")
    if not told:
        return []
    name = one.application.name
    wrong = [
        f"{name}: {pair.slower} was measured to be faster than {pair.faster}"
        for pair in one.pairs
        if pair.verdict == "wrong"
    ]
    return [f"{name}, held against what was measured: {'; '.join(told)}", *wrong[:_TOLD]]


def _ratio_off(pair: PairForecast) -> float:
    """Return predicted / measured ratio of one quantity; NaN if one of them is unknown."""
    known = pair.verdict and pair.measured.value > 0.0
    return pair.comparable.value / pair.measured.value if known else math.nan


def _rank_words(verdicts: Counter[Verdict]) -> str:
    differ, unknown = verdicts["right"] + verdicts["wrong"] + verdicts["open"], verdicts["unknown"]
    pairs = counted(sum(verdicts.values()), "pair")
    if unknown == sum(verdicts.values()):
        return f"whether systems differ is not known of any pair ({pairs})"
    rest = f"; of {unknown} it is not known whether they differ" if unknown else ""
    if not differ:
        return f"no two systems were measured to differ{rest}"
    if verdicts["right"] == differ:
        return f"every pair that differs is ordered right ({differ} of {pairs}){rest}"
    told = [f"{verdicts[verdict]} {verdict}" for verdict in _JUDGED if verdicts[verdict]]
    return f"of {counted(differ, 'pair')} that differ, {listed(told)}{rest}"


def _off(ratios: Iterable[float]) -> str:
    """Format `7.0 % below`, `from 12 % below to 3.1 % above`."""
    percent = sorted(100.0 * (ratio - 1.0) for ratio in ratios)

    def text(value: float) -> str:
        return f"{show_brief(abs(value), 2)} % {'below' if value < 0 else 'above'}"

    first, last = text(percent[0]), text(percent[-1])
    return first if first == last else f"from {first} to {last}"


def _saving(one: ApplicationForecast) -> list[str]:
    """Describe the largest savings; systems with the same primitive share a sentence."""
    best: dict[str, list[tuple[str, float]]] = {}
    for system in one.systems:
        if savings := one.savings.get(system.system, ()):
            best.setdefault(savings[0].primitive, []).append((system.system, savings[0].share))
    found = []
    for primitive, systems in best.items():
        shares = sorted(100 * share for _, share in systems)
        half, none = (_span([share * part for share in shares]) for part in (0.5, 1.0))
        where = (
            "every system" if len(systems) == len(one.systems) > 1 else listed([name for name, _ in systems])
        )
        found.append(
            f"{primitive} pays most on {where}: at half its cost {one.application.name} takes {half} less, at none {none}"
        )
    return found


def _span(percents: list[float]) -> str:
    first, last = (show_brief(percents[at], 3) for at in (0, -1))
    return f"{first} %" if first == last else f"{first} to {last} %"


def _speed_up(one: SpeedUp) -> str:
    told = listed([f"{new} instead of {old}" for old, new in one.replaced])
    text = f"{told} on {one.system}: {ratio_text(one.kernel)} times as fast in the kernel alone"
    if math.isnan(one.best.value) and math.isnan(one.kernel.value):
        text = f"how much faster {told} makes it on {one.system} is {ratio_text(one.kernel)}"
    elif math.isfinite(one.best.value):
        text = (
            f"{told} makes it {ratio_text(one.best)} times as fast on {one.system} with the time in user mode"
        )
        if math.isfinite(one.own_user.value) and math.isfinite(one.with_user.value):
            text += f" of each, {ratio_text(one.with_user)} if that stayed"
        text += f", {ratio_text(one.kernel)} in the kernel alone"
    if math.isfinite(one.measured.value):
        text += f"; measured {ratio_text(one.measured)}"
    if math.isfinite(one.off):
        text += f", so the prediction is {_off([one.off])} it"
    return text


# Warnings


def warnings_of(forecast: Forecast) -> tuple[str, ...]:
    """Return the warnings, each once."""
    found = [words for one in forecast.applications for words in _warnings(one)]
    found += [
        f"no measured speed-up on {one.system}: {one.unmeasured}"
        for one in forecast.speed_ups
        if one.unmeasured
    ]
    return tuple(dict.fromkeys(found))


def _warnings(one: ApplicationForecast) -> Iterator[str]:
    name = one.application.name
    for system in one.systems:
        where = f"{name} on {system.system}"
        if system.prediction.missing:
            missing = listed(list(system.prediction.missing))
            yield f"{system.system} has no cost for {missing}: nothing is predicted of {name} there"
        if system.warning:
            yield f"{where}: {system.warning}"
        elif system.explained > MUCH:
            yield (
                f"the vector of {name} predicts {100 * system.explained:.0f} % of the measured kernel time on {system.system}:"
                " something is counted twice, or its costs have waiting in them (under a quota) that the kernel's measured time has not"
            )
        if system.unmeasured:
            yield f"no measured time beside {where}: {system.unmeasured}"
    yield from _of_user_time(one)
    once = [count.count.n == 1 and math.isfinite(count.count.low) for count in one.application.counts]
    if any(once):
        # Of a mix, those counts that come from an application with a single trace.
        which = "the counts" if all(once) else "some counts"
        yield f"{which} of {name} are of one trace: how much they vary is in no interval"
    user = one.application.user_time
    if user is not None and user.n == 1 and math.isfinite(user.low):
        yield f"the user time of {name} is of one run: how much it varies is in no interval"
    yield from _beyond(one)
    for system in one.systems:
        told, where = system.prediction, f"{name} on {system.system}"
        if math.isfinite(told.time.value) and math.isnan(system.elapsed.value):
            yield f"nothing is predicted of {where}: {system.elapsed.reason}"
        elif math.isfinite(told.time.value) and math.isnan(told.kernel.value):
            yield f"which part of {where} is the kernel's is not known: {told.kernel.reason}"
    if any(math.isnan(system.elapsed.low) and math.isfinite(system.elapsed.value) for system in one.systems):
        reasons = (system.elapsed.reason for system in one.systems if system.elapsed.reason)
        yield f"some times of {name} have no interval: {next(reasons, 'a number in their vectors has none')}"


def _of_user_time(one: ApplicationForecast) -> Iterator[str]:
    """Yield warnings where the application's user time is unknown, or not scaled to a system."""
    name = one.application.name
    if one.application.user_time is None:
        yield f"the user time of {name} was not measured: times are those of its primitives alone"
    elif one.unscaled:
        yield (
            f"the user time of {name} is taken to be the same on {listed(list(one.unscaled))} as on {one.traced_on}, where it was measured:"
            f" one of both has no cost of {USER_WORK}"
        )
    elif not one.traced_on:
        yield (
            f"the user time of {name} was measured on none of these systems: its own part is taken to be the same on all"
        )


def _beyond(one: ApplicationForecast) -> list[str]:
    """Describe costs outside of the measured range that take more than a small part of the time."""
    found: dict[tuple[str, str], list[tuple[SystemForecast, Beyond]]] = {}
    for system in one.systems:
        for use in system.beyond:
            if use.time > LITTLE * system.prediction.time.value:
                found.setdefault((use.primitive, use.argument), []).append((system, use))
    told = []
    for (primitive, argument), each in found.items():
        low, high = max(use.low for _, use in each), min(use.high for _, use in each)
        ends = [f"down to {use.least:,.6g}" for _, use in each[:1] if use.least < low]
        ends += [f"up to {use.largest:,.6g}" for _, use in each[:1] if use.largest > high]
        shares = sorted(100 * use.time / system.prediction.time.value for system, use in each)
        told.append(
            f"{primitive} was measured with {argument} from {low:,.6g} to {high:,.6g}, and {one.application.name} uses it with {listed(ends)}:"
            f" {_span(shares)} of the predicted time on {listed([system.system for system, _ in each])} is a guess of how it goes on"
        )
    return told

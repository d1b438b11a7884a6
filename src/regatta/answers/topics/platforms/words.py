"""Describe how platforms compare."""

from __future__ import annotations

import math
from collections.abc import Collection
from datetime import UTC, datetime

from regatta.answers.kit.headline import FEW, outcomes_of
from regatta.answers.spine.context import Context
from regatta.answers.spine.names import heap_words
from regatta.answers.spine.verdicts import shows_difference
from regatta.answers.spine.words import (
    bound_words,
    compared,
    counted,
    decimals_beside_0,
    how_much,
    listed,
    no_difference,
    too_small,
)
from regatta.answers.topics.platforms.all_pairs import AllPairs
from regatta.answers.topics.platforms.compute import PlatformMean, PlatformRatio, Platforms, PlatformTimes
from regatta.figures.text import parameters_text
from regatta.stats.estimate import Interval


def platform_words(found: Platforms, context: Context) -> tuple[str, ...]:
    """Return all findings: leaders among three or more, means over the benchmarks, each ratio, and the times of measurement."""
    return (
        *(one.words for one in found.all_pairs if one.words),
        *(_mean(one, found, context) for one in found.means),
        *(_ratio(one, found, context) for one in found.ratios),
        *(_times(one) for one in found.times),
    )


def leading_words(found: Platforms, context: Context) -> tuple[str, ...]:
    """Return the first sentences: means over the benchmarks, else few ratios, else a summary; with a drift that they include."""
    if found.missing:
        return (f"no ratios of {found.by}s: the baseline {found.missing} has no records yet",)
    if led := _leading(found):
        return tuple(one.words + _drift(one.names, found) for one in led)
    if found.means:
        return tuple(
            _mean(one, found, context, brief=True) + _drift((one.a, one.b), found) for one in found.means
        )
    if len(found.ratios) <= FEW:
        return tuple(_ratio(one, found, context) + _drift((one.a, one.b), found) for one in found.ratios)
    pairs = dict.fromkeys((one.a, one.b) for one in found.ratios)
    return tuple(
        f"{_title(a, found, context)} compared with {_title(b, found, context)}: "
        + outcomes_of(
            (one.these, one.verdict, one.better) for one in found.ratios if (one.a, one.b) == (a, b)
        )
        + _drift((a, b), found)
        for a, b in pairs
    )


def _leading(found: Platforms) -> list[AllPairs]:
    """Return the leaders over the benchmarks, else those of the only benchmark of a configuration; few, among three or more."""
    over = [one for one in found.all_pairs if one.words and len(one.benchmarks) > 1]
    led = over or [one for one in found.all_pairs if one.words]
    return led if len(led) <= FEW else []


def _title(name: str, found: Platforms, context: Context, hosts: Collection[str] = ()) -> str:
    """Return `x86 (1 of 2 hosts: xeon)`, or the name of a host. `hosts`: those in the ratio; empty: those with records."""
    of = {platform.name: platform for platform in context.platforms}
    return of[name].title(hosts or found.hosts[name]) if found.by == "platform" else name


def _ratio(one: PlatformRatio, found: Platforms, context: Context) -> str:
    parts = [
        f"{one.where}: {_difference(one, one.unit, found, context)}",
        _similar_hosts(one.these, one.like_these, found),
    ]
    return "; ".join(filter(None, parts))


def _mean(one: PlatformMean, found: Platforms, context: Context, brief: bool = False) -> str:
    several = len({(other.place.configuration, other.place.heap.asked) for other in found.means}) > 1
    where = f", {one.place.configuration}{heap_words(one.place.heap.asked)}" if several else ""
    where += f", {values}" if (values := parameters_text(one.parameters)) else ""
    if one.left_out and not brief:
        where += f" (excluded: {listed([context.names.benchmark(label) for label, _ in one.left_out])})"
    words = f"geometric mean of {len(one.benchmarks)} benchmarks{where}: {_difference(one, one.unit, found, context)}"
    parts = [
        words,
        _similar_hosts(one.these, one.similar_hosts, found),
        _similar(one.these, one.like_these, "benchmarks"),
    ]
    return "; ".join(filter(None, parts[:2] if brief else parts))


def _difference(one: PlatformRatio | PlatformMean, unit: str, found: Platforms, context: Context) -> str:
    a, b = _title(one.a, found, context, one.hosts_a), _title(one.b, found, context, one.hosts_b)
    these = one.these
    if math.isnan(these.low):
        return f"{a} and {b} not compared ({these.reason})"
    if not shows_difference(these):
        return no_difference(a, b, these)
    words = compared(a, b, these, one.metric, unit, one.better)
    if isinstance(one, PlatformRatio) and one.p_holm > 1.0 - these.level:
        words += "; not significant after adjustment for all comparisons (Holm)"
    elif one.verdict.significant == "no":
        words += f"; not significant after adjustment for all pairs of {found.by}s"
    return f"{words}; {too_small(context.facts.theta_percent)}" if one.verdict.practical == "no" else words


def _similar_hosts(these: Interval, like_these: Interval, found: Platforms) -> str:
    """Describe the scope of the ratio of platforms; "" for a ratio of hosts."""
    if found.by == "host":
        return ""
    return (
        "valid for these hosts only" if math.isnan(like_these.low) else _similar(these, like_these, "hosts")
    )


def _similar(these: Interval, like_these: Interval, what: str) -> str:
    if math.isnan(like_these.low):
        return f"similar {what}: undefined ({like_these.reason})"
    if not shows_difference(these):
        return f"similar {what}: {bound_words([like_these])}"
    shown = (
        "significant if these are a representative sample"
        if shows_difference(like_these)
        else "not significant"
    )
    return f"similar {what}: {how_much(like_these)}, {shown}"


def _times(one: PlatformTimes) -> str:
    first, last = (datetime.fromtimestamp(ns / 1e9, UTC) for ns in (one.first_utc_ns, one.last_utc_ns))
    when = f"{one.platform}: measured from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"
    if math.isnan(one.drift.point):
        return f"{when}; drift undefined ({one.drift.reason})"
    return f"{when}; second half compared with the first: {_change(one.drift)}"


def _drift(compared: Collection[str], found: Platforms) -> str:
    """Return `; drift of arm while it was measured: +3.1 % [+2.0, +4.2]` for each platform whose values changed significantly."""
    return "".join(
        f"; drift of {one.platform} while it was measured: {_change(one.drift)}"
        for one in found.times
        if one.platform in compared and shows_difference(one.drift)
    )


def _change(drift: Interval) -> str:
    """Return `+3.1 % [+2.0, +4.2]`; for counts that do not vary `exactly +2 %` or `exactly equal`."""
    point, *ends = ((ratio - 1.0) * 100.0 for ratio in (drift.point, drift.low, drift.high))
    if drift.is_exact:
        return f"exactly {point:+.6g} %" if point else "exactly equal"
    if math.isnan(drift.low):
        return f"{point:+.1f} %"
    decimals = decimals_beside_0(ends, 1)
    low, high = (f"{end:+.{decimals}f}" for end in ends)
    return f"{point:+.{decimals}f} % [{low}, {high}]"


def counted_hosts(hosts: Collection[str]) -> str:
    """Return `alpha`, or `3 hosts`."""
    return next(iter(hosts)) if len(hosts) == 1 else counted(len(hosts), "host")

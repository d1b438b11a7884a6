"""Tables of predictions, for the page and a terminal: ranking, entries, pairs, speedups, changes, savings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from regatta.figures.section import Table
from regatta.figures.text import (
    ABSENT,
    Scale,
    choose_scale,
    show_brief,
    show_ends,
    show_percent,
    show_ratio,
    show_share,
    significant,
)
from regatta.models.predict.forecast import ApplicationForecast, Change, Saving, SpeedUp, SystemForecast
from regatta.models.predict.words import estimate_of, replacements
from regatta.models.vectors.values import Contribution, Value

EXPLAINED = "explained kernel time"
#: the unit of work of servers
REQUEST = "request"
#: columns of intervals that a narrow terminal omits
INTERVALS = ("kernel CI", "measured CI")
CONTRIBUTIONS = ("primitive", "arguments", "cost", "count", "time", "CI", "share", "counted calls (rule)")
PAIRS = (
    "application",
    "faster",
    "slower",
    "time",
    "predicted ratio",
    "CI",
    "measured ratio",
    "measured CI",
    "ratio by score",
    "verdict",
)
THROUGHPUT = ("system", "predicted", "CI", "measured", "measured CI", "error")
SPEED_UPS = ("system", "replacement", "kernel time (r)", "constant user time (r')", "CI of r'",
             "measured user times", "CI", "measured", "measured CI", "predicted / measured", "note")  # fmt: skip
CHANGES = ("system", "saved time", "CI", "saved", "note")
SAVINGS = (
    "primitive",
    "time",
    "CI",
    "saved at half cost",
    "saved at no cost",
    "saved at lowest cost",
    "lowest on",
)


# The displayed time of an application: both sides of a comparison, and their ratio, use one quantity

#: `elapsed`: with the application's user time; `primitives`: these alone; `kernel`: their part in the kernel
Shown = Literal["elapsed", "kernel", "primitives"]
#: quantities that can be measured
COMPARED: tuple[Shown, ...] = ("elapsed", "kernel")
#: text in axes and titles
WORDS: Mapping[Shown, str] = {
    "elapsed": "elapsed time",
    "kernel": "kernel time",
    "primitives": "primitive time",
}


def ranked_by(one: ApplicationForecast) -> Shown:
    """Return the time by which systems are ranked."""
    return "primitives" if one.application.user_time is None else "elapsed"


def compared_by(one: ApplicationForecast) -> Shown:
    """Return the time to compare with measurements: elapsed if every side of every system has it, else the kernel's."""
    measured = [system.measured for system in one.systems if system.measured is not None]
    whole = all(math.isfinite(each.elapsed.value) for each in measured)
    return "elapsed" if ranked_by(one) == "elapsed" and whole else "kernel"


def shown_by(one: ApplicationForecast) -> Shown:
    """Return the time of a figure of both sides; without measurements the ranking time."""
    return compared_by(one) if any(system.measured is not None for system in one.systems) else ranked_by(one)


def predicted_of(system: SystemForecast, what: Shown) -> Value:
    """Return a predicted time."""
    if what == "elapsed":
        return system.elapsed
    return system.prediction.kernel if what == "kernel" else system.prediction.time


def measured_of(system: SystemForecast, what: Shown) -> Value:
    """Return a measured time; NaN without a measurement."""
    if system.measured is None or what == "primitives":
        return Value(math.nan)
    return system.measured.elapsed if what == "elapsed" else system.measured.kernel


# Ranking


def group_words(one: ApplicationForecast) -> list[str]:
    """Return `not distinguishable: a, b`, for each group of several."""
    return [f"not distinguishable: {', '.join(group)}" for group in one.groups if len(group) > 1]


def ranking_table(one: ApplicationForecast, title: str) -> Table:
    """List systems, the fastest first, with the measurement of the quantity that the columns name."""
    ranked, what = ranked_by(one), compared_by(one)
    numbers = [
        number
        for system in one.systems
        for number in (predicted_of(system, ranked), measured_of(system, what))
    ]
    scale = scale_of(numbers)
    level = show_percent(one.systems[0].prediction.level)
    # Methods of a library have no part in the kernel.
    in_kernel = any(
        system.prediction.kernel.value != 0.0
        for system in one.systems
        if math.isfinite(system.prediction.time.value)
    )
    parts = ("predicted kernel", "predicted user") if in_kernel else ("in primitives", "own code")
    columns = (
        "system", f"predicted {ranked}", "CI", parts[0], INTERVALS[0], parts[1],
        f"measured {what}", INTERVALS[1], f"predicted / measured {what}", EXPLAINED,
    )  # fmt: skip
    rows = []
    for system in one.systems:
        measured = measured_of(system, what)
        kernel = system.prediction.kernel if in_kernel else system.prediction.time
        there = system.measured is not None
        rows.append(
            (
                system.system,
                scale.show(predicted_of(system, ranked).value),
                show_ends(predicted_of(system, ranked), scale.show),
                scale.show(kernel.value),
                show_ends(kernel, scale.show) if there and what == "kernel" else "",
                scale.show(system.elapsed.value - kernel.value),
                scale.show(measured.value) if there else "",
                show_ends(measured, scale.show) if there else "",
                show_ratio(system.ratios[what].value) if what in system.ratios else "",
                show_share(system.explained) if there and in_kernel else "",
            )
        )
    return _without_empty(
        Table(f"{title} ({scale.unit}, {level} CI)", columns, rows, frozenset(range(1, len(columns))))
    )


def _without_empty(table: Table) -> Table:
    """Return the table without empty columns."""
    return table.of_columns(at for at in range(len(table.columns)) if any(row[at] for row in table.rows))


# Throughput


def throughput_table(one: ApplicationForecast) -> Table:
    """List requests per second of one processor that is always busy: the reciprocal of the elapsed time of a request.

    Empty for an application with another unit of work, or without a user time, whose elapsed time is unknown.
    """
    if one.application.per != REQUEST or ranked_by(one) != "elapsed":
        return Table("", THROUGHPUT, [], frozenset())
    rows = []
    for system in one.systems:
        predicted, measured = (_per_second(time) for time in (system.elapsed, measured_of(system, "elapsed")))
        error = predicted.value / measured.value - 1.0
        rows.append(
            (
                system.system, _show_rate(predicted.value), show_ends(predicted, _show_rate),
                *((_show_rate(measured.value), show_ends(measured, _show_rate), f"{100 * error:+.1f} %") if math.isfinite(error) else ("", "", "")),
            )
        )  # fmt: skip
    level = show_percent(one.systems[0].prediction.level)
    title = f"Throughput of {one.application.name} at saturation of one processor (requests/s, {level} CI)"
    return _without_empty(Table(title, THROUGHPUT, rows, frozenset(range(1, len(THROUGHPUT)))))


def _per_second(time: Value) -> Value:
    """Return how often per second something of this time, in ns, is done: the ends are exact, as the function is monotone."""
    if not time.value > 0.0:
        return Value(math.nan)
    low, high = (1e9 / end if end > 0.0 else math.nan for end in (time.high, time.low))
    return Value(1e9 / time.value, low, high)


def _show_rate(value: float) -> str:
    return show_brief(value, 4)


# Contributions


def contribution_table(title: str, system: SystemForecast) -> Table:
    """List the rows of one system, the largest first, and their total."""
    prediction = system.prediction
    scale = scale_of(row.time for row in prediction.contributions)
    rows = [
        (
            row.primitive, arguments_text(row.arguments), cost_text(row, scale), show_brief(row.count.value, 6),
            scale.show(row.time.value), show_ends(row.time, scale.show), show_share(row.share), stands_for_text(row),
        )
        for row in by_share(prediction.contributions)
    ]  # fmt: skip
    time = prediction.time
    total = ("total", "", "", "", scale.show(time.value), show_ends(time, scale.show), "", "")
    title = f"{title} ({scale.unit}, {show_percent(prediction.level)} CI)"
    return _without_empty(Table(title, CONTRIBUTIONS, [*rows, total], frozenset({2, 3, 4, 5, 6})))


def by_share(rows: Iterable[Contribution]) -> list[Contribution]:
    """Sort by time, the largest first; undefined times last."""
    return sorted(rows, key=lambda row: (math.isnan(row.time.value), -row.time.value))


def arguments_text(arguments: Mapping[str, float]) -> str:
    """Format arguments, as `bytes 14,712`."""
    return ", ".join(f"{name} {show_brief(value, 6)}" for name, value in arguments.items())


def cost_text(row: Contribution, scale: Scale) -> str:
    """Format the cost of one operation or unit, with its unit if that is not an operation."""
    if not math.isfinite(row.cost.value):
        return ABSENT
    value = row.cost.value * scale.factor
    text = f"{value:.3g}" if value and abs(value) < 0.1 else significant(value, 4)
    return text if row.unit in ("", "operation") else f"{text} / {row.unit}"


def stands_for_text(row: Contribution) -> str:
    """Format `getpid, times (the null call)`; "" for an entry that was itself counted."""
    calls = ", ".join(row.stands_for)
    return f"{calls} ({row.rule})" if calls and row.rule else calls or row.rule


# Accuracy


def pairs_table(applications: Iterable[ApplicationForecast]) -> Table:
    """List pairs of systems: the predicted ratio, the measured one, and whether the order is right."""
    rows = [
        (
            one.application.name, pair.faster, pair.slower, pair.quantity or ranked_by(one),
            show_ratio(pair.comparable.value), show_ends(pair.comparable),
            show_ratio(pair.measured.value) if pair.verdict else "", show_ends(pair.measured),
            show_ratio(pair.score.value) if math.isfinite(pair.score.value) else "",
            pair.verdict or ("" if pair.told_apart else "not distinguishable"),
        )
        for one in applications
        for pair in one.pairs
    ]  # fmt: skip
    return _without_empty(
        Table("Pairs of systems: time of slower / faster", PAIRS, rows, frozenset({4, 5, 6, 7, 8}))
    )


# Speed-ups


def speed_ups_table(speed_ups: Iterable[SpeedUp], title: str = "") -> Table:
    """List the speedups by replacements on each system, in each variant; the note says why there is none."""
    rows = [
        (
            one.system, replacements(one), show_ratio(one.kernel.value),
            show_ratio(one.with_user.value), show_ends(one.with_user), show_ratio(one.own_user.value), show_ends(one.own_user),
            show_ratio(one.measured.value), show_ends(one.measured), show_ratio(one.off),
            f"undefined ({one.best.reason})" if math.isnan(one.best.value) else "",
        )
        for one in speed_ups
    ]  # fmt: skip
    table = Table(title, SPEED_UPS, rows, frozenset(range(2, len(SPEED_UPS) - 1)))
    # A column without any number says less than the note.
    return table.of_columns(
        at for at in range(len(SPEED_UPS)) if any(row[at] not in ("", ABSENT) for row in rows)
    )


# Changes, savings


def changes_table(one: ApplicationForecast, changes: Sequence[Change]) -> Table:
    """List the effect of the changes on each system, per unit of work; a negative saving is a loss."""
    scale = scale_of(effect.saved for effect in one.effects.values())
    rows = [
        (
            system.system, scale.show(effect.saved.value), show_ends(effect.saved, scale.show), show_share(effect.share),
            f"not used: {', '.join(effect.unused)}" if effect.unused else effect.saved.reason,
        )
        for system in one.systems
        if (effect := one.effects.get(system.system)) is not None
    ]  # fmt: skip
    changed = ", ".join(change.words for change in changes)
    title = f"Effect of {changed} on {one.application.name}, per {one.application.per} ({scale.unit})"
    return _without_empty(Table(title, CHANGES, rows, frozenset({1, 2, 3})))


def savings_table(savings: Sequence[Saving], title: str) -> Table:
    """List the possible saving by each primitive on one system, the largest first."""
    scale = scale_of(saving.time for saving in savings)
    rows = [
        (
            saving.primitive, scale.show(saving.time.value), show_ends(saving.time, scale.show), show_share(saving.share / 2),
            show_share(saving.share), show_share(saving.as_best_share) if saving.best else "", saving.best,
        )
        for saving in savings
    ]  # fmt: skip
    return Table(f"{title} ({scale.unit})", SAVINGS, rows, frozenset(range(1, 6)))


# Numbers


def scale_of(numbers: Iterable[Value]) -> Scale:
    """Choose one unit of time and one number of decimals for all numbers, in ns."""
    return choose_scale([estimate_of(number) for number in numbers], "ns")

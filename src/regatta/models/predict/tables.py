"""Tables of predictions, for the page and a terminal: ranking, entries, pairs, speedups, changes, savings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from regatta.figures.section import Column, Table, table_of
from regatta.figures.text import (
    ABSENT,
    Scale,
    choose_scale,
    ends_or_absent,
    show_brief,
    show_ends,
    show_percent,
    show_ratio,
    show_share,
    significant,
)
from regatta.models.predict.forecast import (
    ApplicationForecast,
    Change,
    Effect,
    PairForecast,
    Saving,
    SpeedUp,
    SystemForecast,
)
from regatta.models.predict.words import estimate_of, replacements
from regatta.models.vectors.values import WHOLE, Contribution, Count, Value

#: the unit of work of servers
REQUEST = "request"
CALLS = "counted calls (rule)"
#: columns of the ranking that a narrow terminal omits
KERNEL_CI, MEASURED_CI, EXPLAINED = "kernel CI", "measured CI", "explained kernel time"


# Shared by the tables


def interval_columns(
    title: str, ends: str, value: Callable[[Any], Value | None], show: Callable[[float], str] = show_ratio
) -> tuple[Column[Any], Column[Any]]:
    """Return the column of a number and that of its interval; a row without a value has "" in both."""
    return (
        Column(title, lambda row: "" if (found := value(row)) is None else show(found.value), True),
        Column(ends, lambda row: "" if (found := value(row)) is None else ends_or_absent(found, show), True),
    )


def show_error(error: float) -> str:
    """Format a relative error, `+3.5 %`; `ABSENT` if it is undefined."""
    return f"{100 * error:+.1f} %" if math.isfinite(error) else ABSENT


def ratio_column(title: str, value: Callable[[Any], Value | None]) -> Column[Any]:
    """Return the column of a ratio without its interval."""
    return Column(title, lambda row: "" if (found := value(row)) is None else show_ratio(found.value), True)


def without_blank(table: Table) -> Table:
    """Return the table without columns of which every text is ""; `ABSENT` is an undefined number."""
    return table.of_columns(at for at in range(len(table.columns)) if any(row[at] for row in table.rows))


def scale_of(numbers: Iterable[Value]) -> Scale:
    """Choose one unit of time and one number of decimals for all numbers, in ns."""
    return choose_scale([estimate_of(number) for number in numbers], "ns")


def if_finite(number: Value) -> Value | None:
    """Return the number; None if it is undefined."""
    return number if math.isfinite(number.value) else None


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
    """Return the time to compare with measurements: elapsed if all systems have both, else the kernel's."""
    measured = [system.measured for system in one.systems if system.measured is not None]
    whole = all(math.isfinite(each.elapsed.value) for each in measured)
    return "elapsed" if ranked_by(one) == "elapsed" and whole else "kernel"


def shown_by(one: ApplicationForecast) -> Shown:
    """Return the time of a figure of both sides; without measurements the ranking time."""
    return compared_by(one) if any(system.measured is not None for system in one.systems) else ranked_by(one)


def predicted_of(system: SystemForecast, what: Shown) -> Value:
    """Return a predicted time."""
    return system.kernel if what == "kernel" else system.elapsed


def measured_of(system: SystemForecast, what: Shown) -> Value:
    """Return a measured time; NaN without a measurement."""
    if system.measured is None or what == "primitives":
        return Value(math.nan)
    return system.measured.elapsed if what == "elapsed" else system.measured.kernel


# Ranking


def group_words(one: ApplicationForecast) -> list[str]:
    """Return `not distinguishable: a, b`, for each group of several."""
    return [f"not distinguishable: {', '.join(group)}" for group in one.groups if len(group) > 1]


def ranking_table(one: ApplicationForecast) -> Table:
    """List systems, the fastest first, with the measurement of the quantity that the columns name."""
    ranked, what = ranked_by(one), compared_by(one)
    scale = scale_of(
        number
        for system in one.systems
        for number in (predicted_of(system, ranked), measured_of(system, what))
    )
    # Methods of a library have no part in the kernel.
    in_kernel = any(
        system.prediction.kernel.value != 0.0
        for system in one.systems
        if math.isfinite(system.prediction.time.value)
    )
    parts = ("predicted kernel", "predicted user") if in_kernel else ("in primitives", "own code")

    def first(system: SystemForecast) -> float:
        return system.kernel.value if in_kernel else system.in_primitives

    def kernel_ends(system: SystemForecast) -> str:
        compared = system.measured is not None and what == "kernel"
        kernel = system.kernel if in_kernel else system.prediction.time
        return show_ends(kernel, scale.show) if compared else ""

    def explained(system: SystemForecast) -> str:
        return show_share(system.explained) if system.measured is not None and in_kernel else ""

    def measured(system: SystemForecast) -> Value | None:
        return None if system.measured is None else measured_of(system, what)

    def rest(system: SystemForecast) -> float:
        return system.elapsed.value - first(system) - math.fsum(system.parts.values())

    def part_of(name: str) -> Column[SystemForecast]:
        return Column(name, lambda system: scale.show(system.parts.get(name, math.nan)), True)

    columns: list[Column[SystemForecast]] = [
        Column("system", lambda system: system.system),
        *interval_columns(f"predicted {ranked}", "CI", lambda one: predicted_of(one, ranked), scale.show),
        Column(parts[0], lambda system: scale.show(first(system)), True),
        Column(KERNEL_CI, kernel_ends, True),
        Column(parts[1], lambda system: scale.show(rest(system)), True),
        *map(part_of, dict.fromkeys(name for system in one.systems for name in system.parts)),
        *interval_columns(f"measured {what}", MEASURED_CI, measured, scale.show),
        ratio_column(f"predicted / measured {what}", lambda system: system.ratios.get(what)),
        Column(EXPLAINED, explained, True),
    ]
    level = show_percent(one.systems[0].prediction.level)
    title = f"{one.application.name}, per {one.application.per} ({scale.unit}, {level} CI)"
    return without_blank(table_of(title, one.systems, columns))


def throughput_table(one: ApplicationForecast) -> Table:
    """List requests per second of one processor that is always busy: the reciprocal of their elapsed time.

    Empty for an application with another unit of work, or without a user time, whose elapsed time is unknown.
    """
    if one.application.per != REQUEST or ranked_by(one) != "elapsed":
        return Table("", (), [])
    rows: list[tuple[str, Value, Value | None]] = []
    for system in one.systems:
        predicted, measured = _per_second(system.elapsed), _per_second(measured_of(system, "elapsed"))
        both = math.isfinite(predicted.value / measured.value)
        rows.append((system.system, predicted, measured if both else None))
    rate = partial(show_brief, digits=4)
    columns: list[Column[tuple[str, Value, Value | None]]] = [
        Column("system", lambda row: row[0]),
        *interval_columns("predicted", "CI", lambda row: row[1], rate),
        *interval_columns("measured", MEASURED_CI, lambda row: row[2], rate),
        Column(
            "error", lambda row: "" if row[2] is None else show_error(row[1].value / row[2].value - 1.0), True
        ),
    ]
    level = show_percent(one.systems[0].prediction.level)
    title = f"Throughput of {one.application.name} at saturation of one processor (requests/s, {level} CI)"
    return without_blank(table_of(title, rows, columns))


def _per_second(time: Value) -> Value:
    """Return how often per second something of this time, in ns, is done, with the exact interval."""
    if not time.value > 0.0:
        return Value(math.nan)
    low, high = (1e9 / end if end > 0.0 else math.nan for end in (time.high, time.low))
    return Value(1e9 / time.value, low, high)


# Contributions


def contribution_table(one: ApplicationForecast, system: SystemForecast) -> Table:
    """List the entries on one system, the largest first, and their total."""
    prediction = system.prediction
    scale = scale_of(row.time for row in prediction.contributions)
    rows = sorted(prediction.contributions, key=lambda row: (math.isnan(row.time.value), -row.time.value))
    columns: list[Column[Contribution]] = [
        Column("primitive", lambda row: row.primitive),
        Column("arguments", lambda row: arguments_text(row.arguments)),
        Column("cost", lambda row: _cost_text(row, scale), True),
        Column("count", lambda row: show_brief(row.count.value, 6), True),
        *interval_columns("time", "CI", lambda row: row.time, scale.show),
        Column("share", lambda row: show_share(row.share), True),
        Column(CALLS, calls_text),
    ]
    title = f"{one.application.name} on {system.system} ({scale.unit}, {show_percent(prediction.level)} CI)"
    table = table_of(title, rows, columns)
    time, ends = scale.show(prediction.time.value), show_ends(prediction.time, scale.show)
    total = ("total", "", "", "", time, ends, "", "")
    return without_blank(replace(table, rows=[*table.rows, total]))


def arguments_text(arguments: Mapping[str, float]) -> str:
    """Format arguments, as `bytes 14,712`."""
    return ", ".join(f"{name} {show_brief(value, 6)}" for name, value in arguments.items())


def _cost_text(row: Contribution, scale: Scale) -> str:
    """Format the cost of one operation or unit, with its unit if that is not an operation."""
    if not math.isfinite(row.cost.value):
        return ABSENT
    value = row.cost.value * scale.factor
    text = f"{value:.3g}" if value and abs(value) < 0.1 else significant(value, 4)
    return text if row.unit in ("", "operation", WHOLE) else f"{text} / {row.unit}"


def calls_text(row: Contribution | Count) -> str:
    """Format `getpid, times (the null call)`; "" for an entry that was itself counted."""
    calls = ", ".join(row.stands_for)
    return f"{calls} ({row.rule})" if calls and row.rule else calls or row.rule


# Accuracy


def pairs_table(applications: Iterable[ApplicationForecast]) -> Table:
    """List pairs of systems: the predicted ratio, the measured one, and whether the order is right."""
    rows = [(one, pair) for one in applications for pair in one.pairs]
    columns: list[Column[tuple[ApplicationForecast, PairForecast]]] = [
        Column("application", lambda row: row[0].application.name),
        Column("faster", lambda row: row[1].faster),
        Column("slower", lambda row: row[1].slower),
        Column("time", lambda row: row[1].quantity or ranked_by(row[0])),
        *interval_columns("predicted ratio", "CI", lambda row: row[1].comparable),
        *interval_columns(
            "measured ratio", MEASURED_CI, lambda row: row[1].measured if row[1].verdict else None
        ),
        ratio_column("ratio by score", lambda row: if_finite(row[1].score)),
        Column("verdict", lambda row: row[1].verdict or ("" if row[1].told_apart else "not distinguishable")),
    ]
    return without_blank(table_of("Pairs of systems: time of slower / faster", rows, columns))


# Speed-ups, changes, savings


def speed_ups_table(speed_ups: Iterable[SpeedUp]) -> Table:
    """List the speedups by replacements on each system, in each variant; the note says why there is none."""
    columns: list[Column[SpeedUp]] = [
        Column("system", lambda one: one.system),
        Column("replacement", replacements),
        ratio_column("kernel time (r)", lambda one: one.kernel),
        *interval_columns("constant user time (r')", "CI of r'", lambda one: one.with_user),
        *interval_columns("measured user times", "CI", lambda one: one.own_user),
        *interval_columns("measured", MEASURED_CI, lambda one: one.measured),
        Column("predicted / measured", lambda one: show_ratio(one.off), True),
        Column("note", lambda one: f"undefined ({one.best.reason})" if math.isnan(one.best.value) else ""),
    ]
    # A column without any number says less than the note.
    return table_of("", speed_ups, columns).without_empty()


def changes_table(one: ApplicationForecast, changes: Sequence[Change]) -> Table:
    """List the effect of the changes on each system, per unit of work; a negative saving is a loss."""
    rows = [
        (system.system, one.effects[system.system]) for system in one.systems if system.system in one.effects
    ]
    scale = scale_of(effect.saved for _, effect in rows)

    def unused(effect: Effect) -> str:
        return f"not used: {', '.join(effect.unused)}" if effect.unused else ""

    columns: list[Column[tuple[str, Effect]]] = [
        Column("system", lambda row: row[0]),
        *interval_columns("saved time", "CI", lambda row: row[1].saved, scale.show),
        Column("saved", lambda row: show_share(row[1].share), True),
        Column("note", lambda row: unused(row[1]) or row[1].saved.reason),
    ]
    changed = ", ".join(change.words for change in changes)
    title = f"Effect of {changed} on {one.application.name}, per {one.application.per} ({scale.unit})"
    return without_blank(table_of(title, rows, columns))


def savings_tables(one: ApplicationForecast) -> list[Table]:
    """List the possible saving by each primitive, the largest first, on each system."""
    names = (system.system for system in one.systems)
    return [_savings_table(one, name, savings) for name in names if (savings := one.savings.get(name))]


def _savings_table(one: ApplicationForecast, system: str, savings: Sequence[Saving]) -> Table:
    scale = scale_of(saving.time for saving in savings)
    columns: list[Column[Saving]] = [
        Column("primitive", lambda saving: saving.primitive),
        *interval_columns("time", "CI", lambda saving: saving.time, scale.show),
        Column("saved at half cost", lambda saving: show_share(saving.share / 2), True),
        Column("saved at no cost", lambda saving: show_share(saving.share), True),
        Column("saved at lowest cost", lambda one: show_share(one.as_best_share) if one.best else "", True),
        Column("lowest on", lambda saving: saving.best),
    ]
    return table_of(
        f"Possible savings for {one.application.name} on {system} ({scale.unit})", savings, columns
    )

"""The page of predictions: ranking beside what was measured, contributions, speed-ups, what would pay."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from regatta.analysis.prediction_words import estimate_of
from regatta.model.forecast import ApplicationForecast, Forecast, Saving, SpeedUp, SystemForecast
from regatta.model.vectors import Contribution, Interval
from regatta.report.axes import Group
from regatta.report.labels import shorten
from regatta.report.page import write_topics_page
from regatta.report.prediction_figures import (
    EntryLooks,
    accuracy_figure,
    accuracy_legend,
    contribution_figure,
    ranking_figure,
    ranking_legend,
    speed_up_figure,
    speed_up_legend,
)
from regatta.report.prediction_times import (
    COMPARED,
    WORDS,
    compared_by,
    measured_of,
    predicted_of,
    ranked_by,
)
from regatta.report.quantities import (
    ABSENT,
    Scale,
    choose_scale,
    interval,
    show_percent,
    show_ratio,
    significant,
)
from regatta.report.topic import Table, Topic

EXPLAINED = "explained of kernel time"
#: columns of intervals that a narrow terminal leaves out
INTERVALS = ("kernel interval", "measured interval")
CONTRIBUTIONS = ("entry", "with", "cost", "count", "time", "interval", "share", "stands for, by which rule")
PAIRS = (
    "application",
    "faster",
    "slower",
    "of",
    "predicted ratio",
    "interval",
    "measured ratio",
    "measured interval",
    "order",
)
SPEED_UPS = ("system", "replaced", "kernel's times alone (r)", "with user time (r')", "interval",
              "each with its own user time", "its interval", "measured", "measured interval", "predicted / measured")  # fmt: skip
SAVINGS = (
    "primitive",
    "takes",
    "interval",
    "half its cost saves",
    "none of it saves",
    "its best cost saves",
    "which is on",
)


def write_predictions(forecast: Forecast, path: Path) -> None:
    """Write predictions as one self-contained HTML file.

    Args:
        forecast: what was predicted.
        path: the file to write; its folder is made when it is missing. It appears whole or not at all.

    Raises:
        StoreError: the file cannot be written.
    """
    sentences = (*forecast.sentences, *forecast.warnings)
    write_topics_page("predictions", question_of(forecast), sentences, topics_of_forecast(forecast), path)


def question_of(forecast: Forecast) -> str:
    """What the page answers."""
    names = ", ".join(one.application.name for one in forecast.applications)
    changed = (
        f", with {', '.join(f'{c.primitive} {c.text}' for c in forecast.changes)}" if forecast.changes else ""
    )
    return f"How long does {names} take on each system, and what takes the time{changed}?"


def topics_of_forecast(forecast: Forecast) -> list[Topic]:
    """The sections that have something to show."""
    found = [
        _ranking(forecast),
        _speed_ups(forecast),
        _contributions(forecast),
        _entries(forecast),
        _accuracy(forecast),
        _savings(forecast),
    ]
    return [*(topic for topic in found if topic is not None), _vectors(forecast)]


# Ranking


def _ranking(forecast: Forecast) -> Topic:
    words = (
        f"Predicted time of one unit of work, the fastest system first, with its {show_percent(forecast.level)} interval; beside it what "
        "was measured, which the prediction does not use. Predicted is the kernel's time, each count times its cost, and the time in user "
        "mode that was measured where the application was traced; where it was not, that of the primitives alone. What stands beside a "
        "measured time is the same quantity: elapsed, or kernel time. Systems of one group cannot be told apart. Axes do not start at 0."
    )
    tables, groups = [], []
    for one in forecast.applications:
        title = f"{one.application.name}, per {one.application.per}"
        tables.append(ranking_table(one, title, forecast.level))
        groups.append(Group(title, [ranking_figure(one)], ranking_legend(one), "; ".join(group_words(one))))
    return Topic("ranking", "Ranking", "Predicted and measured", words, tables=tables, groups=groups)


def group_words(one: ApplicationForecast) -> list[str]:
    """`cannot be told apart: a, b`, for each group of several."""
    return [f"cannot be told apart: {', '.join(group)}" for group in one.groups if len(group) > 1]


def ranking_table(one: ApplicationForecast, title: str, level: float) -> Table:
    """Systems, the fastest first, and what was measured of the quantity that the columns name."""
    ranked, what = ranked_by(one), compared_by(one)
    numbers = [
        number
        for system in one.systems
        for number in (predicted_of(system, ranked), measured_of(system, what))
    ]
    scale = scale_of(numbers, level)
    columns = (
        "system", f"predicted {ranked}", "interval", "predicted kernel", INTERVALS[0], "user",
        f"measured {what}", INTERVALS[1], f"predicted / measured {what}", EXPLAINED,
    )  # fmt: skip
    rows = []
    for system in one.systems:
        measured = measured_of(system, what)
        kernel = system.prediction.kernel
        there = system.measured is not None
        rows.append(
            (
                system.system,
                scale.show(predicted_of(system, ranked).value),
                ends(predicted_of(system, ranked), scale),
                scale.show(kernel.value),
                ends(kernel, scale) if there and what == "kernel" else "",
                scale.show(system.elapsed.value - kernel.value),
                scale.show(measured.value) if there else "",
                ends(measured, scale) if there else "",
                show_ratio(system.ratios[what].value) if what in system.ratios else "",
                share_text(system.explained) if there else "",
            )
        )
    return _without_empty(
        Table(f"{title}, in {scale.unit}", columns, rows, frozenset(range(1, len(columns))))
    )


def _without_empty(table: Table) -> Table:
    """The same without the columns that say nothing."""
    used = [at for at in range(len(table.columns)) if any(row[at] for row in table.rows)]
    return Table(
        table.title,
        tuple(table.columns[at] for at in used),
        [tuple(row[at] for at in used) for row in table.rows],
        frozenset(place for place, at in enumerate(used) if at in table.numeric),
    )


# Contributions


def _contributions(forecast: Forecast) -> Topic:
    words = (
        "Which primitive takes how much of the predicted time of one unit of work, the fastest system first."
    )
    groups = []
    for one in forecast.applications:
        looks = EntryLooks(one)
        title = f"{one.application.name}, per {one.application.per}"
        groups.append(Group(title, [contribution_figure(one, looks)], looks.legend()))
    return Topic("contributions", "Contributions", "What takes the time", words, groups=groups)


def _entries(forecast: Forecast) -> Topic:
    words = (
        "Time = cost of one operation or unit on the system × how often the application uses it, as in tables 6-2 to 6-5 of Zhang's thesis. "
        "Entries that were not counted themselves say which calls they stand for, and by which rule."
    )
    tables = [
        contribution_table(f"{one.application.name} on {system.system}", system, forecast.level)
        for one in forecast.applications
        for system in one.systems
    ]
    return Topic("entries", "Entries", "Each entry", words, tables=tables)


def contribution_table(title: str, system: SystemForecast, level: float) -> Table:
    """The rows of one system, the largest first, and their total."""
    prediction = system.prediction
    scale = scale_of((row.time for row in prediction.contributions), level)
    rows = [contribution_row(row, scale) for row in by_share(prediction.contributions)]
    total = ("total", "", "", "", scale.show(prediction.time.value), ends(prediction.time, scale), "", "")
    title = f"{title} (times in {scale.unit})"
    return _without_empty(Table(title, CONTRIBUTIONS, [*rows, total], frozenset({2, 3, 4, 5, 6})))


def contribution_row(row: Contribution, scale: Scale) -> tuple[str, ...]:
    """Entry, its arguments, cost, count, time, interval, share, what it stands for."""
    return (
        row.primitive,
        arguments_text(row.arguments),
        cost_text(row, scale),
        count_text(row.count),
        scale.show(row.time.value),
        ends(row.time, scale),
        share_text(row.share),
        stands_for_text(row),
    )


def by_share(rows: Iterable[Contribution]) -> list[Contribution]:
    """The largest time first; what is undefined last."""
    return sorted(rows, key=lambda row: (math.isnan(row.time.value), -row.time.value))


def arguments_text(arguments: Mapping[str, float]) -> str:
    """`bytes 14,712`."""
    return ", ".join(f"{name} {value:,.6g}" for name, value in arguments.items())


def cost_text(row: Contribution, scale: Scale) -> str:
    """The cost of one operation or unit; its unit where that is not an operation."""
    if not math.isfinite(row.cost.value):
        return ABSENT
    value = row.cost.value * scale.factor
    text = f"{value:.3g}" if value and abs(value) < 0.1 else significant(value, 4)
    return text if row.unit in ("", "operation") else f"{text} / {row.unit}"


def count_text(count: Interval) -> str:
    """A count as it is said: whole where it is whole."""
    return ABSENT if math.isnan(count.value) else f"{count.value:,.6g}"


def stands_for_text(row: Contribution) -> str:
    """`getpid, times (the null call)`; "" for an entry that was counted itself."""
    calls = ", ".join(row.stands_for)
    return f"{calls} ({row.rule})" if calls and row.rule else calls or row.rule


def share_text(share: float) -> str:
    """`38.8 %`."""
    return ABSENT if math.isnan(share) else f"{100 * share:.1f} %"


# Accuracy


def _accuracy(forecast: Forecast) -> Topic | None:
    figures = [(what, figure) for what in COMPARED if (figure := accuracy_figure(forecast, what)) is not None]
    rows = [row for one in forecast.applications for row in pair_rows(one)]
    if not figures and not rows:
        return None
    if not figures:
        words = "How many times as long the slower one takes, as predicted; a pair is told apart where the difference is."
        return Topic("pairs", "Pairs", "Two by two", words, tables=[_pairs_table(rows)])
    words = (
        "Three levels, each harder than the one before: are systems ordered right, are the ratios of their times right, are the times right? "
        "A pair that was measured to differ is ordered right or wrong, or open where the prediction cannot tell them apart; “same”: they were not "
        "measured to differ; “unknown”: whether they differ is not known. On the line, what is predicted is what was measured."
    )
    groups = [
        Group(f"Predicted against measured: {WORDS[what]}", [figure], accuracy_legend(forecast))
        for what, figure in figures
    ]
    tables = [_pairs_table(rows)] if rows else []
    return Topic("accuracy", "Accuracy", "How good is the prediction?", words, tables=tables, groups=groups)


def _pairs_table(rows: Sequence[tuple[str, ...]]) -> Table:
    return _without_empty(Table("Pairs of systems", PAIRS, rows, frozenset({4, 5, 6, 7})))


def pair_rows(one: ApplicationForecast) -> list[tuple[str, ...]]:
    """Rows of `PAIRS`."""
    return [
        (
            one.application.name, pair.faster, pair.slower, pair.quantity or ranked_by(one),
            show_ratio(pair.comparable.value), _ratio_ends(pair.comparable),
            show_ratio(pair.measured.value) if pair.verdict else "", _ratio_ends(pair.measured),
            pair.verdict or ("" if pair.told_apart else "cannot be told apart"),
        )
        for pair in one.pairs
    ]  # fmt: skip


# Speed-ups


def _speed_ups(forecast: Forecast) -> Topic | None:
    if not forecast.speed_ups:
        return None
    words = (
        "How many times as fast it becomes: r is the ratio of the kernel's times, r' = (s1 + u) / (s2 + u) with the measured time in user "
        "mode u, which stays. The third way has on each side the time in user mode that was measured of its own applications: it is the ratio of "
        "the predicted elapsed times, and where it is known it is what stands against the measured ratio."
    )
    rows = [speed_up_row(one) for one in forecast.speed_ups]
    table = Table("", SPEED_UPS, rows, frozenset(range(2, len(SPEED_UPS))))
    group = Group(
        "Speed-up by system", [speed_up_figure(forecast.speed_ups)], speed_up_legend(forecast.speed_ups)
    )
    return Topic(
        "speed-up", "Speed-up", "What does the replacement bring?", words, tables=[table], groups=[group]
    )


def speed_up_row(one: SpeedUp) -> tuple[str, ...]:
    """A row of `SPEED_UPS`."""
    return (
        one.system,
        ", ".join(f"{old} → {new}" for old, new in one.replaced),
        show_ratio(one.kernel.value),
        show_ratio(one.with_user.value),
        _ratio_ends(one.with_user),
        show_ratio(one.own_user.value),
        _ratio_ends(one.own_user),
        show_ratio(one.measured.value),
        _ratio_ends(one.measured),
        show_ratio(one.off),
    )


# What would pay


def _savings(forecast: Forecast) -> Topic | None:
    tables = []
    for one in forecast.applications:
        for system in one.systems:
            savings = one.savings.get(system.system, ())
            if savings:
                scale = scale_of((saving.time for saving in savings), forecast.level)
                rows = [saving_row(saving, scale) for saving in savings]
                title = f"{one.application.name} on {system.system} (times in {scale.unit})"
                tables.append(Table(title, SAVINGS, rows, frozenset(range(1, 6))))
    if not tables:
        return None
    words = "What one unit of work would save if one primitive alone cost half, nothing, or what it costs on the best of the systems."
    return Topic("savings", "What pays", "Which primitive pays most?", words, tables=tables)


def saving_row(saving: Saving, scale: Scale) -> tuple[str, ...]:
    """A row of `SAVINGS`."""
    return (
        saving.primitive,
        scale.show(saving.time.value),
        ends(saving.time, scale),
        share_text(saving.share / 2),
        share_text(saving.share),
        share_text(saving.as_best_share) if saving.best else "",
        saving.best,
    )


# The vectors


def _vectors(forecast: Forecast) -> Topic:
    rows = []
    for one in forecast.applications:
        provenance = one.application.provenance
        rows.append(("application", one.application.name, _told(provenance)))
    systems = {system.system: system for one in forecast.applications for system in one.systems}
    rows += [("system", name, _told(system.provenance)) for name, system in systems.items()]
    return Topic(
        "vectors", "Vectors", "Where the vectors come from", "What is known of each vector.",
        tables=[Table("", ("kind", "name", "provenance"), rows)],
    )  # fmt: skip


def _told(provenance: Mapping[str, str]) -> str:
    return "; ".join(f"{key} {shorten(value, 120)}" for key, value in provenance.items() if value)


# Numbers


def scale_of(numbers: Iterable[Interval], level: float = 0.95) -> Scale:
    """One unit of time and one number of decimals for all of them, in ns."""
    return choose_scale([estimate_of(number, level) for number in numbers], "ns")


def ends(number: Interval, scale: Scale) -> str:
    """Both ends of an interval; nothing where it is exact or has none."""
    if number.low == number.high:
        return ""
    return interval(scale.show(number.low), scale.show(number.high))


def _ratio_ends(number: Interval) -> str:
    return "" if number.low == number.high else interval(show_ratio(number.low), show_ratio(number.high))

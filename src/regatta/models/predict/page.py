"""The HTML page of predictions: ranking with measurements, contributions, speeds, speed-ups, savings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regatta.figures.axes import Group
from regatta.figures.section import Section, Table
from regatta.figures.sections_page import write_sections_page
from regatta.figures.text import shorten, show_percent
from regatta.models.predict.figures import (
    EntryLooks,
    accuracy_figure,
    accuracy_legend,
    contribution_figure,
    ranking_figure,
    ranking_legend,
    speed_figure,
    speed_legend,
    speed_up_figure,
    speed_up_legend,
)
from regatta.models.predict.forecast import Forecast
from regatta.models.predict.relative_speeds import speeds_of, speeds_table
from regatta.models.predict.runtime_tables import runtime_tables
from regatta.models.predict.tables import (
    COMPARED,
    WORDS,
    changes_table,
    contribution_table,
    group_words,
    pairs_table,
    ranking_table,
    savings_table,
    speed_ups_table,
    throughput_table,
)


def write_predictions(forecast: Forecast, path: Path) -> None:
    """Write predictions as one self-contained HTML file.

    Args:
        forecast: the predictions.
        path: the file to write; its folder is created if missing. The write is atomic.

    Raises:
        StoreError: the file cannot be written.
    """
    sentences = (*forecast.sentences, *forecast.warnings)
    write_sections_page("predictions", question_of(forecast), sentences, sections_of_forecast(forecast), path)


def question_of(forecast: Forecast) -> str:
    """Return the question that the page answers."""
    names = ", ".join(one.application.name for one in forecast.applications)
    changed = f", with {', '.join(change.words for change in forecast.changes)}" if forecast.changes else ""
    return f"Predicted time of {names} on each system, and its contributions{changed}"


def sections_of_forecast(forecast: Forecast) -> list[Section]:
    """Return the sections that have content."""
    found = [
        _ranking(forecast),
        _changes(forecast),
        _speed_ups(forecast),
        _contributions(forecast),
        _entries(forecast),
        _accuracy(forecast),
        _speeds(forecast),
        _runtimes(forecast),
        _savings(forecast),
    ]
    return [*(topic for topic in found if topic is not None), _vectors(forecast)]


# Ranking


def _ranking(forecast: Forecast) -> Section:
    words = (
        f"Predicted and measured time of one unit of work, with {show_percent(forecast.level)} confidence intervals, fastest system first. "
        "The predicted time is the kernel time (sum of count × cost) plus the user time measured where the application was traced. Without "
        "a measured user time it is the time of the primitives alone. Predictions do not use the measured times. Measured and predicted "
        "columns have the same quantity, elapsed or kernel time. Systems of one group are not distinguishable. Axes do not start at 0."
    )
    tables, groups = [], []
    for one in forecast.applications:
        title = f"{one.application.name}, per {one.application.per}"
        tables.append(ranking_table(one, title))
        if (throughput := throughput_table(one)).rows:
            tables.append(throughput)
        groups.append(Group(title, [ranking_figure(one)], ranking_legend(one), "; ".join(group_words(one))))
    return Section("ranking", "Ranking", words, tables=tables, groups=groups)


# Contributions


def _contributions(forecast: Forecast) -> Section:
    words = "Contribution of each primitive to the predicted time of one unit of work, fastest system first."
    groups = []
    for one in forecast.applications:
        looks = EntryLooks(one)
        title = f"{one.application.name}, per {one.application.per}"
        groups.append(Group(title, [contribution_figure(one, looks)], looks.legend()))
    return Section("contributions", "Contributions", words, groups=groups)


def _entries(forecast: Forecast) -> Section:
    words = (
        "Time = cost of one operation or unit × count, as in tables 6-2 to 6-5 of Zhang's thesis. The last column lists the calls that an "
        "entry represents if it was not counted itself, and the rule."
    )
    tables = [
        contribution_table(f"{one.application.name} on {system.system}", system)
        for one in forecast.applications
        for system in one.systems
    ]
    return Section("entries", "Entries", words, tables=tables)


# Accuracy


def _accuracy(forecast: Forecast) -> Section | None:
    figures = [(what, figure) for what in COMPARED if (figure := accuracy_figure(forecast, what)) is not None]
    pairs = pairs_table(forecast.applications)
    tables = [pairs] if pairs.rows else []
    if not figures and not tables:
        return None
    if not figures:
        words = "Predicted time on the slower system divided by that on the faster one."
        return Section("pairs", "Pairwise predictions", words, tables=tables)
    words = (
        "Accuracy has three levels of increasing difficulty: the rank of systems, the ratios of their times, and the times. "
        "The verdict of a pair with a significant measured difference is right or wrong, or open if the prediction does not distinguish the "
        "systems. Same: no significant measured difference. Unknown: significance is undefined. On the line, predicted and measured are equal."
    )
    groups = [
        Group(f"Predicted and measured {WORDS[what]}", [figure], accuracy_legend(forecast))
        for what, figure in figures
    ]
    return Section("accuracy", "Accuracy", words, tables=tables, groups=groups)


# Speeds, runtimes


def _speeds(forecast: Forecast) -> Section | None:
    found = speeds_of(forecast)
    if not found:
        return None
    words = (
        "A speed is the time on the reference divided by the time on the system, as in figures 4-4 to 4-7 of Zhang's thesis, with "
        f"{show_percent(forecast.level)} confidence intervals. The reference is the system where the application was traced, or the "
        "fastest one if none was traced. It is the dashed line at 1. Systems are sorted by measured speed, or by predicted speed if "
        "that is unknown."
    )
    groups = [
        Group(f"{one.application}: speed relative to {one.reference}", [speed_figure(one)], speed_legend(one))
        for one in found
    ]
    return Section("speeds", "Speeds", words, tables=[speeds_table(found)], groups=groups)


def _runtimes(forecast: Forecast) -> Section | None:
    tables = runtime_tables(forecast)
    if not tables:
        return None
    words = (
        "Errors without the systems where an application was traced: a prediction is accurate if the median error is at most 15 %, the "
        "90th percentile at most 30 %, and at least 85 % of the intervals contain the measured time. The sampled share of system classes "
        "is that of the traced system. The last tables show which primitives make the slowest system slower than the fastest."
    )
    return Section("runtimes", "Runtimes", words, tables=tables)


# Speed-ups


def _speed_ups(forecast: Forecast) -> Section | None:
    if not forecast.speed_ups:
        return None
    words = (
        "Speedup by replacement of an application. r is the ratio of kernel times; r' = (s1 + u) / (s2 + u) assumes a constant user time u. "
        "The third variant uses the user times measured for both applications: it is the ratio of predicted elapsed times. If it is known, it "
        "is compared with the measured ratio."
    )
    table = speed_ups_table(forecast.speed_ups)
    group = Group(
        "Speedup by system", [speed_up_figure(forecast.speed_ups)], speed_up_legend(forecast.speed_ups)
    )
    return Section("speed-up", "Speed-up", words, tables=[table], groups=[group])


# Changes, savings


def _changes(forecast: Forecast) -> Section | None:
    tables = [changes_table(one, forecast.changes) for one in forecast.applications if one.effects]
    words = "Time that the changed costs save per unit of work, and its share of the predicted time. A negative value is a loss."
    return Section("changes", "Changes", words, tables=tables) if tables else None


def _savings(forecast: Forecast) -> Section | None:
    tables = [
        savings_table(savings, f"{one.application.name} on {system.system}")
        for one in forecast.applications
        for system in one.systems
        if (savings := one.savings.get(system.system, ()))
    ]
    if not tables:
        return None
    words = "Share of the time of one unit of work that is saved if one primitive costs half, nothing, or as much as on the cheapest system."
    return Section("savings", "Savings", words, tables=tables)


# Vectors


def _vectors(forecast: Forecast) -> Section:
    rows = []
    for one in forecast.applications:
        provenance = one.application.provenance
        rows.append(("application", one.application.name, _facts(provenance)))
    systems = {system.system: system for one in forecast.applications for system in one.systems}
    rows += [("system", name, _facts(system.provenance)) for name, system in systems.items()]
    return Section(
        "vectors", "Vectors", "Provenance of each vector.",
        tables=[Table("", ("kind", "name", "provenance"), rows)],
    )  # fmt: skip


def _facts(provenance: Mapping[str, str]) -> str:
    return "; ".join(f"{key} {shorten(value, 120)}" for key, value in provenance.items() if value)

"""The HTML page of predictions: ranking with measurements, contributions, speed-ups, savings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regatta.answers.page.page import write_sections_page
from regatta.figures.axes import Group
from regatta.figures.section import Section, Table
from regatta.figures.text import shorten, show_percent
from regatta.predict.figures import (
    EntryLooks,
    accuracy_figure,
    accuracy_legend,
    contribution_figure,
    ranking_figure,
    ranking_legend,
    speed_up_figure,
    speed_up_legend,
)
from regatta.predict.forecast import Forecast
from regatta.predict.tables import (
    COMPARED,
    WORDS,
    contribution_table,
    group_words,
    pairs_table,
    ranking_table,
    savings_table,
    speed_ups_table,
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
    changed = (
        f", with {', '.join(f'{c.primitive} {c.text}' for c in forecast.changes)}" if forecast.changes else ""
    )
    return f"How long does {names} take on each system, and what takes the time{changed}?"


def sections_of_forecast(forecast: Forecast) -> list[Section]:
    """Return the sections that have content."""
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


def _ranking(forecast: Forecast) -> Section:
    words = (
        f"Predicted time of one unit of work, the fastest system first, with its {show_percent(forecast.level)} interval; beside it what "
        "was measured, which the prediction does not use. Predicted is the kernel's time, each count times its cost, and the time in user "
        "mode that was measured where the application was traced; where it was not, that of the primitives alone. What stands beside a "
        "measured time is the same quantity: elapsed, or kernel time. Systems of one group cannot be told apart. Axes do not start at 0."
    )
    tables, groups = [], []
    for one in forecast.applications:
        title = f"{one.application.name}, per {one.application.per}"
        tables.append(ranking_table(one, title))
        groups.append(Group(title, [ranking_figure(one)], ranking_legend(one), "; ".join(group_words(one))))
    return Section("ranking", "Ranking", words, tables=tables, groups=groups)


# Contributions


def _contributions(forecast: Forecast) -> Section:
    words = (
        "Which primitive takes how much of the predicted time of one unit of work, the fastest system first."
    )
    groups = []
    for one in forecast.applications:
        looks = EntryLooks(one)
        title = f"{one.application.name}, per {one.application.per}"
        groups.append(Group(title, [contribution_figure(one, looks)], looks.legend()))
    return Section("contributions", "Contributions", words, groups=groups)


def _entries(forecast: Forecast) -> Section:
    words = (
        "Time = cost of one operation or unit on the system × how often the application uses it, as in tables 6-2 to 6-5 of Zhang's thesis. "
        "Entries that were not counted themselves say which calls they stand for, and by which rule."
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
        words = "How many times as long the slower one takes, as predicted; a pair is told apart where the difference is."
        return Section("pairs", "Pairwise predictions", words, tables=tables)
    words = (
        "Three levels, each harder than the one before: are systems ordered right, are the ratios of their times right, are the times right? "
        "A pair that was measured to differ is ordered right or wrong, or open where the prediction cannot tell them apart; “same”: they were not "
        "measured to differ; “unknown”: whether they differ is not known. On the line, what is predicted is what was measured."
    )
    groups = [
        Group(f"Predicted against measured: {WORDS[what]}", [figure], accuracy_legend(forecast))
        for what, figure in figures
    ]
    return Section("accuracy", "Accuracy", words, tables=tables, groups=groups)


# Speed-ups


def _speed_ups(forecast: Forecast) -> Section | None:
    if not forecast.speed_ups:
        return None
    words = (
        "How many times as fast it becomes: r is the ratio of the kernel's times, r' = (s1 + u) / (s2 + u) with the measured time in user "
        "mode u, which stays. The third way has on each side the time in user mode that was measured of its own applications: it is the ratio of "
        "the predicted elapsed times, and where it is known it is what stands against the measured ratio."
    )
    table = speed_ups_table(forecast.speed_ups)
    group = Group(
        "Speed-up by system", [speed_up_figure(forecast.speed_ups)], speed_up_legend(forecast.speed_ups)
    )
    return Section("speed-up", "Speed-up", words, tables=[table], groups=[group])


# Savings


def _savings(forecast: Forecast) -> Section | None:
    tables = [
        savings_table(savings, f"{one.application.name} on {system.system}")
        for one in forecast.applications
        for system in one.systems
        if (savings := one.savings.get(system.system, ()))
    ]
    if not tables:
        return None
    words = "What one unit of work would save if one primitive alone cost half, nothing, or what it costs on the best of the systems."
    return Section("savings", "Savings", words, tables=tables)


# Vectors


def _vectors(forecast: Forecast) -> Section:
    rows = []
    for one in forecast.applications:
        provenance = one.application.provenance
        rows.append(("application", one.application.name, _told(provenance)))
    systems = {system.system: system for one in forecast.applications for system in one.systems}
    rows += [("system", name, _told(system.provenance)) for name, system in systems.items()]
    return Section(
        "vectors", "Vectors", "What is known of each vector.",
        tables=[Table("", ("kind", "name", "provenance"), rows)],
    )  # fmt: skip


def _told(provenance: Mapping[str, str]) -> str:
    return "; ".join(f"{key} {shorten(value, 120)}" for key, value in provenance.items() if value)

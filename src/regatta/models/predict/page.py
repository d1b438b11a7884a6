"""The HTML page of predictions: ranking with measurements, contributions, speeds, speed-ups, savings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regatta.figures.section import Section, Table
from regatta.figures.sections_page import write_sections_page
from regatta.figures.text import shorten, show_percent
from regatta.models.predict.figures import (
    accuracy_group,
    calibration_group,
    contribution_group,
    ranking_group,
    speed_group,
    speed_up_group,
)
from regatta.models.predict.forecast import Forecast
from regatta.models.predict.runtimes import runtime_tables, speeds_of, speeds_table
from regatta.models.predict.tables import (
    COMPARED,
    changes_table,
    contribution_table,
    pairs_table,
    ranking_table,
    savings_tables,
    speed_ups_table,
    throughput_table,
)


def write_predictions(forecast: Forecast, path: Path) -> None:
    """Write predictions as one self-contained HTML file, atomically; missing folders are created.

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
        _vectors(forecast),
    ]
    return [section for section in found if section.tables or section.groups]


def _ranking(forecast: Forecast) -> Section:
    words = (
        f"Predicted and measured time of one unit of work, with {show_percent(forecast.level)} confidence "
        "intervals, fastest system first. The predicted time is the kernel time (sum of count × cost) plus "
        "the user time measured where the application was traced. Without a measured user time it is the "
        "time of the primitives alone. Collections and waits for the disk are added if their traces are given. "
        "Intervals contain the errors of costs and counts and the model's own "
        "error. Predictions do not use the measured times. Measured and predicted "
        "columns have the same quantity, elapsed or kernel time. Systems of one group are not "
        "distinguishable. Axes do not start at 0."
    )
    tables = [
        table
        for one in forecast.applications
        for table in (ranking_table(one), throughput_table(one))
        if table.rows
    ]
    groups = [ranking_group(one) for one in forecast.applications]
    return Section("ranking", "Ranking", words, tables=tables, groups=groups)


def _contributions(forecast: Forecast) -> Section:
    words = "Contribution of each primitive to the predicted time of one unit of work, fastest system first."
    groups = [contribution_group(one) for one in forecast.applications]
    return Section("contributions", "Contributions", words, groups=groups)


def _entries(forecast: Forecast) -> Section:
    words = (
        "Time = cost of one operation or unit × count, as in tables 6-2 to 6-5 of Zhang's thesis. The last "
        "column lists the calls that an entry represents if it was not counted itself, and the rule."
    )
    tables = [contribution_table(one, system) for one in forecast.applications for system in one.systems]
    return Section("entries", "Entries", words, tables=tables)


def _accuracy(forecast: Forecast) -> Section:
    drawn = (*(accuracy_group(forecast, what) for what in COMPARED), calibration_group(forecast))
    groups = [group for group in drawn if group is not None]
    pairs = pairs_table(forecast.applications)
    tables = [pairs] if pairs.rows else []
    if not groups:
        words = "Predicted time on the slower system divided by that on the faster one."
        return Section("pairs", "Pairwise predictions", words, tables=tables)
    words = (
        "Accuracy has three levels of increasing difficulty: the rank of systems, the ratios of their times, "
        "and the times. The verdict of a pair with a significant measured difference is right or wrong, or "
        "open if the prediction does not distinguish the systems. Same: no significant measured difference. "
        "Unknown: significance is undefined. On the line, predicted and measured are equal. Calibration: of "
        "good intervals, as many contain the measured value as their level says; above the line they are too "
        "wide. Times on the system where an application was traced are left out."
    )
    return Section("accuracy", "Accuracy", words, tables=tables, groups=groups)


def _speeds(forecast: Forecast) -> Section:
    words = (
        "A speed is the time on the reference divided by the time on the system, as in figures 4-4 to 4-7 of "
        f"Zhang's thesis, with {show_percent(forecast.level)} confidence intervals. The reference is the "
        "system where the application was traced, or the fastest one if none was traced. It is the dashed "
        "line at 1. Systems are sorted by measured speed, or by predicted speed if that is unknown."
    )
    found = speeds_of(forecast)
    tables = [speeds_table(found)] if found else []
    return Section("speeds", "Speeds", words, tables=tables, groups=[speed_group(one) for one in found])


def _runtimes(forecast: Forecast) -> Section:
    words = (
        "Errors without the systems where an application was traced: a prediction is accurate if the median "
        "error is at most 15 %, the 90th percentile at most 30 %, and at least 85 % agree with the measured "
        "time within both errors. The sampled share of system classes is that of the traced system. The last "
        "tables show which primitives make the slowest system slower than the fastest."
    )
    return Section("runtimes", "Runtimes", words, tables=runtime_tables(forecast))


def _speed_ups(forecast: Forecast) -> Section:
    words = (
        "Speedup by replacement of an application. r is the ratio of kernel times; r' = (s1 + u) / (s2 + u) "
        "assumes a constant user time u. The third variant uses the user times measured for both "
        "applications: it is the ratio of predicted elapsed times. If it is known, it is compared with the "
        "measured ratio."
    )
    found = forecast.speed_ups
    tables, groups = ([speed_ups_table(found)], [speed_up_group(found)]) if found else ([], [])
    return Section("speed-up", "Speed-up", words, tables=tables, groups=groups)


def _changes(forecast: Forecast) -> Section:
    words = (
        "Time that the changed costs save per unit of work, and its share of the predicted time. A negative value "
        "is a loss."
    )
    tables = [changes_table(one, forecast.changes) for one in forecast.applications if one.effects]
    return Section("changes", "Changes", words, tables=tables)


def _savings(forecast: Forecast) -> Section:
    words = (
        "Share of the time of one unit of work that is saved if one primitive costs half, nothing, or as "
        "much as on the cheapest system."
    )
    tables = [table for one in forecast.applications for table in savings_tables(one)]
    return Section("savings", "Savings", words, tables=tables)


def _vectors(forecast: Forecast) -> Section:
    vectors = [one.application for one in forecast.applications]
    systems = {system.system: system for one in forecast.applications for system in one.systems}
    rows = [("application", one.name, _facts(one.provenance)) for one in vectors]
    rows += [("system", name, _facts(system.provenance)) for name, system in systems.items()]
    table = Table("", ("kind", "name", "provenance"), rows)
    return Section("vectors", "Vectors", "Provenance of each vector.", tables=[table])


def _facts(provenance: Mapping[str, str]) -> str:
    return "; ".join(f"{key} {shorten(value, 120)}" for key, value in provenance.items() if value)

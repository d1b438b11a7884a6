"""The topic of predictions: times of applications on each system, from what their primitives cost there."""

from __future__ import annotations

from typing import Any

from regatta.answers.kit.plain import plain
from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.kit.view import View
from regatta.figures.axes import Group
from regatta.figures.section import Section, Table
from regatta.figures.text import show_percent
from regatta.models.predict.figures import (
    accuracy_group,
    calibration_group,
    contribution_group,
    ranking_group,
)
from regatta.models.predict.points import replacement_of
from regatta.models.predict.tables import COMPARED, pairs_table, ranking_table
from regatta.models.predict.topic.compute import Predictions, predict_experiment


def predictions_section(found: Predictions, _: View) -> Section | None:
    """Return predicted beside measured times, and what they consist of; None without predictions."""
    if found.forecast is None:
        return None
    applications = found.forecast.applications
    drawn = (
        *map(ranking_group, applications),
        *map(contribution_group, applications),
        *(accuracy_group(found.forecast, what) for what in COMPARED),
        calibration_group(found.forecast),
    )
    groups: list[Group] = [group for group in drawn if group is not None]
    return Section(
        "predictions",
        words="Predicted time of one unit of work of each application (count × cost of each primitive, and the application's own "
        "code), beside the measured time, with "
        f"{show_percent(found.forecast.level)} confidence intervals that contain the model's own error. Predictions do not use the "
        "measured times. On the line, predicted and measured are equal. Calibration: of good intervals, as many contain the "
        "measured value as their level says. Axes do not start at 0.",
        groups=groups,
    )


def prediction_tables(found: Predictions, _: View) -> list[Table]:
    """Return the ranking of systems for each application, and the pairs of systems."""
    if found.forecast is None:
        return []
    applications = found.forecast.applications
    return [*map(ranking_table, applications), pairs_table(applications)]


def _words(found: Predictions) -> tuple[str, ...]:
    if found.forecast is not None:
        *own, last = found.forecast.sentences
        # That of all applications together is the last one.
        several = len(found.forecast.applications) > 1
        return (*((last, *own) if several else (*own, last)), *found.forecast.warnings)
    return (f"Nothing is predicted: {found.problem}",) if found.problem else ()


def _document(found: Predictions) -> Any:
    if found.forecast is None:
        return {"problem": found.problem} if found.problem else None
    return plain(found.forecast)


PREDICTIONS: Topic[Predictions] = Topic(
    "predictions",
    title="Predictions",
    empty=Predictions(),
    compute=predict_experiment,
    words=Words(108, "Predictions", lambda found, _: _words(found)),
    document=Document(86, "predictions", _document),
    section=predictions_section,
    tables=prediction_tables,
    slow=True,
    points=lambda found, time_ns: replacement_of(found.forecast, time_ns) if found.forecast else None,
    board="regatta-vectors",
)

"""The topic of predictions: times of applications on each system, from what their primitives cost there."""

from __future__ import annotations

from typing import Any

from regatta.answers.kit.plain import plain
from regatta.answers.kit.topic import Document, Replacement, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.context import Context
from regatta.figures.axes import Group
from regatta.figures.section import Section, Table
from regatta.figures.text import show_percent
from regatta.models.predict.topic.result import Predictions

# What most answers do not need is imported in functions.


def _compute(context: Context) -> Predictions:
    if context.facts.predicted is None:
        return Predictions()
    from regatta.models.predict.topic.compute import predict_experiment

    return predict_experiment(context.facts.predicted, context.folder.path)


def predictions_section(found: Predictions, _: View) -> Section | None:
    """Return predicted beside measured times, and what they consist of; None without predictions."""
    if found.forecast is None:
        return None
    from regatta.models.predict.figures import (
        accuracy_group,
        calibration_group,
        contribution_group,
        ranking_group,
    )
    from regatta.models.predict.tables import COMPARED

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
    from regatta.models.predict.tables import pairs_table, ranking_table

    applications = found.forecast.applications
    return [*map(ranking_table, applications), pairs_table(applications)]


def _words(found: Predictions) -> tuple[str, ...]:
    if found.forecast is not None:
        from regatta.models.predict.words import all_together

        first = all_together(found.forecast)
        own = (sentence for sentence in found.forecast.sentences if sentence not in first)
        return (*first, *own, *found.forecast.warnings)
    return (f"Nothing is predicted: {found.problem}",) if found.problem else ()


def _document(found: Predictions) -> Any:
    if found.forecast is None:
        return {"problem": found.problem} if found.problem else None
    return plain(found.forecast)


def _points(found: Predictions, time_ns: int) -> Replacement | None:
    if found.forecast is None:
        return None
    from regatta.models.predict.points import replacement_of

    return replacement_of(found.forecast, time_ns)


PREDICTIONS: Topic[Predictions] = Topic(
    "predictions",
    title="Predictions",
    empty=Predictions(),
    compute=_compute,
    words=Words(108, "Predictions", lambda found, _: _words(found)),
    document=Document(86, "predictions", _document),
    section=predictions_section,
    tables=prediction_tables,
    slow=True,
    points=_points,
    board="regatta-vectors",
)

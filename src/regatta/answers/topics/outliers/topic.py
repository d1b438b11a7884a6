"""What lies far out, and which comparisons depend on it."""

from __future__ import annotations

from regatta.answers.context import Context
from regatta.answers.topic import Document, Topic, Words
from regatta.answers.topics.outliers.compute import Outliers, find_outliers, outlier_words
from regatta.answers.topics.outliers.page import outliers_section, outliers_tables


def _compute(context: Context) -> Outliers:
    return find_outliers(
        context.samples, context.baseline, context.facts.level, context.names, context.stops.pilot_pairs
    )


OUTLIERS: Topic[Outliers] = Topic(
    "outliers",
    empty=Outliers(),
    compute=_compute,
    words=Words(150, "Outliers", lambda outliers, context: outlier_words(outliers, context.names)),
    document=Document(130, "outliers"),
    section=outliers_section,
    tables=outliers_tables,
)

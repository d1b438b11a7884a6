"""Where the variance of each series is: among iterations, among invocations, among hosts."""

from __future__ import annotations

from typing import Any

from regatta.answers.plain import plain
from regatta.answers.topic import Document, Topic, Words
from regatta.answers.topics.levels.compute import CellLevels, level_words, variance_by_level
from regatta.answers.topics.levels.page import levels_section, levels_tables


def _document(levels: tuple[CellLevels, ...]) -> list[dict[str, Any]]:
    return [
        {
            "host": one.place.host,
            **plain(one),
            "spread_percent": plain(one.spread_percent),
            "share_percent": plain(one.share_percent),
        }
        for one in levels
    ]


LEVELS: Topic[tuple[CellLevels, ...]] = Topic(
    "levels",
    empty=(),
    compute=lambda context: tuple(
        variance_by_level(context.connection, context.samples, context.facts.steady)
    ),
    words=Words(140, "Where the variance is", lambda levels, context: level_words(levels, context.names)),
    document=Document(60, "levels", _document),
    section=levels_section,
    tables=levels_tables,
)

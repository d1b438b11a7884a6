"""The topic of levels: variance components, and the most efficient repetitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from regatta.answers.kit.plain import plain
from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.topics.levels.compute import CellLevels, level_words, variance_by_level
from regatta.figures.section import Section, Table
from regatta.figures.text import parameters_text, show_heap, show_number, show_percent

#: more series are described by sentences only
_ROWS = 300


def levels_section(levels: Sequence[CellLevels], view: View) -> Section | None:
    """Return variance components and efficient repetitions; None without iterations after warm-up."""
    if not levels:
        return None
    return Section(
        "levels",
        words="Standard deviation that each level adds, in % of the mean (Kalibera and Jones 2013). Iterations: after warm-up, within "
        "one invocation. Best iterations: the most efficient number of iterations after warm-up per invocation.",
    )


def levels_tables(levels: Sequence[CellLevels], view: View) -> list[Table]:
    """Return the levels of each series."""
    columns = ("host", "benchmark", "heap", "configuration", "repetitions", "SD iterations", "SD invocations", "SD hosts",
               "variance share of iterations", "best iterations", "reason")  # fmt: skip
    rows = [(view.host(one.place.host or "all"), *_level(one)) for one in levels[:_ROWS]]
    return [Table("", columns, rows, frozenset(range(4, 10)))]


def _level(one: CellLevels) -> tuple[str, ...]:
    spread = [*(show_percent(x / 100, 2) for x in one.spread_percent), ""]
    share = one.share_percent[0]
    given = parameters_text(one.parameters)
    best = "any" if math.isinf(one.best_iterations) else show_number(one.best_iterations, 3)
    return (
        f"{one.place.benchmark} ({given})" if given else one.place.benchmark,
        show_heap(one.place.heap),
        one.place.configuration,
        " × ".join(str(count) for count in reversed(one.counts)),
        *spread[:3],
        show_percent(share / 100, 2),
        best if len(one.levels) == 2 else "",
        one.reason,
    )


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
    title="Variance components",
    empty=(),
    compute=variance_by_level,
    words=Words(140, "Where the variance is", lambda levels, context: level_words(levels, context.names)),
    document=Document(60, "levels", _document),
    section=levels_section,
    tables=levels_tables,
)

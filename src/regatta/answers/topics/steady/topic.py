"""The topic of steady state and the use of iterations."""

from __future__ import annotations

from typing import Any

from regatta.answers.kit.plain import plain
from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.spine.context import Context
from regatta.answers.topics.steady.compute import Steadiness, judge_steadiness
from regatta.answers.topics.steady.page import steady_section, steady_tables
from regatta.answers.topics.steady.words import steadiness_words, summary_words


def _words(found: Steadiness | None, context: Context) -> tuple[str, ...]:
    return (
        *summary_words(context.samples.cells, context.names),
        *steadiness_words(found, context.facts.steady),
    )


def _document(steadiness: Steadiness | None) -> Any:
    """Return the document without curves, which are for figures: `regatta records` has every iteration."""
    found = plain(steadiness)
    if found is not None:
        del found["curves"]
        for number, series in enumerate(found["series"]):
            del series["curve"]
            first = {"cell_id": series["cell_id"], "host": series["host"], "place": series.pop("title")}
            found["series"][number] = first | series
    return found


#: None if invocations have one iteration each
STEADY: Topic[Steadiness | None] = Topic(
    "steady",
    title="Steady state",
    empty=None,
    compute=judge_steadiness,
    words=Words(70, "Startup and steady state", _words),
    document=Document(110, "steadiness", _document),
    section=steady_section,
    tables=steady_tables,
)

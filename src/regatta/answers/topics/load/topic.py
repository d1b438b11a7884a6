"""The topic of load: every series with 1, 2, 4 ... parallel processes."""

from __future__ import annotations

from typing import Any

from regatta.answers.kit.plain import plain
from regatta.answers.kit.topic import Document, Lead, Topic, Words
from regatta.answers.spine.context import Context
from regatta.answers.topics.load.compute import Scaling, judge_scaling
from regatta.answers.topics.load.page import load_section, load_tables
from regatta.answers.topics.load.words import scaling_words


def _words(scaling: Scaling, context: Context) -> tuple[str, ...]:
    return scaling_words(scaling, context.facts.theta_percent)


def _document(scaling: Scaling) -> Any:
    """Return the document without the values of invocations."""
    found = plain(scaling)
    for number, curve in enumerate(found["curves"]):
        for point in curve["points"]:
            del point["values"]
        found["curves"][number] = {"host": curve["host"]} | curve
    return found


def _lead(scaling: Scaling, context: Context) -> Lead:
    cells = frozenset(point.cell_id for curve in scaling.curves for point in curve.points)
    return Lead(_words(scaling, context), cells=cells)


LOAD: Topic[Scaling] = Topic(
    "load",
    title="Scaling",
    empty=Scaling(),
    compute=judge_scaling,
    words=Words(90, "Load", _words),
    document=Document(80, "scaling", _document),
    section=load_section,
    tables=load_tables,
    lead=_lead,
)

"""The topic of capacity: the highest load at which a metric meets a target."""

from __future__ import annotations

from regatta.answers.kit.plain import plain
from regatta.answers.kit.topic import Document, Lead, Topic, Words
from regatta.answers.spine.context import Context
from regatta.answers.topics.capacity.compute import judge_capacity
from regatta.answers.topics.capacity.page import capacity_section, capacity_tables
from regatta.answers.topics.capacity.result import Capacities
from regatta.answers.topics.capacity.words import capacity_words, first_words


def _lead(found: Capacities, context: Context) -> Lead:
    """Return the first sentences; they cover cells whose compared metric is that of the target."""
    metrics = {cell.cell_id: cell.metric for cell in context.samples.cells}
    cells = {
        point.cell_id
        for one in found.found
        for point in one.points
        if metrics[point.cell_id] == one.target.metric
    }
    return Lead(first_words(found), cells=frozenset(cells))


CAPACITY: Topic[Capacities] = Topic(
    "capacity",
    title="Capacity",
    empty=Capacities(),
    compute=judge_capacity,
    words=Words(85, "Capacity", lambda found, _: capacity_words(found)),
    document=Document(75, "capacity", lambda found: plain(found.found)),
    section=capacity_section,
    tables=capacity_tables,
    methods=lambda found: {"Capacity": {one.estimate.method for one in found.found}} if found.found else {},
    lead=_lead,
)

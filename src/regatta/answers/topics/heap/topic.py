"""The topic of the metric over heap size."""

from __future__ import annotations

from regatta.answers.kit.heap_curves import heap_groups
from regatta.answers.kit.topic import Topic
from regatta.answers.kit.view import View
from regatta.figures.section import Section
from regatta.figures.text import show_percent


def heap_section(_: None, view: View) -> Section | None:
    """Return one line per collector; None if no cell ran at two heap settings."""
    groups = heap_groups(view.panels, view.looks)
    if not groups:
        return None
    return Section(
        "heap",
        words=f"Mean of each collector over heap size, with {show_percent(view.answer.level)} confidence intervals. "
        "The figures of a benchmark have the same axis of values, which does not start at 0.",
        groups=groups,
    )


HEAP: Topic[None] = Topic("heap", title="Heap size", empty=None, section=heap_section)

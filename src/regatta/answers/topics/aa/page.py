"""The topic of an A/A test: the same configuration twice, and what the pipeline made of it."""

from __future__ import annotations

import math

from regatta.answers.page.looks import Looks
from regatta.answers.page.panels import Panel
from regatta.answers.result import Answer
from regatta.answers.topics.aa.result import Gate, TwinPair
from regatta.figures.labels import heap_label
from regatta.figures.quantities import show_percent
from regatta.figures.topic import Table, Topic

_COLUMNS = ("benchmark", "configuration", "heap", "metric", "blocks", "ratio", "interval", "p")


def aa_topic(answer: Answer, panels: list[Panel], looks: Looks) -> Topic | None:
    """A table a host; None without twins."""
    if not answer.gates:
        return None
    several = len(answer.gates) > 1
    return Topic(
        "aa",
        "A/A",
        "A/A: the same configuration twice",
        "One configuration of every comparison ran a second time in each block, under another name. Whatever is shown "
        f"between the two is a false alarm; {show_percent(answer.level)} intervals give one in "
        f"{1 / (1 - answer.level):.0f}.",
        sentences=tuple(gate.words for gate in answer.gates),
        tables=[_table(gate, f"Twins on {gate.host}" if several else "Twins") for gate in answer.gates],
    )


def _table(gate: Gate, title: str) -> Table:
    return Table(title, _COLUMNS, [_row(pair) for pair in gate.pairs], frozenset({4, 5, 7}))


def _row(pair: TwinPair) -> tuple[str, ...]:
    ratio = pair.ratio
    interval = ratio.reason if math.isnan(ratio.low) else f"{ratio.low:.4f} to {ratio.high:.4f}"
    return (
        pair.benchmark,
        pair.configuration,
        heap_label(pair.heap_factor, pair.heap_mib),
        pair.metric,
        str(ratio.n),
        "" if math.isnan(ratio.point) else f"{ratio.point:.4f}",
        interval,
        "" if math.isnan(pair.p) else f"{pair.p:.3f}",
    )

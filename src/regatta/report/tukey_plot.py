"""Tukey intervals: all pairs of a family as ratios whose intervals hold together."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.model.answer import Answer, Family, TukeyPair
from regatta.report.axes import Group
from regatta.report.labels import heap_label, heap_order, parameters_text
from regatta.report.looks import Looks
from regatta.report.panels import Panel
from regatta.report.quantities import show_percent
from regatta.report.ratio_rows import RatioFrame, RatioRow, band_words, ratio_figures, ratio_span
from regatta.report.topic import Topic


def pairs_topic(answer: Answer, panels: list[Panel], looks: Looks) -> Topic | None:
    """All pairs of collectors with simultaneous intervals, a group a benchmark, in the order of the heaps."""
    groups = [group for panel in panels if (group := _group(answer, panel)) is not None]
    if not groups:
        return None
    return Topic(
        "pairs",
        "Pairs",
        "Collectors among each other",
        f"Ratio of the means of each pair, with Tukey's {show_percent(answer.level)} intervals, which hold for all pairs "
        "of a family at once. Those that leave out 1 are dark, the others faint: they leave open which of the two is "
        f"better.{band_words(answer.theta_percent)}",
        groups=groups,
    )


def _group(answer: Answer, panel: Panel) -> Group | None:
    if panel.series_parameter:
        return None
    families = [
        family
        for family in answer.families
        if (family.host, family.benchmark, family.metric) == (panel.host, panel.benchmark, panel.metric)
    ]
    families.sort(key=lambda family: heap_order(family.heap_factor, family.heap_mib))
    rows: dict[str, list[RatioRow]] = {}
    for family in families:
        where = _where(family, families)
        rows.setdefault(where, []).extend(_row(pair, family) for pair in family.pairs)
    ratios = [row.ratio for group in rows.values() for row in group]
    span = ratio_span(ratios, answer.theta_percent)
    frame = RatioFrame(f"ratio first / second ({panel.better} is better)", span, answer.theta_percent)
    figures = ratio_figures({where: group for where, group in rows.items() if group}, frame)
    note = "; ".join(sorted({pair.ratio.method for family in families for pair in family.pairs} - {""}))
    return Group(panel.title, figures, [], note) if figures else None


def _row(pair: TukeyPair, family: Family) -> RatioRow:
    name = f"{pair.a_name} / {pair.b_name}"
    apart = math.isfinite(pair.ratio.low) and (pair.ratio.low > 1 or pair.ratio.high < 1)
    heap = heap_label(family.heap_factor, family.heap_mib)
    return RatioRow(
        name,
        pair.ratio,
        pair.p,
        "@ink" if apart else "@muted",
        "circle" if apart else "circle-open",
        (name, family.runtime, f"heap {heap}" if heap else ""),
    )


def _where(family: Family, families: Sequence[Family]) -> str:
    """What tells the family from the others of its panel."""
    heap = heap_label(family.heap_factor, family.heap_mib)
    several = len({(other.runtime, other.modifiers) for other in families}) > 1
    parts = (
        f"heap {heap}" if heap else "",
        family.runtime if several else "",
        family.modifiers if several and family.modifiers != "none" else "",
        parameters_text(family.parameters),
    )
    return ", ".join(part for part in parts if part)

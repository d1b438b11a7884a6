"""The topic of families: ANOVA of the collectors, and Tukey's pairs as ratios with simultaneous intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.answers.families.result import Family
from regatta.answers.page.panels import Panel
from regatta.answers.page.ratio_rows import RatioFrame, RatioRow, band_words, ratio_figures, ratio_span
from regatta.answers.page.view import View
from regatta.answers.parts import TukeyPair
from regatta.answers.result import Answer
from regatta.answers.topic import Topic
from regatta.figures.axes import Group
from regatta.figures.section import Section, Table
from regatta.figures.text import parameters_text, show_ends, show_heap, show_p, show_percent, show_ratio

_TESTS = ("benchmark", "where", "F", "p", "q", "method", "in words")
_PAIRS = ("benchmark", "where", "pair", "ratio", "simultaneous interval", "p")


def families_section(_: None, view: View) -> Section | None:
    """Return the pairs of all collectors as figures, in heap order; None without families."""
    answer, by_panel = view.answer, _by_panel(view)
    if not by_panel:
        return None
    return Section(
        "pairs",
        words="Analysis of variance tells whether any differ; which, tell the ratios of each pair with Tukey's "
        f"{show_percent(answer.level)} intervals, which hold for all pairs of a family at once; q is p after Benjamini and "
        "Hochberg over all families. Intervals that leave out 1 "
        f"are dark, the others faint: they leave open which of the two is better.{band_words(answer.theta_percent)}",
        groups=[
            group for panel, families in by_panel if (group := _group(answer, panel, families)) is not None
        ],
    )


def _by_panel(view: View) -> list[tuple[Panel, list[Family]]]:
    return [(panel, found) for panel in view.panels if (found := _families(view.answer, panel))]


def _families(answer: Answer, panel: Panel) -> list[Family]:
    """Return the families of a panel, smallest heap first."""
    found = [
        family
        for family in answer.families
        if (family.place.host, family.place.benchmark, family.metric)
        == (panel.host, panel.benchmark, panel.metric)
    ]
    return sorted(found, key=lambda family: family.place.heap.order)


def families_tables(_: None, view: View) -> list[Table]:
    """Return one table of the tests and one of the pairs, over all panels."""
    tests: list[tuple[str, ...]] = []
    pairs: list[tuple[str, ...]] = []
    for panel, families in _by_panel(view):
        for family in families:
            place = (panel.title, _where(family, families))
            tests.append((*place, *_test(family)))
            pairs += [(*place, *_pair(pair)) for pair in family.pairs]
    if not tests:
        return []
    tables = [Table("Does any differ?", _TESTS, tests, frozenset({3, 4}))]
    return [*tables, Table("Pairs", _PAIRS, pairs, frozenset({3, 5}), detail=True)] if pairs else tables


def _test(family: Family) -> tuple[str, ...]:
    f = f"F({family.df_between:g}, {family.df_error:g}) = {show_ratio(family.f)}"
    words = f"{family.words} ({family.reason})" if family.reason else family.words
    return f if math.isfinite(family.f) else "", show_p(family.p), show_p(family.q), family.method, words


def _pair(pair: TukeyPair) -> tuple[str, str, str, str]:
    return (
        f"{pair.a_name} / {pair.b_name}",
        show_ratio(pair.ratio.point),
        show_ends(pair.ratio) or pair.ratio.reason,
        show_p(pair.p),
    )


def _group(answer: Answer, panel: Panel, families: Sequence[Family]) -> Group | None:
    if panel.series_parameter:
        return None
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
    return RatioRow(
        name,
        pair.ratio,
        pair.p,
        "@ink" if apart else "@muted",
        "circle" if apart else "circle-open",
        (name, family.place.runtime, show_heap(family.place.heap, "heap ")),
    )


def _where(family: Family, families: Sequence[Family]) -> str:
    """Return the factors that distinguish the family from the others of its panel."""
    several = len({(other.place.runtime, other.place.modifiers) for other in families}) > 1
    parts = (
        show_heap(family.place.heap, "heap "),
        family.place.runtime if several else "",
        family.place.modifiers if several and family.place.modifiers != "none" else "",
        parameters_text(family.parameters),
    )
    return ", ".join(part for part in parts if part)


FAMILIES: Topic[None] = Topic(
    "families",
    title="Pairwise comparisons",
    empty=None,
    section=families_section,
    tables=families_tables,
    terminal=True,
)

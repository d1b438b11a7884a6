"""The topic of families: ANOVA of the alternatives, and the ratios of all pairs with simultaneous intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.answers.kit.panels import Panel
from regatta.answers.kit.ratio_rows import RatioRow, band_words, method_note, ratio_group
from regatta.answers.kit.topic import Topic
from regatta.answers.kit.view import View
from regatta.answers.spine.families.result import Family
from regatta.answers.spine.families.words import plural, unpaired_of
from regatta.answers.spine.methods import method_name
from regatta.answers.spine.parts import FamilyPair
from regatta.answers.spine.result import Answer
from regatta.figures.axes import Group
from regatta.figures.section import Section, Table
from regatta.figures.text import (
    parameters_text,
    show_ci,
    show_heap,
    show_p,
    show_percent,
    show_ratio,
    show_significance,
)
from regatta.stats.all_pairs import SIDAK
from regatta.stats.ratios import WELCH

_TESTS = ("benchmark", "setting", "compared", "F", "p (F)", "p (pairs)", "q", "method", "conclusion")
_PAIRS = (
    "benchmark",
    "setting",
    "compared",
    "comparison",
    "ratio",
    "simultaneous CI",
    "p",
    "significant",
    "practical",
    "note",
)


def families_section(_: None, view: View) -> Section | None:
    """Return the pairs of all alternatives as figures, in heap order; None without families."""
    answer, by_panel = view.answer, _by_panel(view)
    if not by_panel:
        return None
    return Section(
        "pairs",
        words="ANOVA tests whether any alternatives of a factor differ, and assumes that they vary equally. The smallest "
        "adjusted p of the pairs does not; q is this p, adjusted over all settings (Benjamini-Hochberg; with georges2007, p of "
        f"F). The ratios of pairs show which ones differ. Their {show_percent(answer.level)} intervals are simultaneous for "
        "all pairs of a setting. Dark intervals are significant; faint intervals are not. For a comparison with the baseline, the "
        "difference must also be significant after adjustment for all of them."
        f"{band_words(answer.theta_percent)}",
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
        if (family.place.host, family.metric) == (panel.host, panel.metric)
        and panel.benchmark in family.benchmarks[:1]
    ]
    return sorted(found, key=lambda family: family.place.heap.order)


def families_tables(_: None, view: View) -> list[Table]:
    """Return one table of the tests and one of the pairs, over all panels."""
    tests: list[tuple[str, ...]] = []
    pairs: list[tuple[str, ...]] = []
    by_panel = _by_panel(view)
    methods = {family.method for _, families in by_panel for family in families}
    one = method_name(methods.pop()) if len(methods) == 1 else ""
    for panel, families in by_panel:
        for family in families:
            title = (
                f"{family.place.benchmark} · {family.metric}" if len(family.benchmarks) > 1 else panel.title
            )
            place = (title, _where(family, families), plural(family.factor))
            tests.append((*place, *_test(family, "" if one else method_name(family.method))))
            apart = unpaired_of(family.pairs)
            note = method_name(SIDAK[WELCH]) if len(apart) < len(family.pairs) else ""
            pairs += [(*place, *_pair(pair), note if pair in apart else "") for pair in family.pairs]
    if not tests:
        return []
    tables = [Table(one or "ANOVA", _TESTS, tests, frozenset({4, 5, 6}))]
    return [*tables, Table("All pairs", _PAIRS, pairs, frozenset({4, 6}), detail=True)] if pairs else tables


def _test(family: Family, method: str) -> tuple[str, ...]:
    f = f"F({family.df_between:g}, {family.df_error:g}) = {show_ratio(family.f)}"
    return (
        f if math.isfinite(family.f) else "",
        show_p(family.p),
        show_p(family.p_pairs),
        show_p(family.q),
        method,
        family.words,
    )


def _pair(pair: FamilyPair) -> tuple[str, ...]:
    return (
        f"{pair.a_name} / {pair.b_name}",
        show_ratio(pair.ratio.point),
        show_ci(pair.ratio) or pair.ratio.reason,
        show_p(pair.p),
        pair.verdict.significant,
        show_significance(pair.verdict.practical),
    )


def _group(answer: Answer, panel: Panel, families: Sequence[Family]) -> Group | None:
    if panel.series_parameter:
        return None
    rows: dict[str, list[RatioRow]] = {}
    for family in families:
        shared = family.place.benchmark if len(family.benchmarks) > 1 else ""
        where = ", ".join(filter(None, (shared, _where(family, families))))
        rows.setdefault(where, []).extend(_row(pair, family) for pair in family.pairs)
    note = method_note(pair.ratio.method for family in families for pair in family.pairs)
    shown = {where: group for where, group in rows.items() if group}
    return ratio_group(
        panel.title, shown, f"ratio ({panel.better} is better)", answer.theta_percent, note=note
    )


def _row(pair: FamilyPair, family: Family) -> RatioRow:
    name = f"{pair.a_name} / {pair.b_name}"
    apart = pair.verdict.significant == "yes"
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
    several = (
        len({(other.place.runtime, other.place.collector, other.place.modifiers) for other in families}) > 1
    )
    parts = (
        show_heap(family.place.heap, "heap "),
        family.place.runtime if several else "",
        family.place.collector if several else "",
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

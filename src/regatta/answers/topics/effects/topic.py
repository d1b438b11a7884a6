"""The topic of effects: tables of the ANOVA over all factors."""

from __future__ import annotations

import math

from regatta.answers.kit.anova_table import anova_table, show_dfs
from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.families.words import plural
from regatta.answers.spine.methods import method_name
from regatta.answers.topics.effects.compute import Effects, EffectTable, effect_words, judge_effects
from regatta.answers.topics.effects.manovas import Manova
from regatta.figures.section import Section, Table
from regatta.figures.text import show_heap, show_number, show_p


def effects_section(effects: Effects, view: View) -> Section | None:
    """Return ANOVA over all factors, and MANOVA; None with fewer than two factors with several levels."""
    if not effects.tables and not effects.manovas:
        return None
    return Section(
        "effects",
        words="ANOVA of logarithms over all factors with several levels. A factor that varies within blocks is tested there; one "
        "that is constant in each block is tested against the blocks of a round, and the host against rounds. Partial η² is the "
        "share of the variation in this stratum that a factor explains after all others; ω² is a less biased estimate of it. p "
        "uses approximate degrees of freedom, so that levels may vary unequally. MANOVA subtracts the mean of each round. The p "
        "of Roy's statistic is a lower bound.",
    )


def effects_tables(effects: Effects, view: View) -> list[Table]:
    """Return one table per ANOVA, and one of all MANOVAs."""
    tables = [_anova(table) for table in effects.tables]
    if effects.manovas:
        columns = (
            "host",
            "compared",
            "configuration",
            "heap",
            "benchmarks",
            "n",
            "statistic",
            "value",
            "F",
            "df",
            "p",
            "method",
            "reason",
        )
        rows = [row for one in effects.manovas for row in _manova(one)]
        tables.append(Table("MANOVA of all benchmarks", columns, rows, frozenset({4, 5, 7, 8, 10})))
    return tables


def _anova(table: EffectTable) -> Table:
    factors = ", ".join(f"{name} ({len(levels)})" for name, levels in table.factors)
    where = f"{table.platform}, " if table.platform else ""
    title = f"{where}{table.metric}: {factors}; type {table.kind}, n = {table.found.n:,}"
    return anova_table(title, table.found, table.reason)


def _manova(one: Manova) -> list[tuple[str, ...]]:
    heap = show_heap(one.place.heap)
    of = plural(one.factor)
    place = (one.place.host, of, one.place.configuration, heap, str(len(one.benchmarks)), str(one.n))
    return [
        (
            *place,
            row.statistic,
            show_number(row.found.value, 3),
            show_number(row.found.f, 3),
            "" if math.isnan(row.found.f) else show_dfs(row.found.df_between, row.found.df_error),
            show_p(row.found.p) if math.isnan(row.found.p_lower_bound) else _bound(row.found.p_lower_bound),
            method_name(one.method),
            one.reason,
        )
        for row in one.rows
    ]


def _bound(p: float) -> str:
    """Format the lower bound of a p: `> 0.0131 (lower bound)`."""
    shown = show_p(p)
    return f"> {'0' if shown.startswith('<') else shown} (lower bound)"


EFFECTS: Topic[Effects] = Topic(
    "effects",
    title="ANOVA",
    empty=Effects(),
    compute=judge_effects,
    words=Words(
        130, "What explains how much", lambda effects, context: effect_words(effects, context.facts.level)
    ),
    document=Document(50, "effects"),
    section=effects_section,
    tables=effects_tables,
)

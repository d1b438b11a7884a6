"""The topic of effects: tables of the ANOVA over all factors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.answers.kit.anova_table import anova_table, show_dfs
from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.families.words import plural
from regatta.answers.spine.methods import method_name
from regatta.answers.topics.effects.compute import Effects, EffectTable, effect_words, judge_effects
from regatta.answers.topics.effects.manovas import Manova, ManovaRow
from regatta.figures.section import Column, Section, Table, table_of
from regatta.figures.text import show_heap, show_number, show_p
from regatta.stats.manova import ManovaStatistic


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
    return [*tables, _manova(effects.manovas)] if effects.manovas else tables


def _anova(table: EffectTable) -> Table:
    factors = ", ".join(f"{name} ({len(levels)})" for name, levels in table.factors)
    where = f"{table.platform}, " if table.platform else ""
    title = f"{where}{table.metric}: {factors}; type {table.kind}, n = {table.found.n:,}"
    return anova_table(title, table.found, table.reason)


def _manova(manovas: Sequence[Manova]) -> Table:
    columns: list[Column[tuple[Manova, ManovaRow]]] = [
        Column("host", lambda row: row[0].place.host),
        Column("compared", lambda row: plural(row[0].factor)),
        Column("configuration", lambda row: row[0].place.configuration),
        Column("heap", lambda row: show_heap(row[0].place.heap)),
        Column("benchmarks", lambda row: str(len(row[0].benchmarks)), numeric=True),
        Column("n", lambda row: str(row[0].n), numeric=True),
        Column("statistic", lambda row: row[1].statistic),
        Column("value", lambda row: show_number(row[1].found.value, 3), numeric=True),
        Column("F", lambda row: show_number(row[1].found.f, 3), numeric=True),
        Column("df", lambda row: _dfs(row[1].found)),
        Column("p", lambda row: _p(row[1].found), numeric=True),
        Column("method", lambda row: method_name(row[0].method)),
        Column("reason", lambda row: row[0].reason),
    ]
    return table_of("MANOVA of all benchmarks", [(one, row) for one in manovas for row in one.rows], columns)


def _dfs(found: ManovaStatistic) -> str:
    return "" if math.isnan(found.f) else show_dfs(found.df_between, found.df_error)


def _p(found: ManovaStatistic) -> str:
    return show_p(found.p) if math.isnan(found.p_lower_bound) else _bound(found.p_lower_bound)


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

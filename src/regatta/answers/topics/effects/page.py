"""The topics of what explains how much, and of where the variance is: sentences and tables."""

from __future__ import annotations

import math

from regatta.answers.page.looks import Looks
from regatta.answers.page.panels import Panel
from regatta.answers.result import Answer
from regatta.answers.topics.effects.result import EffectTable, Manova
from regatta.answers.topics.levels.result import CellLevels
from regatta.figures.labels import heap_label, parameters_text
from regatta.figures.quantities import ABSENT, show_p, significant
from regatta.figures.topic import Table, Topic

#: more series than this are told by the sentences alone
_LEVEL_ROWS = 300


def effects_topic(answer: Answer, panels: list[Panel], looks: Looks) -> Topic | None:
    """Analysis of variance over all factors, and MANOVA; None where fewer than two factors have several levels."""
    effects = answer.effects
    if not effects.tables and not effects.manovas:
        return None
    tables = [_anova(table) for table in effects.tables]
    if effects.manovas:
        columns = (
            "host",
            "runtime",
            "heap",
            "benchmarks",
            "rows",
            "statistic",
            "value",
            "F",
            "df",
            "p",
            "why not",
        )
        rows = [row for one in effects.manovas for row in _manova(one)]
        tables.append(
            Table("All benchmarks at once (MANOVA by collector)", columns, rows, frozenset({3, 4, 6, 7, 9}))
        )
    return Topic(
        "effects",
        "Effects",
        "What explains how much",
        "Analysis of variance of logarithms over all factors that have several levels. Partial η² is the share that a factor "
        "explains of what all others leave; ω² is the same, less biased. Blocks are no factor here, so that drift counts as "
        "error: the comparisons inside blocks are sharper.",
        sentences=answer.findings.get("What explains how much", ()),
        tables=tables,
    )


def levels_topic(answer: Answer, panels: list[Panel], looks: Looks) -> Topic | None:
    """How much iterations and invocations vary, and what is worth repeating; None without iterations after warm-up."""
    if not answer.levels:
        return None
    several = len({one.host for one in answer.levels}) > 1
    columns = ("benchmark", "heap", "configuration", "repetitions", "iterations vary by", "invocations add", "hosts add",
               "share of iterations", "best iterations", "why not")  # fmt: skip
    rows = [
        (one.host or "all", *_level(one)) if several else _level(one) for one in answer.levels[:_LEVEL_ROWS]
    ]
    numeric = frozenset(range(3 + several, 9 + several))
    return Topic(
        "levels",
        "Levels",
        "Where the variance is",
        "Standard deviations that each level adds (Kalibera and Jones), in per cent of the mean: of iterations after warm-up "
        "inside an invocation, and of invocations beyond that. Best iterations: how many after warm-up give most for the time.",
        sentences=answer.findings.get("Where the variance is", ()),
        tables=[Table("", ("host", *columns) if several else columns, rows, numeric)],
    )


def _anova(table: EffectTable) -> Table:
    columns = ("source", "df", "SS", "F", "p", "partial η²", "partial ω²", "note")
    rows: list[tuple[str, ...]] = [
        (
            row.source,
            str(row.df),
            _number(row.ss, 4),
            _number(row.f, 4),
            show_p(row.p),
            _share(row.eta2_partial),
            _share(row.omega2_partial),
            row.reason or row.note,
        )
        for row in table.rows
    ]
    rows.append(("error", str(table.df_error), _number(table.ss_error, 4), "", "", "", "", table.reason))
    factors = ", ".join(f"{name} ({len(levels)})" for name, levels in table.factors)
    where = f"on {table.platform}, " if table.platform else ""
    title = f"{where}{table.metric}: {factors}; type {table.kind}, {table.n:,} values"
    return Table(title, columns, rows, frozenset(range(1, 7)))


def _manova(one: Manova) -> list[tuple[str, ...]]:
    heap = heap_label(one.heap_factor, one.heap_mib)
    place = (one.host, one.runtime, heap, str(len(one.benchmarks)), str(one.n))
    return [
        (
            *place,
            row.statistic,
            _number(row.value, 3),
            _number(row.f, 3),
            "" if math.isnan(row.f) else f"{row.df_between:.4g}, {row.df_error:.4g}",
            show_p(row.p),
            one.reason,
        )
        for row in one.rows
    ]


def _level(one: CellLevels) -> tuple[str, ...]:
    spread = [*(f"{x:.2g} %" if math.isfinite(x) else ABSENT for x in one.spread_percent), ""]
    share = one.share_percent[0]
    given = parameters_text(one.parameters)
    best = "any" if math.isinf(one.best_iterations) else _number(one.best_iterations, 3)
    return (
        f"{one.benchmark} ({given})" if given else one.benchmark,
        heap_label(one.heap_factor, one.heap_mib),
        one.configuration,
        " × ".join(str(count) for count in reversed(one.counts)),
        *spread[:3],
        f"{share:.0f} %" if math.isfinite(share) else ABSENT,
        best if len(one.levels) == 2 else "",
        one.reason,
    )


def _number(value: float, digits: int) -> str:
    return significant(value, digits) if math.isfinite(value) else ABSENT


def _share(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else ABSENT

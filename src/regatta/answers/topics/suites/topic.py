"""The topic of geometric means over the benchmarks of a suite."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from regatta.answers.kit.columns import COMPARISON, PRACTICAL
from regatta.answers.kit.plain import pair_row, plain
from regatta.answers.kit.ranking import ranked
from regatta.answers.kit.ratio_rows import RatioRow, band_words, mean_rows, ratio_group
from regatta.answers.kit.topic import Document, Rows, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.topics.suites.compute import SuiteComparison, judge_suites
from regatta.figures.axes import Group
from regatta.figures.looks import Look
from regatta.figures.section import Column, Section, Table, table_of
from regatta.figures.text import joined, show_heap, show_interval, show_percent, show_significance

_PLAIN = Look("@ink", "circle", "solid")


def suites_section(found: Sequence[SuiteComparison], view: View) -> Section | None:
    """Return forest plots with means below their benchmarks, and a table; None if no suite has two benchmarks."""
    if not found:
        return None
    groups: dict[str, list[SuiteComparison]] = {}
    for suite in found:
        place = joined(suite.suite, show_heap(suite.heap, "heap "), view.on_host(suite.host))
        groups.setdefault(place, []).append(suite)
    return Section(
        "suites",
        words="Geometric means of the ratios to the baseline, over the benchmarks that both sides completed. The first interval is "
        "for exactly these benchmarks. The second is for similar benchmarks and includes the variance between benchmarks."
        + band_words(view.answer.theta_percent),
        groups=[
            group for place, suites in groups.items() if (group := _group(place, suites, view)) is not None
        ],
    )


def _group(place: str, suites: list[SuiteComparison], view: View) -> Group | None:
    look_of = {cell.cell_id: view.looks.of(cell) for cell in view.answer.cells}
    rows = {
        f"{suite.a_name} / {suite.b_name}": _ratio_rows(suite, look_of.get(suite.a, _PLAIN))
        for suite in suites
    }
    what = f"ratio to the baseline ({suites[0].better} is better)"
    return ratio_group(place, rows, what, view.answer.theta_percent)


def _ratio_rows(suite: SuiteComparison, look: Look) -> list[RatioRow]:
    rows = [
        RatioRow(member.benchmark, member.ratio, math.nan, look.colour, look.mark, (member.benchmark,))
        for member in suite.members
    ]
    return [*rows, *mean_rows(len(rows), suite.these, suite.like_these)]


def suites_tables(found: Sequence[SuiteComparison], view: View) -> list[Table]:
    """Return both intervals of every suite, and its excluded benchmarks."""
    columns: list[Column[SuiteComparison]] = [
        Column("host", lambda suite: view.host(suite.host)),
        Column("suite", lambda suite: suite.suite),
        Column("heap", lambda suite: show_heap(suite.heap)),
        Column("ratio", COMPARISON.text),
        Column("benchmarks", lambda suite: str(len(suite.members)), numeric=True),
        Column("these benchmarks", lambda suite: show_interval(suite.these)),
        Column("similar benchmarks", lambda suite: show_interval(suite.like_these)),
        PRACTICAL,
        Column("excluded", lambda suite: "; ".join(f"{name}: {reason}" for name, reason in suite.left_out)),
    ]
    return [*_ranking(found, view), table_of("Ratios", found, columns, detail=True)]


def _ranking(found: Sequence[SuiteComparison], view: View) -> list[Table]:
    """Rank the alternatives that share a baseline, if there are at least two of them and all completed the same benchmarks."""
    groups: dict[tuple[object, ...], list[SuiteComparison]] = {}
    for suite in found:
        benchmarks = frozenset(member.benchmark for member in suite.members)
        heap = None if "heap" in suite.factors else suite.heap.asked
        key = (suite.host, suite.suite, heap, suite.metric, suite.b_name, benchmarks)
        groups.setdefault(key, []).append(suite)
    rows = []
    for suites in groups.values():
        first = suites[0]
        if len(suites) < 2:
            continue
        heap_text = "" if "heap" in first.factors else show_heap(first.heap)
        place = (view.host(first.host), first.suite, heap_text, str(len(first.members)))
        entries = [
            (
                suite.these.point,
                (suite.a_name, show_interval(suite.these), show_significance(suite.verdict.practical)),
            )
            for suite in suites
        ]
        baseline = (first.b_name, "1 (baseline)", "")
        rows += [(*place, str(rank), *cells) for rank, cells in ranked(baseline, entries, first.better)]
    level = show_percent(view.answer.level)
    columns = (
        *("host", "suite", "heap", "benchmarks", "rank", "alternative"),
        *(f"geometric mean, {level} CI", "practical"),
    )
    return [Table("Ranking", columns, rows, frozenset({3, 4}))] if rows else []


def _document(suites: Sequence[SuiteComparison]) -> list[dict[str, Any]]:
    return [{**plain(suite), "generalises": suite.generalises} for suite in suites]


def _rows(suites: Sequence[SuiteComparison]) -> Iterator[dict[str, Any]]:
    """Yield means for these and for similar benchmarks; `value` is the ratio a/b."""
    for suite in suites:
        names = (suite.a_name, suite.b_name)
        yield pair_row(
            suite, "suite", *names, suite.these, suite.p, benchmark=suite.suite, verdict=suite.verdict
        )
        yield pair_row(suite, "suite-like-these", *names, suite.like_these, math.nan, benchmark=suite.suite)


SUITES: Topic[tuple[SuiteComparison, ...]] = Topic(
    "suites",
    title="Suite means",
    empty=(),
    compute=judge_suites,
    words=Words(40, "Over a suite", lambda suites, _: [suite.words for suite in suites]),
    document=Document(20, "suites", _document),
    rows=Rows(20, _rows),
    section=suites_section,
    tables=suites_tables,
    terminal=True,
)

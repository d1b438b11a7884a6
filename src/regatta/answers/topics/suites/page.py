"""The section of suites: each benchmark's ratio, their geometric mean, and its interval for similar benchmarks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.answers.kit.ranking import ranked
from regatta.answers.kit.ratio_rows import (
    RatioFrame,
    RatioRow,
    band_words,
    ratio_figures,
    ratio_span,
)
from regatta.answers.kit.view import View
from regatta.answers.topics.suites.compute import SuiteComparison
from regatta.figures.axes import Group
from regatta.figures.looks import Look
from regatta.figures.section import Section, Table
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
    span = ratio_span(
        [ratio for suite in suites for ratio in (suite.these, suite.like_these, *(m.ratio for m in suite.members))],
        view.answer.theta_percent,
    )  # fmt: skip
    frame = RatioFrame(
        f"ratio to the baseline ({suites[0].better} is better)", span, view.answer.theta_percent
    )
    rows = {
        f"{suite.a_name} / {suite.b_name}": _rows(suite, look_of.get(suite.a, _PLAIN)) for suite in suites
    }
    figures = ratio_figures(rows, frame)
    return Group(place, figures) if figures else None


def _rows(suite: SuiteComparison, look: Look) -> list[RatioRow]:
    rows = [
        RatioRow(member.benchmark, member.ratio, math.nan, look.colour, look.mark, (member.benchmark,))
        for member in suite.members
    ]
    n = len(suite.members)
    rows.append(
        RatioRow(f"these {n} benchmarks", suite.these, math.nan, "@ink", "diamond", ("geometric mean",))
    )
    rows.append(
        RatioRow("similar benchmarks", suite.like_these, math.nan, "@muted", "diamond", ("geometric mean",))
    )
    return rows


def suites_tables(found: Sequence[SuiteComparison], view: View) -> list[Table]:
    """Return both intervals of every suite, and its excluded benchmarks."""
    columns = (
        "host",
        "suite",
        "heap",
        "ratio",
        "benchmarks",
        "these benchmarks",
        "similar benchmarks",
        "practical",
        "excluded",
    )
    rows = [
        (
            view.host(suite.host),
            suite.suite,
            show_heap(suite.heap),
            f"{suite.a_name} / {suite.b_name}",
            str(len(suite.members)),
            show_interval(suite.these),
            show_interval(suite.like_these),
            show_significance(suite.verdict.practical),
            "; ".join(f"{benchmark}: {reason}" for benchmark, reason in suite.left_out),
        )
        for suite in found
    ]
    return [*_ranking(found, view), Table("Ratios", columns, rows, frozenset({4}), detail=True)]


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
        "host", "suite", "heap", "benchmarks", "rank", "alternative", f"geometric mean, {level} CI", "practical",
    )  # fmt: skip
    return [Table("Ranking", columns, rows, frozenset({3, 4}))] if rows else []

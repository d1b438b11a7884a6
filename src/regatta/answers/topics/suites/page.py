"""The topic of suites: each benchmark's ratio, their geometric mean, and what it says of other benchmarks."""

from __future__ import annotations

import math

from regatta.answers.page.looks import Looks
from regatta.answers.page.panels import Panel
from regatta.answers.page.ratio_rows import (
    RatioFrame,
    RatioRow,
    band_words,
    ratio_figures,
    ratio_span,
    reading,
)
from regatta.answers.result import Answer
from regatta.answers.topics.suites.result import SuiteComparison
from regatta.figures.axes import Group
from regatta.figures.labels import heap_label
from regatta.figures.looks import Look
from regatta.figures.topic import Table, Topic

_PLAIN = Look("@ink", "circle", "solid")


def suites_topic(answer: Answer, panels: list[Panel], looks: Looks) -> Topic | None:
    """Forest plots with the means below their benchmarks, and a table; None where no suite has two benchmarks."""
    if not answer.suites:
        return None
    several = len({suite.host for suite in answer.suites}) > 1
    groups: dict[str, list[SuiteComparison]] = {}
    for suite in answer.suites:
        groups.setdefault(_place(suite, several), []).append(suite)
    return Topic(
        "suites",
        "Suites",
        "Over a suite",
        "Geometric means of the ratios to the baseline, over the benchmarks that both sides completed. The first interval is "
        "for these very benchmarks; the second is for benchmarks like these, and takes in how much programs differ."
        + band_words(answer.theta_percent),
        sentences=answer.findings.get("Over a suite", ()),
        tables=[_table(answer, several)],
        groups=[
            group
            for place, suites in groups.items()
            if (group := _group(place, suites, answer, looks)) is not None
        ],
    )


def _place(suite: SuiteComparison, several: bool) -> str:
    heap = heap_label(suite.heap_factor, suite.heap_mib)
    parts = (suite.suite, f"heap {heap}" if heap else "", f"on {suite.host}" if several else "")
    return " · ".join(part for part in parts if part)


def _group(place: str, suites: list[SuiteComparison], answer: Answer, looks: Looks) -> Group | None:
    look_of = {cell.cell_id: looks.of(cell) for cell in answer.cells}
    span = ratio_span(
        [ratio for suite in suites for ratio in (suite.these, suite.like_these, *(m.ratio for m in suite.members))],
        answer.theta_percent,
    )  # fmt: skip
    frame = RatioFrame(f"ratio to the baseline ({suites[0].better} is better)", span, answer.theta_percent)
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
        RatioRow(
            "benchmarks like these", suite.like_these, math.nan, "@muted", "diamond", ("geometric mean",)
        )
    )
    return rows


def _table(answer: Answer, several: bool) -> Table:
    columns = (
        "suite",
        "heap",
        "ratio",
        "benchmarks",
        "these",
        "benchmarks like these",
        "matters",
        "left out",
    )
    return Table(
        "",
        ("host", *columns) if several else columns,
        [(suite.host, *_cells(suite)) if several else _cells(suite) for suite in answer.suites],
        frozenset({3 + several}),
    )


def _cells(suite: SuiteComparison) -> tuple[str, ...]:
    return (
        suite.suite,
        heap_label(suite.heap_factor, suite.heap_mib),
        f"{suite.a_name} / {suite.b_name}",
        str(len(suite.members)),
        reading(suite.these),
        reading(suite.like_these),
        suite.practical,
        "; ".join(f"{benchmark}: {reason}" for benchmark, reason in suite.left_out),
    )

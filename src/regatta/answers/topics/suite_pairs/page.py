"""The section of all pairs over a suite: the leaders, and the ratio of each pair."""

from __future__ import annotations

from collections.abc import Sequence

from regatta.answers.kit.view import View
from regatta.answers.topics.suite_pairs.compute import SuitePairs
from regatta.figures.section import Section, Table
from regatta.figures.text import show_heap, show_interval, show_p, show_percent


def suite_pairs_section(found: Sequence[SuitePairs], view: View) -> Section | None:
    """Explain the tables; None without three alternatives that completed two benchmarks."""
    if not found:
        return None
    return Section(
        "suite-pairs",
        words="Geometric means of the ratios of all pairs of alternatives, over the benchmarks that all of them completed, and for "
        f"exactly these benchmarks. The {show_percent(view.answer.level)} intervals are simultaneous for all pairs (Šidák). "
        "Leaders are the best alternative and those that do not differ significantly from it.",
    )


def suite_pairs_tables(found: Sequence[SuitePairs], view: View) -> list[Table]:
    """Return the alternatives, best first, and all pairs."""
    alternatives: list[tuple[str, ...]] = []
    pairs: list[tuple[str, ...]] = []
    for one in found:
        place = (view.host(one.host), one.suite, show_heap(one.heap), one.metric, str(len(one.benchmarks)))
        alternatives += [
            (*place, name, "yes" if name in one.leaders else "", "yes" if name == one.winner else "")
            for name in one.names
        ]
        pairs += [
            (*place, f"{pair.a_name} / {pair.b_name}", show_interval(pair.ratio), show_p(pair.p))
            for pair in one.pairs
        ]
    columns = ("host", "suite", "heap", "metric", "benchmarks")
    level = show_percent(view.answer.level)
    return [
        Table(
            "Leaders", (*columns, "alternative, best first", "leader", "winner"), alternatives, frozenset({4})
        ),
        Table(
            "All pairs",
            (*columns, "comparison", f"geometric mean, simultaneous {level} CI", "p"),
            pairs,
            frozenset({4, 7}),
            detail=True,
        ),
    ]

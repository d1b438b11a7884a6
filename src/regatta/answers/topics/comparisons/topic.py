"""The topic of comparisons: every comparison with the baseline, with adjustments."""

from __future__ import annotations

from regatta.answers.kit.columns import BENCHMARK, COMPARISON, HEAP_SIZE, P_HOLM, P, host_column
from regatta.answers.kit.topic import Topic
from regatta.answers.kit.view import View
from regatta.answers.spine.methods import method_name
from regatta.answers.spine.result import Comparison
from regatta.figures.section import Column, Section, Table, table_of
from regatta.figures.text import (
    parameters_text,
    show_ci,
    show_interval,
    show_percent,
    show_ratio,
    show_significance,
)

#: longer tables belong in a file: `regatta analyze --csv`
_ROWS_AT_MOST = 400


def comparisons_section(_: None, view: View) -> Section | None:
    """Explain how to read the table; None with fewer than two comparisons."""
    answer = view.answer
    if len(answer.comparisons) < 2:
        return None
    return Section(
        "comparisons",
        words=f"Ratios alternative / baseline, each with a {show_percent(answer.level)} confidence interval. Šidák's intervals are "
        "simultaneous for all alternatives of a baseline, each with its own variance. Holm's p is adjusted for all comparisons of this table. The column "
        f"“significant” is yes if adj. p is below {1 - answer.level:.3g}; for a pair that is also part of all pairs of a factor, "
        f"p of these pairs, too. “beyond ±{answer.theta_percent:g} %” shows practical significance: yes if the difference is "
        f"significant and the whole interval of the ratio is further than {answer.theta_percent:g} % from 1, no if it is within, "
        "disturbed if a side has fewer than 2 undisturbed invocations, else inconclusive.",
    )


def comparisons_tables(_: None, view: View) -> list[Table]:
    """Return every comparison: unadjusted, simultaneous with the same baseline, and adjusted over all."""
    comparisons, theta = view.answer.comparisons, view.answer.theta_percent
    methods = sorted({one.ratio.method for one in comparisons})
    several = len(methods) > 1

    def simultaneous(one: Comparison) -> str:
        return "" if one.simultaneous is None else show_interval(one.simultaneous)

    columns: list[Column[Comparison]] = [
        *(host_column(view), BENCHMARK, HEAP_SIZE, COMPARISON),
        Column("metric", lambda one: ", ".join(filter(None, (one.metric, parameters_text(one.parameters))))),
        Column("n", lambda one: str(one.ratio.n), numeric=True),
        Column("ratio", lambda one: show_ratio(one.ratio.point), numeric=True),
        Column(f"{show_percent(view.answer.level)} CI", lambda one: show_ci(one.ratio), numeric=True),
        *(P, P_HOLM),
        Column("simultaneous CI (Šidák)", simultaneous, numeric=True),
        Column("significant", lambda one: one.verdict.significant),
        Column(f"beyond ±{theta:g} %", lambda one: show_significance(one.verdict.practical)),
        Column("method", lambda one: method_name(one.ratio.method) if several else ""),
        Column("reason", lambda one: one.ratio.reason),
    ]
    titles = [method_name(method) for method in methods] if len(methods) == 1 else []
    if len(comparisons) > _ROWS_AT_MOST:
        titles = [*titles, f"first {_ROWS_AT_MOST} of {len(comparisons)}; all: regatta analyze --csv"]
    return [table_of(", ".join(titles), comparisons[:_ROWS_AT_MOST], columns)]


COMPARISONS: Topic[None] = Topic(
    "comparisons",
    title="Multiple comparisons",
    empty=None,
    section=comparisons_section,
    tables=comparisons_tables,
    terminal=True,
)

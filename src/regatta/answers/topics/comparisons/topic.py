"""The topic of comparisons: every comparison with the baseline, with adjustments."""

from __future__ import annotations

from regatta.answers.kit.topic import Topic
from regatta.answers.kit.view import View
from regatta.answers.spine.methods import method_name
from regatta.answers.spine.result import Comparison
from regatta.figures.section import Section, Table
from regatta.figures.text import (
    parameters_text,
    show_ci,
    show_heap,
    show_interval,
    show_p,
    show_percent,
    show_ratio,
    show_significance,
)

_COLUMNS = (
    "host", "benchmark", "heap", "comparison", "metric", "n", "ratio", "CI", "p", "adj. p (Holm)", "simultaneous CI (Šidák)",
    "significant", "beyond theta", "method", "reason",
)  # fmt: skip
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
    rows = [_row(one, view, len(methods) > 1) for one in comparisons[:_ROWS_AT_MOST]]
    named = {"CI": f"{show_percent(view.answer.level)} CI", "beyond theta": f"beyond ±{theta:g} %"}
    columns = tuple(named.get(name, name) for name in _COLUMNS)
    titles = [method_name(method) for method in methods] if len(methods) == 1 else []
    if len(comparisons) > _ROWS_AT_MOST:
        titles = [*titles, f"first {_ROWS_AT_MOST} of {len(comparisons)}; all: regatta analyze --csv"]
    return [Table(", ".join(titles), columns, rows, frozenset({5, 6, 7, 8, 9, 10}))]


def _row(one: Comparison, view: View, several_methods: bool) -> tuple[str, ...]:
    metric, given = one.metric, parameters_text(one.parameters)
    return (
        view.host(one.place.host),
        one.place.benchmark,
        show_heap(one.place.heap),
        f"{one.a_name} / {one.b_name}",
        f"{metric}, {given}" if given else metric,
        str(one.ratio.n),
        show_ratio(one.ratio.point),
        show_ci(one.ratio),
        show_p(one.p),
        show_p(one.p_holm),
        "" if one.simultaneous is None else show_interval(one.simultaneous),
        one.verdict.significant,
        show_significance(one.verdict.practical),
        method_name(one.ratio.method) if several_methods else "",
        one.ratio.reason,
    )


COMPARISONS: Topic[None] = Topic(
    "comparisons",
    title="Multiple comparisons",
    empty=None,
    section=comparisons_section,
    tables=comparisons_tables,
    terminal=True,
)

"""Every comparison with the baseline, among many."""

from __future__ import annotations

from regatta.answers.page.ratio_rows import reading
from regatta.answers.page.view import View
from regatta.answers.result import Comparison
from regatta.figures.labels import heap_label, parameters_text
from regatta.figures.quantities import show_p, show_percent
from regatta.figures.section import Section, Table

#: more rows than this belong into a file: `regatta analyze --csv`
_ROWS_AT_MOST = 400


def comparisons_section(_: None, view: View) -> Section | None:
    """How to read the table; None with fewer than two comparisons."""
    answer = view.answer
    if len(answer.comparisons) < 2:
        return None
    shown = min(len(answer.comparisons), _ROWS_AT_MOST)
    left = len(answer.comparisons) - shown
    more = (
        f" The first {shown} of {len(answer.comparisons)}; `regatta analyze --csv` has all." if left else ""
    )
    return Section(
        "comparisons",
        "Many",
        "Comparisons among many",
        f"Each ratio with its {show_percent(answer.level)} interval by itself; with an interval that holds together with those "
        "of all alternatives of its baseline (Dunnett); and p adjusted over all comparisons here (Holm). It matters when the "
        f"interval by itself lies wholly beyond ±{answer.theta_percent:g} %.{more}",
    )


def comparisons_tables(_: None, view: View) -> list[Table]:
    """Every comparison by itself, among its siblings, and among all."""
    comparisons = view.answer.comparisons
    several = len({one.host for one in comparisons}) > 1
    columns = ("benchmark", "heap", "ratio", "by itself", "p", "with its siblings", "p (Holm)", "matters")
    rows = [(one.host, *_row(one)) if several else _row(one) for one in comparisons[:_ROWS_AT_MOST]]
    return [
        Table("", ("host", *columns) if several else columns, rows, frozenset({4 + several, 6 + several}))
    ]


def _row(one: Comparison) -> tuple[str, ...]:
    given = parameters_text(one.parameters)
    return (
        f"{one.benchmark} ({given})" if given else one.benchmark,
        heap_label(one.heap_factor, one.heap_mib),
        f"{one.a_name} / {one.b_name}",
        reading(one.ratio),
        show_p(one.p),
        "" if one.simultaneous is None else reading(one.simultaneous),
        show_p(one.p_holm),
        one.practical,
    )

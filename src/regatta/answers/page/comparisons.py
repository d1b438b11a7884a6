"""The topics of comparisons among many, and of the way in which all was answered where it is not Regatta's own."""

from __future__ import annotations

from regatta.answers.page.looks import Looks
from regatta.answers.page.panels import Panel
from regatta.answers.page.ratio_rows import reading
from regatta.answers.result import Answer, Comparison
from regatta.figures.labels import heap_label, parameters_text
from regatta.figures.quantities import show_p, show_percent
from regatta.figures.topic import Table, Topic

#: more rows than this belong into a file: `regatta analyze --csv`
_ROWS_AT_MOST = 400


def method_topic(answer: Answer, panels: list[Panel], looks: Looks) -> Topic | None:
    """How the paper's own way differs; None where the answer is Regatta's own."""
    sentences = answer.findings.get("The paper's own way", ())
    if not sentences:
        return None
    return Topic("method", "Method", "The paper's own way", "", sentences=sentences)


def comparisons_topic(answer: Answer, panels: list[Panel], looks: Looks) -> Topic | None:
    """Every comparison by itself, among its siblings, and among all; None with fewer than two."""
    if len(answer.comparisons) < 2:
        return None
    shown = answer.comparisons[:_ROWS_AT_MOST]
    several = len({one.host for one in answer.comparisons}) > 1
    columns = ("benchmark", "heap", "ratio", "by itself", "p", "with its siblings", "p (Holm)", "matters")
    rows = [(one.host, *_row(one)) if several else _row(one) for one in shown]
    left = len(answer.comparisons) - len(shown)
    more = (
        f" The first {len(shown)} of {len(answer.comparisons)}; `regatta analyze --csv` has all."
        if left
        else ""
    )
    return Topic(
        "comparisons",
        "Many",
        "Comparisons among many",
        f"Each ratio with its {show_percent(answer.level)} interval by itself; with an interval that holds together with those "
        "of all alternatives of its baseline (Dunnett); and p adjusted over all comparisons here (Holm). It matters when the "
        f"interval by itself lies wholly beyond ±{answer.theta_percent:g} %.{more}",
        tables=[Table("", ("host", *columns) if several else columns, rows, frozenset({4 + several, 6 + several}))],
    )  # fmt: skip


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

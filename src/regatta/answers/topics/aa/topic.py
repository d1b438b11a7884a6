"""The topic of the A/A test: the result of the pipeline for two equal configurations."""

from __future__ import annotations

from collections.abc import Sequence

from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.topics.aa.compute import Gate, TwinPair, judge_gates
from regatta.figures.section import Section, Table
from regatta.figures.text import show_ci, show_heap, show_p, show_percent, show_ratio

_COLUMNS = ("benchmark", "configuration", "heap", "metric", "n", "ratio", "CI", "p")


def aa_section(gates: Sequence[Gate], view: View) -> Section | None:
    """Explain how to read the A/A test; None without twins."""
    if not gates:
        return None
    return Section(
        "aa",
        words="One configuration of every comparison runs twice in each block, as itself and as its twin. A significant "
        f"difference between the two is a false alarm. {show_percent(view.answer.level)} intervals give a false alarm in 1 of "
        f"{1 / (1 - view.answer.level):.0f} cases.",
    )


def aa_tables(gates: Sequence[Gate], view: View) -> list[Table]:
    """Return the twins of each host."""
    columns = tuple(f"{show_percent(view.answer.level)} CI" if name == "CI" else name for name in _COLUMNS)
    return [
        Table(
            f"Twins{view.host(gate.host, ', ')}",
            columns,
            [_row(pair) for pair in gate.pairs],
            frozenset({4, 5, 7}),
        )
        for gate in gates
    ]


def _row(pair: TwinPair) -> tuple[str, ...]:
    ratio = pair.ratio
    return (
        pair.place.benchmark,
        pair.place.configuration,
        show_heap(pair.place.heap),
        pair.metric,
        str(ratio.n),
        show_ratio(ratio.point),
        show_ci(ratio) or ratio.reason,
        show_p(pair.p),
    )


#: one gate per host
AA: Topic[tuple[Gate, ...]] = Topic(
    "aa",
    title="A/A test",
    empty=(),
    compute=judge_gates,
    words=Words(180, "A/A test", lambda gates, _: [gate.words for gate in gates]),
    document=Document(120, "gates"),
    section=aa_section,
    tables=aa_tables,
)

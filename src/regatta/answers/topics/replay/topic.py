"""The topic of compilation control: conclusions with and without it (table 5 of Georges et al.)."""

from __future__ import annotations

from collections.abc import Sequence

from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.topics.replay.compute import CompilationControl, ControlledPair, judge_control
from regatta.figures.axes import Figure, Group
from regatta.figures.bars import SharedClass, share_bars
from regatta.figures.looks import LegendEntry, Look
from regatta.figures.section import Section, Table
from regatta.figures.text import (
    hover,
    parameters_text,
    show_ci,
    show_heap,
    show_percent,
    show_ratio,
)

_CLASSES = (("disagree", "@c1"), ("inconclusive", "@c4"), ("agree", "@c0"))
_COLUMNS = (
    "host", "runtime", "benchmark", "heap", "collectors", "ratio without", "CI without", "ratio controlled", "CI controlled", "agreement",
)  # fmt: skip
#: Thousands of rows make the page slow; the JSON contains all of them.
_ROWS = 300


def replay_section(found: Sequence[CompilationControl], view: View) -> Section | None:
    """Return one bar and one table per set of modifiers and phase, with sentences; None without such comparisons."""
    if not found:
        return None
    shown = [one for one in found if one.pairs]
    legend = [LegendEntry(name, Look(colour, "square", "solid")) for name, colour in _CLASSES]
    return Section(
        "compilation",
        words=f"Each pair of collectors is compared with simultaneous {show_percent(view.answer.level)} confidence intervals, without and "
        "with modifiers that control compilation. Conclusions agree if both differences are significant in the same direction "
        "or neither is significant. They disagree if the directions are opposite, and are inconclusive if only one is "
        "significant. JVMs in production do not compile in the controlled way.",
        groups=[Group("", [_bars(shown)], legend)] if shown else [],
    )


def replay_tables(found: Sequence[CompilationControl], view: View) -> list[Table]:
    """Return one table per set of modifiers and phase."""
    return [_table(one) for one in found if one.pairs]


def _bars(found: Sequence[CompilationControl]) -> Figure:
    names = [f"{one.modifiers}, {one.phase}" for one in found]
    classes = []
    for name, colour in _CLASSES:
        counts = [sum(pair.agreement == name for pair in one.pairs) for one in found]
        texts = [
            hover(row, f"{name}: {count} of {len(one.pairs)} comparisons")
            for row, count, one in zip(names, counts, found, strict=True)
        ]
        shares = [count / len(one.pairs) for count, one in zip(counts, found, strict=True)]
        classes.append(SharedClass(colour, shares, texts))
    return share_bars("", names, classes)


def _table(one: CompilationControl) -> Table:
    more = f", the first {_ROWS} of {len(one.pairs)}" if len(one.pairs) > _ROWS else ""
    title = f"{one.phase} with {one.modifiers}, {one.against} without{more}"
    return Table(title, _COLUMNS, [_row(pair) for pair in one.pairs[:_ROWS]], frozenset({5, 7}))


def _row(pair: ControlledPair) -> tuple[str, ...]:
    ends = [show_ci(e) for e in (pair.plain, pair.controlled)]
    others = parameters_text(pair.parameters, frozenset({"phase"}))
    return (
        pair.place.host,
        pair.place.runtime,
        " ".join(part for part in (pair.place.benchmark, others) if part),
        show_heap(pair.place.heap),
        f"{pair.a} / {pair.b}",
        show_ratio(pair.plain.point),
        ends[0],
        show_ratio(pair.controlled.point),
        ends[1],
        pair.agreement,
    )


REPLAY: Topic[tuple[CompilationControl, ...]] = Topic(
    "replay",
    title="Compilation control",
    empty=(),
    compute=lambda context: judge_control(
        context.families, context.facts.controlled, context.facts.steady.method
    ),
    words=Words(170, "Compilation control", lambda found, _: [one.words for one in found]),
    document=Document(10, "compilation"),
    section=replay_section,
    tables=replay_tables,
)

"""The topic of compilation control: conclusions with and without it (table 5 of Georges et al.)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.families.result import Family
from regatta.answers.spine.names import heap_words
from regatta.answers.spine.parts import HEAP, INLINED, Place
from regatta.answers.spine.verdicts import shows_difference
from regatta.answers.spine.words import counted, listed
from regatta.figures.axes import Figure, Group
from regatta.figures.bars import SharedClass, share_bars
from regatta.figures.looks import LegendEntry, Look
from regatta.figures.section import Column, Section, Table, table_of
from regatta.figures.text import hover, parameters_text, show_ci, show_heap, show_percent, show_ratio
from regatta.host.values.cell import NO_MODIFIERS
from regatta.host.values.experiment import Scalar, SteadyMethod
from regatta.stats.estimate import Interval

#: the classes of table 5
Agreement = Literal["agree", "inconclusive", "disagree"]


@dataclass(frozen=True)
class ControlledPair:
    """Two collectors compared twice: with the plain configuration, and under modifiers that control compilation."""

    place: Place = field(metadata={INLINED: ("host", "benchmark", "runtime", *HEAP)})
    metric: str
    parameters: Mapping[str, Scalar]
    a: str
    b: str
    #: a/b with simultaneous intervals
    plain: Interval
    controlled: Interval
    agreement: Agreement


@dataclass(frozen=True)
class CompilationControl:
    """All comparisons with one set of modifiers and in one phase."""

    modifiers: str
    #: "mix" or "stable" under replay, else "startup" or "steady state"
    phase: str
    #: the reference without control: "startup" or "steady state"
    against: str
    pairs: tuple[ControlledPair, ...]
    #: number of comparisons without an interval on either side
    left_out: int
    words: str

    def count(self, agreement: Agreement) -> int:
        """Return the number of comparisons of a class."""
        return sum(pair.agreement == agreement for pair in self.pairs)


#: phase of replay -> its reference
_AGAINST = {"mix": "startup", "stable": "steady state"}
#: maximum number of disagreements to name
_NAMED = 3

_Key = tuple[object, ...]


def judge_control(
    families: Iterable[Family], controlled: Sequence[str], method: SteadyMethod
) -> tuple[CompilationControl, ...]:
    """Compare every comparison of collectors under controlled compilation with the one without control.

    Args:
        controlled: labels of the sets of modifiers that control compilation.
        method: method that reduces an invocation to its value: decides between startup and steady state.

    Returns:
        One value per set and phase with comparisons on both sides, in the order of `controlled` and of the phases.
    """
    by_place: dict[_Key, dict[str, Family]] = {}
    for family in families:
        if family.factor != "collector":
            continue
        by_place.setdefault(_place(family), {})[family.place.modifiers] = family
    found: dict[tuple[str, str], tuple[list[ControlledPair], int]] = {}
    for modifiers in controlled:
        for sides in by_place.values():
            plain, other = sides.get(NO_MODIFIERS), sides.get(modifiers)
            if plain is None or other is None:
                continue
            phase = _phase(plain.parameters, method)
            pairs, left_out = found.get((modifiers, phase), ([], 0))
            more, lacking = _pairs(plain, other)
            found[modifiers, phase] = ([*pairs, *more], left_out + lacking)
    return tuple(
        CompilationControl(
            modifiers, phase, _AGAINST.get(phase, phase), tuple(pairs), left_out,
            _words(modifiers, phase, pairs, left_out),
        )
        for (modifiers, phase), (pairs, left_out) in found.items()
    )  # fmt: skip


def agreement(plain: Interval, controlled: Interval) -> Agreement:
    """Classify two intervals of one ratio (table 5): both exclude 1 on one side, or neither does; or only one of them."""
    verdicts = [np.sign(e.point - 1.0) if shows_difference(e) else 0.0 for e in (plain, controlled)]
    if verdicts[0] == verdicts[1]:
        return "agree"
    return "inconclusive" if 0.0 in verdicts else "disagree"


def _place(family: Family) -> _Key:
    place = replace(family.place.family, modifiers="")
    return place, family.metric, tuple(sorted(family.parameters.items()))


def _phase(parameters: Mapping[str, Scalar], method: SteadyMethod) -> str:
    if method == "replay" and "phase" in parameters:
        return str(parameters["phase"])
    return "startup" if method == "startup" else "steady state"


def _pairs(plain: Family, other: Family) -> tuple[list[ControlledPair], int]:
    controlled = {(pair.a_name, pair.b_name): pair.ratio for pair in other.pairs}
    found = []
    for pair in plain.pairs:
        ratio = controlled.get((pair.a_name, pair.b_name))
        if ratio is None or not np.isfinite([pair.ratio.low, pair.ratio.high, ratio.low, ratio.high]).all():
            continue
        found.append(
            ControlledPair(
                plain.place, plain.metric, plain.parameters, pair.a_name, pair.b_name, pair.ratio, ratio, agreement(pair.ratio, ratio),
            )
        )  # fmt: skip
    # Count every pair of planned collectors, even pairs that the families lack.
    names = len(set(plain.names) & set(other.names))
    return found, names * (names - 1) // 2 - len(found)


def _words(modifiers: str, phase: str, pairs: Sequence[ControlledPair], left_out: int) -> str:
    against = _AGAINST.get(phase, phase)
    what = f"{phase} with {modifiers}, {against} without"
    if not pairs:
        return f"{what}: no comparison of collectors has confidence intervals on both sides"
    total = len(pairs)
    shares = {
        name: sum(pair.agreement == name for pair in pairs) for name in ("agree", "inconclusive", "disagree")
    }
    said = (
        f"{what}: conclusions about collectors agree in {100 * shares['agree'] / total:.0f} %{_because_of_nothing(pairs)}, are "
        f"inconclusive in {100 * shares['inconclusive'] / total:.0f} % and disagree in {100 * shares['disagree'] / total:.0f} % "
        f"(n = {counted(total, 'comparison')})"
    )
    opposite = [pair for pair in pairs if pair.agreement == "disagree"]
    if opposite:
        named = listed(
            [f"{p.a} and {p.b} on {p.place.benchmark}{heap_words(p.place.heap)}" for p in opposite[:_NAMED]]
        )
        said += f"; opposite conclusions: {named}{' and others' if len(opposite) > _NAMED else ''}"
    return said + (f"; excluded: {left_out} without confidence intervals on both sides" if left_out else "")


def _because_of_nothing(pairs: Sequence[ControlledPair]) -> str:
    """Warn that two wide intervals agree too, which is weak evidence."""
    nothing = sum(not (shows_difference(p.plain) or shows_difference(p.controlled)) for p in pairs)
    return f" (in {100 * nothing / len(pairs):.0f} % because neither is significant)" if nothing else ""


_CLASSES = (("disagree", "@c1"), ("inconclusive", "@c4"), ("agree", "@c0"))
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
    def benchmark(pair: ControlledPair) -> str:
        others = parameters_text(pair.parameters, frozenset({"phase"}))
        return " ".join(part for part in (pair.place.benchmark, others) if part)

    columns: list[Column[ControlledPair]] = [
        Column("host", lambda pair: pair.place.host),
        Column("runtime", lambda pair: pair.place.runtime),
        Column("benchmark", benchmark),
        Column("heap", lambda pair: show_heap(pair.place.heap)),
        Column("collectors", lambda pair: f"{pair.a} / {pair.b}"),
        Column("ratio without", lambda pair: show_ratio(pair.plain.point), numeric=True),
        Column("CI without", lambda pair: show_ci(pair.plain)),
        Column("ratio controlled", lambda pair: show_ratio(pair.controlled.point), numeric=True),
        Column("CI controlled", lambda pair: show_ci(pair.controlled)),
        Column("agreement", lambda pair: pair.agreement),
    ]
    more = f", the first {_ROWS} of {len(one.pairs)}" if len(one.pairs) > _ROWS else ""
    title = f"{one.phase} with {one.modifiers}, {one.against} without{more}"
    return table_of(title, one.pairs[:_ROWS], columns)


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

"""The topic of alternatives that run at once on halves of a host: its tests before, and the ratio in each round."""

from __future__ import annotations

import math
from dataclasses import dataclass

from regatta.answers.kit.panels import invocation_marks
from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.context import Context
from regatta.answers.spine.names import short_names
from regatta.figures.axes import Figure, Group, axis, layout, value_axis
from regatta.figures.curves import segment
from regatta.figures.looks import Look
from regatta.figures.section import Column, Section, Table, table_of
from regatta.figures.text import ABSENT, tidy
from regatta.host.duet.trial import MOST_SLOWER_PERCENT, TRIALS, Percent, Trial, trials_in
from regatta.host.files import read_object
from regatta.host.values.experiment import DUET

_HEIGHT_PX = 220
#: comparisons with a figure
_FIGURES_AT_MOST = 40
_POINT = Look("@c0", "circle", "solid")


@dataclass(frozen=True)
class HostTest:
    """The test of an alternative on two halves of a host, before its first round."""

    host: str
    #: CPUs of both: `0-3 | 4-7`
    halves: str
    cell: str
    trial: Trial


@dataclass(frozen=True)
class RoundRatios:
    """The ratio of a comparison in each round."""

    title: str
    rounds: tuple[int, ...]
    ratios: tuple[float, ...]


@dataclass(frozen=True)
class DuetAnswer:
    """Tests and ratios of an experiment with `order: duet`; empty with another order."""

    tests: tuple[HostTest, ...] = ()
    comparisons: tuple[RoundRatios, ...] = ()


def compute(context: Context) -> DuetAnswer:
    """Read the tests, and divide the values of each round."""
    if context.facts.order != DUET:
        return DuetAnswer()
    planned = {(cell.place.host, cell.cell_id) for cell in context.samples.cells}
    tests = [
        HostTest(host, halves, cell_id, trial)
        for host in context.folder.planned_hosts()
        for halves, trials in trials_in(read_object(context.folder.journal / host / TRIALS)).items()
        for cell_id, trial in trials.items()
        if (host, cell_id) in planned
    ]
    comparisons = []
    for pair in context.pairs:
        common = sorted(pair.common, key=lambda block: block[1])
        if pair.a is None or pair.b is None or not common:
            continue
        a_name, b_name, differ = short_names(pair.cell, pair.base)
        where = context.names.where(pair.cell, pair.a.parameters, differ)
        values = [(pair.a.by_block[block], pair.b.by_block[block]) for block in common]
        if not all(min(both) > 0.0 and math.isfinite(max(both)) for both in values):
            continue
        ratios = [a / b for a, b in values]
        comparisons.append(
            RoundRatios(f"{where}: {a_name} / {b_name}", tuple(r for _, r, _ in common), tuple(ratios))
        )
    return DuetAnswer(tuple(tests), tuple(comparisons))


def words(answer: DuetAnswer, _: Context) -> list[str]:
    """State what the tests mean for the differences."""
    known = [test.trial.slower[0] for test in answer.tests if not test.trial.refused]
    refused = [f"{test.host}: {test.trial.refused}" for test in answer.tests if test.trial.refused]
    if not known:
        return refused
    slowest = max(0.0, *known)
    shown = 10.0 / (1.0 + slowest / 100.0)
    return [
        f"both alternatives of a block ran at once, each on half of the CPUs: only their ratios are known; with a copy of themselves they "
        f"were at most {slowest:.1f} % slower than alone, so that a difference of 10 % can appear as {shown:.1f} %",
        *refused,
    ]


def section(answer: DuetAnswer, _: View) -> Section | None:
    """Return the ratio of each comparison over the rounds."""
    if not answer.tests and not answer.comparisons:
        return None
    shown = answer.comparisons[:_FIGURES_AT_MOST]
    figures = [figure for one in shown if (figure := _figure(one)) is not None]
    return Section(
        "duet",
        words="Each point is the ratio of two programs that ran at once. They swap the halves of the host every round. Before the "
        "first round, the host ran each program alone and with a copy of itself. A program that is more than "
        f"{MOST_SLOWER_PERCENT:g} % slower with its copy is refused, because its partner would change its time.",
        groups=[Group("Ratio in each round", figures)] if figures else (),
    )


def _figure(one: RoundRatios) -> Figure | None:
    if len(one.ratios) < 2:
        return None
    texts = [f"round {round_}: {ratio:.4g}" for round_, ratio in zip(one.rounds, one.ratios, strict=True)]
    traces = [
        segment([one.rounds[0], one.rounds[-1]], [1.0, 1.0], "@muted", dash="dash"),
        invocation_marks(one.rounds, map(tidy, one.ratios), _POINT, False, 0.8, texts),
    ]
    return Figure(one.title, _HEIGHT_PX, traces, layout(axis("round"), value_axis("ratio", one.ratios)))


def tables(answer: DuetAnswer, view: View) -> list[Table]:
    """Return the tests of each host."""
    columns: list[Column[HostTest]] = [
        Column("host", lambda test: view.host(test.host)),
        Column("CPUs", lambda test: test.halves),
        Column("alternative", lambda test: test.trial.label),
        Column("rounds", lambda test: str(len(test.trial.alone)), numeric=True),
        Column("with a copy / alone", lambda test: _shown(test.trial.slower), numeric=True),
        Column("copy / copy", lambda test: _shown(test.trial.apart), numeric=True),
        Column("half 0 / half 1", lambda test: _shown(test.trial.halves), numeric=True),
        Column("measured", lambda test: "no" if test.trial.refused else "yes"),
    ]
    return [table_of("Tests before the first round (99 % intervals)", answer.tests, columns)]


def _shown(percent: Percent) -> str:
    point, low, high = percent
    if math.isnan(point):
        return ABSENT
    return f"{point:+.1f} % [{low:+.1f}, {high:+.1f}]"


DUETS: Topic[DuetAnswer] = Topic(
    "duet",
    title="Alternatives at once",
    empty=DuetAnswer(),
    compute=compute,
    words=Words(25, "Alternatives at once", words),
    document=Document(105, "duet"),
    section=section,
    tables=tables,
)

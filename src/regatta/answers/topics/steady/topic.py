"""The topic of steady state and the use of iterations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from regatta.answers.kit.looks import Looks
from regatta.answers.kit.panels import Panel, SeriesKey, series_key
from regatta.answers.kit.plain import plain
from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.context import Context
from regatta.answers.spine.names import Names
from regatta.answers.spine.result import CellAnswer
from regatta.answers.spine.samples import PlannedCell
from regatta.answers.spine.words import counted, how_much, listed
from regatta.answers.topics.steady.compute import (
    IterationCurve,
    SeriesSteadiness,
    Steadiness,
    judge_steadiness,
)
from regatta.figures.axes import Figure, Group, Trace, axis, layout, log_axis, value_axis
from regatta.figures.curves import Point, curve
from regatta.figures.looks import LegendEntry, Look
from regatta.figures.section import Column, Section, Table, table_of
from regatta.figures.text import (
    Scale,
    finite,
    hover,
    joined,
    parameters_key,
    parameters_text,
    show_brief,
    show_heap,
    show_interval,
    show_percent,
    show_ratio,
)
from regatta.host.values.experiment import SteadyState
from regatta.stats.warmup import FLAT, INCONSISTENT, KINDS, LEAST_ITERATIONS, SLOWDOWN, UNSTEADY, WARMUP

_SAYS = {
    FLAT: ("is flat", "are flat"),
    WARMUP: ("warms up", "warm up"),
    SLOWDOWN: ("slows down", "slow down"),
    UNSTEADY: ("reaches no steady state", "reach no steady state"),
    INCONSISTENT: ("differs from invocation to invocation", "differ from invocation to invocation"),
}
#: maximum number of places to name in a sentence
_NAMED = 3


def steadiness_words(found: Steadiness | None, steady: SteadyState) -> tuple[str, ...]:
    """Return the sentences, most important first; empty if invocations have one iteration each."""
    if found is None:
        return ()
    sentences = []
    if found.series:
        sentences = [
            _classes(found),
            *_unsteady(found.series),
            _windows(found),
            *_agreement(found.series),
            *(_warmup(found) if steady.method == "fixed" else ()),
        ]
    if found.too_short:
        sentences.append(_too_short(found, steady))
    if found.judged_at_most:
        sentences.append(
            f"analyzed: at most {found.judged_at_most} invocations per cell, evenly spread over time"
        )
    return tuple(sentences)


def summary_words(cells: Sequence[PlannedCell], names: Names) -> tuple[str, ...]:
    """Report the summary of an invocation's repetitions, unless it is the mean everywhere."""
    benchmarks: dict[str, list[str]] = {}
    for label, summary in dict.fromkeys((cell.place.benchmark, cell.summary) for cell in cells):
        benchmarks.setdefault(summary, []).append(label)
    if benchmarks.keys() <= {"mean"}:
        return ()
    parts = []
    for name, labels in benchmarks.items():
        some = [names.benchmark(label) for label in labels[:_NAMED]]
        if len(labels) > _NAMED:
            some.append(f"{len(labels) - _NAMED} more")
        parts.append(f"{name} in {listed(some)}")
    return (
        f"summary of the repetitions of an invocation after warm-up: {', '.join(parts)}; estimates are means of it over invocations",
    )


def _classes(found: Steadiness) -> str:
    counts = Counter(one.kind for one in found.series)
    parts = [
        f"{counts[kind]} {_SAYS[kind][counts[kind] > 1]}" for kind in (*KINDS, INCONSISTENT) if counts[kind]
    ]
    starts = [one.steady_from for one in found.series if not math.isnan(one.steady_from)]
    when = ""
    if starts:
        low, high = round(min(starts)), round(max(starts))
        when = f"; steady {_after(low)}" if low == high else f"; steady after {low} to {high} iterations"
    return f"change points, n = {len(found.series)} series: {listed(parts)}{when}"


def _after(iterations: float) -> str:
    return f"after {counted(round(iterations), 'iteration')}"


def _unsteady(series: Sequence[SeriesSteadiness]) -> list[str]:
    """Report cells whose invocations disagree or never settle: their mean is not a property of the program."""
    odd = [one for one in series if one.kind in (UNSTEADY, INCONSISTENT, SLOWDOWN)]
    odd.sort(key=lambda one: -one.kinds.get(UNSTEADY, 0))
    named = [f"{one.title}: {_kinds(one)}" for one in odd[:_NAMED]]
    if len(odd) > _NAMED:
        named.append(f"and {len(odd) - _NAMED} more series")
    return [f"invocations differ, slow down or reach no steady state: {'; '.join(named)}"] if named else []


def _kinds(one: SeriesSteadiness) -> str:
    return listed([f"{count} {kind}" for kind, count in one.kinds.items()])


def _windows(found: Steadiness) -> str:
    reached = sum(one.cov_reached for one in found.series)
    total = sum(one.invocations for one in found.series)
    starts = [one.cov_start for one in found.series if not math.isnan(one.cov_start)]
    after = f", typically {_after(sorted(starts)[len(starts) // 2])}" if starts else ""
    return (
        f"CoV window ({found.window} iterations below {show_percent(found.threshold)}): reached in {reached} of "
        f"{counted(total, 'invocation')}{after}"
    )


def _agreement(series: Sequence[SeriesSteadiness]) -> list[str]:
    both = [one for one in series if one.agreement]
    if not both:
        return []
    differ = [one for one in both if one.agreement == "disagree"]
    alike = sum(one.agreement == "agree" for one in both)
    text = f"CoV window and change points agree on the mean in {alike} of {len(both)} series"
    if unsure := len(both) - alike - len(differ):
        text += f"; inconclusive in {unsure}"
    if differ:
        worst = max(differ, key=lambda one: abs(math.log(one.cov_over_changepoints.point)))
        ratio = worst.cov_over_changepoints
        word = "above" if ratio.point > 1 else "below"
        text += f"; largest difference in {worst.title}: the mean of the window is {how_much(ratio)} {word} the steady state"
    return [text]


def _warmup(found: Steadiness) -> list[str]:
    """Report whether the warm-up of the spec is long enough."""
    steady = [one for one in found.series if not math.isnan(one.steady_from)]
    late = [one for one in steady if 2 * one.after_warmup > one.invocations]
    left_out = f"warm-up of {counted(found.warmup, 'iteration')}"
    if not steady:
        return []
    if not late:
        return [f"{left_out}: long enough in most invocations of every series (change points)"]
    worst = max(late, key=lambda one: _size(one.bias.point))
    text = (
        f"{left_out}: too short in {len(late)} of {len(steady)} series (change points); worst in {worst.title}: "
        f"steady {_after(worst.steady_from)}"
    )
    if not math.isnan(worst.bias.low):
        word = "above" if worst.bias.point > 1 else "below"
        text += f", mean {how_much(worst.bias)} {word} the steady state"
    return [text]


def _size(ratio: float) -> float:
    return abs(math.log(ratio)) if ratio > 0 else 0.0


def _too_short(found: Steadiness, steady: SteadyState) -> str:
    warmup = f" of the warm-up of {counted(steady.warmup, 'iteration')}" if steady.method == "fixed" else ""
    return (
        f"no steady-state analysis{warmup} for {counted(found.too_short, 'cell')}: at most {found.most_iterations} iterations, "
        f"requires {LEAST_ITERATIONS}"
    )


_HEIGHT_PX = 340
_PLAIN = Scale(1.0, "", 3)
#: Beyond this number of iterations, only a logarithmic axis shows the first ones, which matter.
_LOG_FROM = 100
#: Beyond this number of points, marks hide the line.
_MARKS_AT_MOST = 40
#: With more series, lines of a figure are indistinguishable.
_LINES_AT_MOST = 8
#: class -> its look, equal in all reports
_KINDS = {
    "flat": Look("@c0", "circle", "solid"),
    "warmup": Look("@c1", "square", "solid"),
    "slowdown": Look("@c2", "diamond", "dash"),
    "no steady state": Look("@c3", "triangle-up", "dot"),
}


def steady_section(found: Steadiness | None, view: View) -> Section | None:
    """Return a table of the series, curves by class and curves by cell; None without enough iterations."""
    if found is None or not (found.series or "steady" in view.answer.findings):
        return None
    words = (
        "Each curve is the median over invocations of iteration / steady-state mean of the same invocation; bands are the 10th to "
        "90th percentiles. Classes are from change points of mean and variance. A CoV window is "
        f"{found.window} consecutive iterations with a coefficient of variation below {show_percent(found.threshold)} (Georges et al. "
        "2007). “Window / end” is the mean of the first CoV window relative to the mean after the last change point."
    )
    return Section(
        "steady",
        words=words
        if found.series
        else "Whether invocations reach a steady state, and after how many iterations.",
        groups=[*_by_kind(found), *_by_cell(found, view.panels, view.looks)],
    )


def steady_tables(found: Steadiness | None, view: View) -> list[Table]:
    """Return the series with their classes and windows."""

    def series(one: SeriesSteadiness) -> str:
        place, host = one.place, view.host(one.place.host)
        heap, parameters = show_heap(place.heap), parameters_text(one.parameters)
        return joined(place.benchmark, place.configuration, heap, parameters, host)

    def kind(one: SeriesSteadiness) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in one.kinds.items())
        return f"{one.kind} ({kinds})" if len(one.kinds) > 1 else one.kind

    columns: list[Column[SeriesSteadiness]] = [
        Column("series", series),
        Column(
            "invocations × iterations", lambda one: f"{one.invocations} × {one.iterations:,}", numeric=True
        ),
        Column("class", kind),
        Column("steady after", lambda one: show_brief(one.steady_from), numeric=True),
        Column("with CoV window", lambda one: f"{one.cov_reached} of {one.invocations}", numeric=True),
        Column("window after", lambda one: show_brief(one.cov_start), numeric=True),
        Column("window / end", lambda one: show_interval(one.cov_over_changepoints), numeric=True),
        Column("agreement", lambda one: one.agreement),
    ]
    return [table_of("", () if found is None else found.series, columns)]


def _by_kind(found: Steadiness) -> list[Group]:
    curves = [one for one in found.curves if one.iterations]
    if not curves:
        return []
    lines = [(one, _KINDS[one.kind], f"{one.kind}: {one.invocations}") for one in curves]
    legend = [LegendEntry(name, look) for _, look, name in lines]
    return [
        Group(
            "By class of invocation",
            [_figure("", lines)],
            legend,
            "All series pooled, with the number of invocations per class.",
        )
    ]


def _by_cell(found: Steadiness, panels: Sequence[Panel], looks: Looks) -> list[Group]:
    """Return one group per panel, one figure per heap; series over a parameter are only in the table."""
    curves = {
        (one.place.host, one.cell_id, one.metric, parameters_key(one.parameters)): one.curve
        for one in found.series
    }
    groups = []
    for panel in panels:
        figures = []
        for heap, cells in panel.by_heap():
            lines = [
                (shown, looks.of(cell), panel.name(cell))
                for cell in cells
                if (shown := curves.get(series_key(cell))) is not None and shown.iterations
            ]
            if 0 < len(lines) <= _LINES_AT_MOST:
                figures.append(_figure(f"heap {heap}" if heap else "", lines))
        if figures:
            groups.append(Group(panel.title, figures, looks.legend(_drawn(panel, curves))))
    return groups


def _drawn(panel: Panel, curves: dict[SeriesKey, IterationCurve]) -> list[CellAnswer]:
    return [cell for cell in panel.cells if series_key(cell) in curves]


def _figure(title: str, lines: Sequence[tuple[IterationCurve, Look, str]]) -> Figure:
    bands: list[Trace] = []
    tops: list[Trace] = []
    values: list[float] = []
    for one, look, name in lines:
        points = [
            Point(
                place + 1,
                y,
                low,
                high,
                hover(name, f"iteration {place + 1}", f"{show_ratio(y)} of the steady state"),
            )
            for place, y, low, high in zip(one.iterations, one.middle, one.low, one.high, strict=True)
        ]
        *under, top = curve(points, look, _PLAIN)
        if len(points) > _MARKS_AT_MOST:
            top["mode"] = "lines"
        bands += under
        tops.append(top)
        values += finite([*one.middle, *one.low, *one.high])
    last = max(one.iterations[-1] for one, _, _ in lines) + 1
    x = axis("iteration") if last <= _LOG_FROM else log_axis("iteration, log scale", 1.0, float(last))
    return Figure(title, _HEIGHT_PX, bands + tops, layout(x, value_axis("iteration / steady state", values)))


def _words(found: Steadiness | None, context: Context) -> tuple[str, ...]:
    return (
        *summary_words(context.samples.cells, context.names),
        *steadiness_words(found, context.facts.steady),
    )


def _document(steadiness: Steadiness | None) -> Any:
    """Return the document without curves, which are for figures: `regatta records` has every iteration."""
    found = plain(steadiness)
    if found is not None:
        del found["curves"]
        for number, series in enumerate(found["series"]):
            del series["curve"]
            first = {"cell_id": series["cell_id"], "host": series["host"], "place": series.pop("title")}
            found["series"][number] = first | series
    return found


#: None if invocations have one iteration each
STEADY: Topic[Steadiness | None] = Topic(
    "steady",
    title="Steady state",
    empty=None,
    compute=judge_steadiness,
    words=Words(70, "Startup and steady state", _words),
    document=Document(110, "steadiness", _document),
    section=steady_section,
    tables=steady_tables,
)

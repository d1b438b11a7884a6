"""Render the audit page: which claims prevalent methods would have made, where, and at which thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regatta.answers.audit.cells import example_groups, heap_pairs, needed_groups, width_groups
from regatta.answers.audit.result import Audit, AuditedPair, Group, Precision, Tally
from regatta.answers.kit.looks import Looks
from regatta.figures.axes import Figure, Trace, axis, layout
from regatta.figures.axes import Group as Figures
from regatta.figures.bars import SharedClass, share_bars
from regatta.figures.looks import LegendEntry, Look
from regatta.figures.section import Section, Table
from regatta.figures.sections_page import write_sections_page
from regatta.figures.text import (
    ABSENT,
    hover,
    parameters_text,
    show_ends,
    show_heap,
    show_percent,
    show_ratio,
    show_share,
)
from regatta.stats.intervals import GEORGES_2007
from regatta.stats.prevalent import (
    CLASSES,
    CORRECT,
    INCORRECT,
    INDICATIVE,
    MISLEADING,
    MISLEADING_AND_INCORRECT,
    MISLEADING_BUT_CORRECT,
)

_AREA_PX = 300
#: Incorrect claims are next to the axis, where they are easy to compare; correct claims are at the far end.
_ORDER = {
    INCORRECT: "@c1",
    MISLEADING: "@c4",
    MISLEADING_AND_INCORRECT: "@c3",
    MISLEADING_BUT_CORRECT: "@c5",
    INDICATIVE: "@muted",
    CORRECT: "@c0",
}


def class_legend() -> list[LegendEntry]:
    """Return the classes in stacking order."""
    return [LegendEntry(CLASSES[at], Look(colour, "square", "solid")) for at, colour in _ORDER.items()]


def bars(title: str, rows: Sequence[tuple[str, Tally]]) -> Figure:
    """Draw one bar per row, filled from 0 to 100 % by the shares of its tally."""
    classes = [
        SharedClass(
            colour, [tally.shares[at] for _, tally in rows], [_hover(name, tally, at) for name, tally in rows]
        )
        for at, colour in _ORDER.items()
    ]
    return share_bars(title, [name for name, _ in rows], classes)


def over_theta(title: str, tallies: Sequence[Tally]) -> Figure:
    """Draw the class shares as areas over theta, for one method and group."""
    thetas = [tally.theta_percent for tally in tallies]
    traces: list[Trace] = [
        {
            "type": "scatter",
            "mode": "lines",
            "stackgroup": "classes",
            "x": thetas,
            "y": [round(100.0 * tally.shares[at], 3) for tally in tallies],
            "line": {"width": 0.5, "color": colour},
            "fillcolor": colour,
            "hoverinfo": "text",
            "hovertext": [_hover(f"theta {tally.theta_percent:g} %", tally, at) for tally in tallies],
        }
        for at, colour in _ORDER.items()
    ]
    x = axis("theta (%)", range=[min(thetas), max(thetas)])
    return Figure(title, _AREA_PX, traces, layout(x, axis("comparisons (%)", range=[0, 100])))


def _hover(name: str, tally: Tally, at: int) -> str:
    return hover(
        name,
        f"{CLASSES[at]}: {show_share(tally.shares[at])} of {tally.comparisons} comparisons",
        f"first measured runs: {tally.first[at]}",
    )


_WHO = {"collector": "collector", "runtime": "runtime", "modifiers": "set of modifiers", "": "alternative"}
#: Thousands of rows make the page slow; the JSON contains all of them.
_ROWS = 500


def write_audit(audit: Audit, path: Path) -> None:
    """Write an audit as one self-contained HTML file.

    Args:
        path: the file to write, atomically; missing folders are created.

    Raises:
        StoreError: the file cannot be written.
    """
    question = (
        "Which conclusions would prevalent methods have drawn, and do confidence intervals support them?"
    )
    write_sections_page(
        f"{audit.experiment}: audit", question, audit.findings, sections_of_audit(audit), path
    )


def sections_of_audit(audit: Audit) -> list[Section]:
    """Return the non-empty sections of the page."""
    looks = Looks([precision.cell for precision in audit.precisions])
    found = [
        _methods(audit, "startup"),
        _methods(audit, "steady"),
        _theta(audit),
        _where(audit),
        Section(
            "example",
            "Example",
            "The comparisons in which the best of all invocations misleads most: best values, and means with intervals of the "
            "same invocations, on one scale. The axis does not start at 0.",
            groups=example_groups(audit, looks) if audit.precisions else [],
        ),
        Section(
            "heaps",
            "Heap size",
            f"Means with {show_percent(audit.level)} confidence intervals, and the best of the same invocations, on one scale. "
            "Axes do not start at 0.",
            groups=heap_pairs(audit, looks) if audit.precisions else [],
        ),
        _widths(audit, looks),
        _comparisons(audit),
        _how(audit),
    ]
    return [
        topic for topic in found if topic is not None and (topic.groups or topic.tables or topic.sentences)
    ]


def _methods(audit: Audit, regime: str) -> Section | None:
    mine = [t for t in audit.tallies if t.method.regime == regime and t.comparisons]
    if not mine:
        return None
    groups = []
    for theta in audit.thetas_percent:
        here = [t for t in mine if t.theta_percent == theta]
        kinds = ("platform", "host", "compilation")
        parts = dict.fromkeys((t.group, t.of) for t in here if t.group in kinds)
        figures = [
            bars("all comparisons" if parts else "", [(t.method.name, t) for t in here if t.group == "all"]),
            *(
                bars(
                    name if kind == "compilation" else f"{kind} {name}",
                    [(t.method.name, t) for t in here if (t.group, t.of) == (kind, name)],
                )
                for kind, name in sorted(parts, key=lambda part: kinds.index(part[0]))
            ),
        ]
        groups.append(Figures(f"theta {theta:g} %", figures, class_legend()))
    if regime == "startup":
        title, words = (
            "Prevalent methods",
            (
                "One bar per method: the classes of its claims about all comparisons. “of 3” means a method that uses 3 invocations."
            ),
        )
    else:
        title, words = (
            "Prevalent steady-state methods",
            (
                "(x, y): the first y iterations of x invocations. The claims are compared with the same intervals."
            ),
        )
    anchor = "methods" if regime == "startup" else "steady"
    return Section(anchor, title, words, tables=[_shares(audit, mine)], groups=groups)


def _shares(audit: Audit, tallies: Sequence[Tally]) -> Table:
    rows = [
        (
            t.method.name,
            f"{t.theta_percent:g}",
            str(t.comparisons),
            *(f"{100.0 * share:.1f}" for share in t.shares),
            *(str(t.first[CLASSES.index(name)]) for name in ("misleading", "incorrect")),
        )
        for t in tallies
        if t.group == "all" and t.theta_percent in audit.thetas_percent
    ]
    columns = (
        "method",
        "theta (%)",
        "comparisons",
        *(f"{name} (%)" for name in CLASSES),
        "misleading, first runs",
        "incorrect, first runs",
    )
    return Table("Claims by class", columns, rows, frozenset(range(1, len(columns))))


def _theta(audit: Audit) -> Section | None:
    mine = [t for t in audit.tallies if t.group == "all" and t.method.regime == "startup" and t.comparisons]
    names = dict.fromkeys(t.method.statistic for t in mine)
    figures = []
    for statistic in names:
        each = [t for t in mine if t.method.statistic == statistic]
        first = [t for t in each if t.method == each[0].method]
        if len(first) > 1:
            figures.append(over_theta(first[0].method.name, first))
    if not figures:
        return None
    return Section(
        "theta",
        "Threshold",
        "With a larger theta a method makes fewer claims. This does not make it rigorous: it then misses true differences, too.",
        groups=[Figures("", figures, class_legend())],
    )


def _where(audit: Audit) -> Section | None:
    if not audit.thetas_percent:
        return None
    theta = audit.thetas_percent[0]
    groups = []
    who = _WHO[audit.factor]
    kinds: tuple[tuple[Group, str], ...] = (
        ("benchmark", "By benchmark"),
        ("alternative", f"By {who}, each compared with all others"),
    )
    for kind, title in kinds:
        mine = [
            t
            for t in audit.tallies
            if t.group == kind and t.theta_percent == theta and t.method.regime == "startup" and t.comparisons
        ]
        figures = []
        for statistic in ("best", "mean"):
            each = [t for t in mine if t.method.statistic == statistic]
            first = [(t.of, t) for t in each if t.method == each[0].method]
            if first:
                figures.append(bars(first[0][1].method.name, first))
        if figures:
            groups.append(Figures(title, figures, class_legend()))
    if not groups:
        return None
    words = f"The errors of a method depend on the benchmark. Theta is {theta:g} %."
    return Section("where", f"Misleading comparisons at theta {theta:g} %", words, groups=groups)


def _widths(audit: Audit, looks: Looks) -> Section | None:
    if not audit.precisions:
        return None
    groups = [*width_groups(audit, looks), *needed_groups(audit, looks)]
    wanted = [width for width, _, _ in audit.precisions[0].needed]
    columns = ["benchmark", "configuration", "heap", "n", "width (% of mean)"]
    for width in wanted:
        columns += [f"required for {width:g} %", f"reached after ({width:g} %)"]
    rows = [_precision(p, audit.maximum) for p in audit.precisions[:_ROWS]]
    return Section(
        "widths",
        "Precision",
        f"Width of the {show_percent(audit.level)} confidence interval of a mean, in % of the mean, from the third invocation on. "
        f"The required number follows from the variance of the invocations, up to {audit.maximum}. Stopping at the first narrow "
        "interval is different and makes intervals too narrow.",
        tables=[Table("Required invocations", tuple(columns), rows, frozenset(range(3, len(columns))))],
        groups=groups,
    )


def _precision(precision: Precision, maximum: int) -> tuple[str, ...]:
    cell = precision.cell
    width = precision.widths_percent[-1]
    row = [
        cell.place.benchmark,
        " ".join(part for part in (cell.place.configuration, parameters_text(cell.parameters)) if part),
        show_heap(cell.place.heap),
        str(cell.estimate.n),
        ABSENT if width != width else f"{width:.2f}",
    ]
    for _, until, needed in precision.needed:
        row.append(ABSENT if not needed else f"> {maximum}" if needed > maximum else str(needed))
        row.append(str(until) if until else ABSENT)
    return tuple(row)


def _comparisons(audit: Audit) -> Section | None:
    if not audit.pairs:
        return None
    columns = (
        "host",
        "benchmark",
        "heap",
        "comparison",
        "n",
        "ratio",
        f"{show_percent(audit.level)} CI",
        "lower",
    )
    rows = [_pair(pair, audit) for pair in audit.pairs[:_ROWS]]
    more = f" First {_ROWS} of {len(audit.pairs)}." if len(audit.pairs) > _ROWS else ""
    how = "one-way ANOVA" if audit.method == GEORGES_2007 else "ANOVA by block on logarithms"
    return Section(
        "intervals",
        "Comparisons",
        f"The reference for all methods: {how} with Tukey's {show_percent(audit.level)} intervals, simultaneous for all pairs of "
        f"a benchmark, heap and host.{more}",
        tables=[Table("Comparisons", columns, rows, frozenset({4, 5}))],
    )


def _pair(pair: AuditedPair, audit: Audit) -> tuple[str, ...]:
    rest = {
        "runtime": pair.place.runtime,
        "collector": pair.place.collector,
        "modifiers": pair.place.modifiers,
    }
    rest.pop(audit.factor, None)
    place = [value for value in rest.values() if value and value != "none"]
    ends = show_ends(pair.ratio)
    lower = "not significant" if pair.verdict == 0 else pair.a if pair.verdict < 0 else pair.b
    return (
        pair.place.host,
        " ".join(part for part in (pair.place.benchmark, parameters_text(pair.parameters)) if part),
        show_heap(pair.place.heap),
        " ".join([f"{pair.a} / {pair.b}", *(f"({' '.join(place)})" for _ in place[:1])]),
        str(min(pair.n_a, pair.n_b)),
        show_ratio(pair.ratio.point),
        ends,
        lower,
    )


def _how(audit: Audit) -> Section:
    rows: list[tuple[str, ...]] = [
        ("not significant", "indicative", "misleading"),
        ("significant, same order", "misleading but correct", "correct"),
        ("significant, different order", "misleading and incorrect", "incorrect"),
    ]
    return Section(
        "how",
        "Method",
        f"A prevalent method reports one number per alternative. Its difference is relative to the smaller number. Shares are "
        f"averages over {audit.draws} draws of the runs without replacement (seed {audit.seed}, separate for each alternative), "
        "so that they characterize the method and not one sequence of runs. The table also lists counts for the runs measured "
        "first. The runs are those of the intervals.",
        sentences=audit.left_out,
        tables=[Table("", ("intervals", "difference < theta", "difference ≥ theta"), rows)],
    )

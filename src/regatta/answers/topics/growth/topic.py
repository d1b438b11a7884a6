"""The topic of growth: how counters and the compared metric grow with a parameter, such as the number of connections."""

from __future__ import annotations

from collections.abc import Sequence

from regatta.answers.page.view import View
from regatta.answers.plain import plain
from regatta.answers.topic import Document, Topic
from regatta.answers.topics.growth.compute import Grown, judge_growth
from regatta.figures.section import Section, Table
from regatta.figures.text import (
    joined,
    parameters_text,
    show_heap,
    show_interval,
    show_percent,
    show_quantity,
)
from regatta.host.values.counters import METRIC_PREFIX, SYMBOL

_MOST_FUNCTIONS = 15
_NOTHING = 1e-6
_TERMS = {"linear": "n", "n log n": "n ln n", "quadratic": "n²"}


def growth_section(found: Sequence[Grown], view: View) -> Section | None:
    """Return the section; None without a parameter with four or more values."""
    if not found:
        return None
    return Section(
        "growth",
        words="The fit of each quantity over a parameter n: constant, linear, n log n or quadratic, with a base that does not grow. "
        "Kinds with at least a tenth of the best kind's Akaike weight are listed, best first; only constant, if its AICc is at "
        "most 2 larger than the best. The exponent is that of a power "
        f"law, with its {show_percent(view.answer.level)} confidence interval; a base makes it smaller. The largest miss is that of "
        "the best fit at the mean of a size: if it is large, none of the kinds fits.",
    )


def growth_tables(found: Sequence[Grown], view: View) -> list[Table]:
    """Return one row per series, and those functions of the kernel whose time grows most."""
    functions = [one for one in found if SYMBOL in one.parameters and one.growth.best.kind != "constant"]
    functions.sort(key=lambda one: one.growth.best.at(one.sizes[0]) - one.growth.best.at(one.sizes[-1]))
    return [
        _table("Growth", [one for one in found if SYMBOL not in one.parameters], view),
        _table("Growth of functions of the kernel", functions[:_MOST_FUNCTIONS], view),
    ]


def _table(title: str, found: Sequence[Grown], view: View) -> Table:
    columns = (
        "host", "benchmark", "configuration", "quantity", "over", "growth", "exponent", "best fit", "largest miss",
    )  # fmt: skip
    rows = [
        (
            view.host(one.place.host),
            one.place.benchmark,
            joined(one.place.configuration, show_heap(one.place.heap)),
            _quantity(one),
            f"{one.parameter} {one.sizes[0]:g} to {one.sizes[-1]:g}",
            " or ".join(one.growth.plausible),
            show_interval(one.growth.exponent),
            _formula(one),
            f"{100 * one.growth.best.worst:.1f} %",
        )
        for one in found
    ]
    return Table(title, columns, rows, frozenset({6, 8}))


def _quantity(one: Grown) -> str:
    name = one.metric.removeprefix(METRIC_PREFIX).replace("_", " ")
    return ", ".join(filter(None, (name, parameters_text(one.parameters))))


def _formula(one: Grown) -> str:
    best = one.growth.best
    base = show_quantity(best.base, one.unit)
    if best.kind == "constant" or best.factor == 0:
        return base
    grown = f"{show_quantity(best.factor, one.unit)} × {_TERMS[best.kind]}"
    # Least squares leave a rest of rounding.
    return grown if best.base < _NOTHING * best.at(one.sizes[0]) else f"{base} + {grown}"


GROWTH: Topic[tuple[Grown, ...]] = Topic(
    "growth",
    title="Growth",
    empty=(),
    compute=judge_growth,
    document=Document(88, "growth", lambda found: [plain(one) for one in found]),
    section=growth_section,
    tables=growth_tables,
    methods=lambda found: {"Growth": {one.growth.exponent.method for one in found}} if found else {},
)

"""The topic of growth: how counters and the compared metric change with a parameter, such as the number of connections."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.answers.kit.plain import plain
from regatta.answers.kit.topic import Document, Topic
from regatta.answers.kit.view import View
from regatta.answers.spine.words import counted
from regatta.answers.topics.growth.compute import Grown, judge_growth
from regatta.figures.section import Section, Table
from regatta.figures.text import (
    joined,
    parameters_text,
    show_heap,
    show_interval,
    show_p,
    show_percent,
    show_quantity,
)
from regatta.host.values.counters import METRIC_PREFIX, SYMBOL
from regatta.stats.growth import CONSTANT, FLAT, POWER, REJECTED, Growth

_MOST_FUNCTIONS = 15
_NOTHING = 1e-6
_DIGITS = 9
_TERMS = {
    "1/n": "1/n",
    "1/sqrt n": "1/√n",
    "-log n": "ln n",
    "log n": "ln n",
    "sqrt n": "√n",
    "linear": "n",
    "n log n": "n ln n",
    "n^1.5": "n^1.5",
    "quadratic": "n²",
    "cubic": "n³",
}
#: more plausible kinds are counted, not named
_MOST_KINDS = 3


def growth_section(found: Sequence[Grown], view: View) -> Section | None:
    """Return the section; None without a parameter with four or more values."""
    if not found:
        return None
    return Section(
        "growth",
        words="The change of each quantity with a parameter n. The exponent is that of a power law, with its "
        f"{show_percent(view.answer.level)} confidence interval; a base that does not change brings it closer to 0. Growth lists the "
        f"kinds that a test of lack of fit does not reject (p of at least {REJECTED:g}), the most plausible first, and a power law only if no other is plausible; a falling quantity has "
        "a negative exponent. Only constant is listed if it is not rejected and the interval of the exponent is within "
        f"±{FLAT:g}. If none fits, the best fit is the nearest kind. The largest miss is that of the best fit at the mean of a size.",
    )


def growth_tables(found: Sequence[Grown], view: View) -> list[Table]:
    """Return one row per series, and those functions of the kernel whose time grows most."""
    functions = [one for one in found if SYMBOL in one.parameters and CONSTANT not in one.growth.plausible]
    functions.sort(key=lambda one: one.growth.best.at(one.sizes[0]) - one.growth.best.at(one.sizes[-1]))
    return [
        _table("Growth", [one for one in found if SYMBOL not in one.parameters], view),
        _table("Growth of functions of the kernel", functions[:_MOST_FUNCTIONS], view),
    ]


def _table(title: str, found: Sequence[Grown], view: View) -> Table:
    columns = (
        "host", "benchmark", "configuration", "quantity", "over", "exponent", "growth", "best fit", "largest miss",
    )  # fmt: skip
    rows = [
        (
            view.host(one.place.host),
            one.place.benchmark,
            joined(one.place.configuration, show_heap(one.place.heap)),
            _quantity(one),
            f"{one.parameter} {one.sizes[0]:g} to {one.sizes[-1]:g}",
            show_interval(one.growth.exponent),
            _kinds(one.growth),
            _formula(one),
            f"{100 * one.growth.best.worst:.1f} %",
        )
        for one in found
    ]
    return Table(title, columns, rows, frozenset({5, 8}))


def _quantity(one: Grown) -> str:
    name = one.metric.removeprefix(METRIC_PREFIX).replace("_", " ")
    return ", ".join(filter(None, (name, parameters_text(one.parameters))))


def _formula(one: Grown) -> str:
    best = one.growth.best
    # Least squares leave a rest of rounding.
    base = show_quantity(float(f"{best.base:.{_DIGITS}g}"), one.unit)
    if best.kind == CONSTANT or best.factor == 0:
        return base
    term = f"n^{best.power:.3g}" if best.kind == POWER else _TERMS[best.kind]
    grown = f"{show_quantity(best.factor, one.unit)} × {term}"
    if best.kind == "-log n":
        return f"{base} - {grown}"
    return grown if abs(best.base) < _NOTHING * best.at(one.sizes[0]) else f"{base} + {grown}"


def _kinds(found: Growth) -> str:
    """Return `linear or n log n`, or `none fits (p = 0.0021)`; only `constant` if the exponent is near 0."""
    if not found.plausible:
        p = show_p(found.p)
        return f"none fits (p {p if p.startswith('<') else f'= {p}'})"
    untested = " (fit not tested: no repetitions)" if math.isnan(found.p) else ""
    if found.flat:
        return f"{CONSTANT}{untested}"
    # The exponent is that of the power law.
    named = [kind for kind in found.plausible if kind != POWER] or [POWER]
    more = len(named) - _MOST_KINDS
    kinds = [*named[:_MOST_KINDS], *([counted(more, "other")] if more > 0 else [])]
    return f"{' or '.join(kinds)}{untested}"


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

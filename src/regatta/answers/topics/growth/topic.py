"""The topic of growth: how counters and the compared metric change with a parameter, such as the number of connections."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from regatta.answers.kit.columns import BENCHMARK, CONFIGURATION_AND_HEAP, host_column
from regatta.answers.kit.plain import plain
from regatta.answers.kit.topic import Document, Topic
from regatta.answers.kit.view import View
from regatta.answers.spine.context import Context
from regatta.answers.spine.parts import Place
from regatta.answers.spine.result import CellAnswer
from regatta.answers.spine.words import counted
from regatta.figures.section import Column, Section, Table, table_of
from regatta.figures.text import (
    parameters_key,
    parameters_text,
    show_interval,
    show_p,
    show_percent,
    show_quantity,
)
from regatta.host.values.benchmark_label import parts_of_label
from regatta.host.values.counters import METRIC_PREFIX, SYMBOL
from regatta.host.values.experiment import Scalar
from regatta.host.values.levels import PARAMETERS, label_without
from regatta.stats.growth import CONSTANT, FLAT, LEAST_SIZES, LEAST_VALUES, POWER, REJECTED, Growth, growth


@dataclass(frozen=True)
class Grown:
    """One series over a parameter."""

    #: without the parameter
    place: Place
    #: of the benchmarks, such as `connections`
    parameter: str
    metric: str
    parameters: Mapping[str, Scalar]
    unit: str
    sizes: tuple[float, ...]
    growth: Growth


def judge_growth(context: Context) -> tuple[Grown, ...]:
    """Return the growth of every series with positive means at four or more values of a parameter."""
    compared = {cell.cell_id: cell.metric for cell in context.samples.cells}
    groups: dict[tuple[Place, str, str, tuple[tuple[str, str], ...], str], dict[float, CellAnswer]] = (
        defaultdict(dict)
    )
    for cell in context.cells:
        if not cell.samples or not (
            cell.metric.startswith(METRIC_PREFIX) or cell.metric == compared.get(cell.cell_id)
        ):
            continue
        for parameter, size in _sizes(cell):
            label = label_without(cell.place.benchmark, [PARAMETERS + parameter])
            place = replace(cell.place, benchmark=label, heap=cell.place.heap.asked)
            # A program can also report the parameter with its metrics.
            own = {name: value for name, value in cell.parameters.items() if name != parameter}
            key = (place, parameter, cell.metric, parameters_key(own), cell.unit)
            groups[key].setdefault(size, replace(cell, parameters=own))
    found = []
    for (place, parameter, metric, _, unit), cells in groups.items():
        samples = [(size, [one.value for one in cells[size].samples]) for size in sorted(cells)]
        enough = len(samples) >= LEAST_SIZES and sum(len(own) for _, own in samples) >= LEAST_VALUES
        if not enough or any(math.fsum(values) <= 0 for _, values in samples):
            continue
        first = next(iter(cells.values()))
        fitted = growth(samples, context.facts.level)
        sizes = tuple(size for size, _ in samples)
        found.append(Grown(place, parameter, metric, first.parameters, unit, sizes, fitted))
    return tuple(found)


def _sizes(cell: CellAnswer) -> Iterable[tuple[str, float]]:
    """Yield the chosen parameters of the benchmark that are positive numbers."""
    for name, text in parts_of_label(cell.place.benchmark).chosen.items():
        try:
            size = float(text)
        except ValueError:
            continue
        if math.isfinite(size) and size > 0:
            yield name, size


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
    columns: list[Column[Grown]] = [
        *(host_column(view), BENCHMARK, CONFIGURATION_AND_HEAP),
        Column("quantity", _quantity),
        Column("over", lambda one: f"{one.parameter} {one.sizes[0]:g} to {one.sizes[-1]:g}"),
        Column("exponent", lambda one: show_interval(one.growth.exponent), numeric=True),
        Column("growth", lambda one: _kinds(one.growth)),
        Column("best fit", _formula),
        Column("largest miss", lambda one: f"{100 * one.growth.best.worst:.1f} %", numeric=True),
    ]
    return table_of(title, found, columns)


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

"""The tables, in kind those of the paper: 2, 4, 5, 6 and 7."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from regatta.answers.kit.view import View
from regatta.figures.section import Column, Table, table_of
from regatta.figures.text import show_unit
from regatta.models.kernel_traces.model import CAUSES
from regatta.models.kernel_traces.topic.result import (
    NO_PHASE,
    TIMES,
    ObjectUse,
    Phase,
    Prediction,
    TracedCell,
    Tracing,
)
from regatta.stats.estimate import Interval, undefined

#: Wider tables do not fit on a page.
_CELLS_AT_ONCE = 4
_US = 1e-3
#: Numbers below have two significant digits.
_SMALL, _MOST_DECIMALS = 0.1, 5
#: cause -> name; the rest are named alike
_CAUSES = {"process": "other processes"}
_INTERRUPTS = {"timer": "timer interrupts", "interrupt": "other interrupts"}
_OTHER_ROWS = ("user", "kernel", "spin", "total")
_NO_PHASE_HERE = "the program does not report this phase"

Item = TypeVar("Item")
#: name of a quantity, its value of an object, and factor of its unit
_Row = tuple[str, Callable[[Item], Interval], float]


def number_text(estimate: Interval, factor: float = 1.0) -> str:
    """Return `12.3 [11.9, 12.7]`, or `n.d. (reason)`; its ends have as many decimals as the point."""
    if math.isnan(estimate.point):
        return f"n.d. ({estimate.reason})"
    size = abs(estimate.point * factor)
    digits = 3 if size >= _SMALL else 2
    decimals = min(_MOST_DECIMALS, max(0, digits - 1 - math.floor(math.log10(size)))) if size > 0 else 0
    point, low, high = (
        f"{value * factor:,.{decimals}f}" for value in (estimate.point, estimate.low, estimate.high)
    )
    return point if math.isnan(estimate.low) else f"{point} [{low}, {high}]"


def tracing_tables(found: Tracing, view: View) -> list[Table]:
    """Return all tables of the traced cells."""
    if not found.cells:
        return []
    return [
        _results(found.cells, view),
        *_by_cell("CPU and objects, µs per transaction", found.cells, _usage_rows(found.cells)),
        *_uses(found.cells),
        *(_phases(cell) for cell in found.cells if cell.phases),
        *_by_cell("Wake-ups and switches per transaction", found.cells, _wakeup_rows(found.cells)),
        *_predictions(found.predictions),
    ]


def _predictions(found: Sequence[Prediction]) -> Iterator[Table]:
    """Yield the table of predicted throughputs, if there are any."""
    columns: list[Column[Prediction]] = [
        Column("cell", lambda one: one.of),
        Column("clients", lambda one: str(one.clients), numeric=True),
        Column("predicted", lambda one: f"{one.predicted:,.0f}", numeric=True),
        Column("bound", lambda one: f"{one.bound:,.0f}", numeric=True),
        Column("measured, traced", lambda one: number_text(one.traced), numeric=True),
        Column("measured, untraced", lambda one: number_text(one.untraced), numeric=True),
        Column("predicted / traced", _accuracy_text, numeric=True),
        Column("demands of", lambda one: one.demands_of),
    ]
    if found:
        yield table_of("Throughput per second, predicted by mean-value analysis", found, columns)


def _accuracy_text(one: Prediction) -> str:
    return f"{one.predicted / one.traced.point:.2f}" if one.traced.point > 0 else "n.d."


def _results(cells: Sequence[TracedCell], view: View) -> Table:
    settings = dict.fromkeys(name for cell in cells for name in cell.settings)
    same = len({(cell.metric, cell.unit) for cell in cells}) == 1
    metric = _metric_text(cells[0]) if same else "metric"

    def setting(name: str) -> Column[TracedCell]:
        return Column(name, lambda cell: cell.settings.get(name, ""))

    def number(title: str, of: Callable[[TracedCell], Interval], factor: float = 1.0) -> Column[TracedCell]:
        return Column(title, lambda cell: number_text(of(cell), factor), numeric=True)

    columns = [
        Column[TracedCell]("host", lambda cell: view.host(cell.place.host)),
        Column[TracedCell]("cell", lambda cell: _first_column(cell, same)),
        *(setting(name) for name in settings),
        Column[TracedCell]("n", lambda cell: str(cell.n), numeric=True),
        number(f"{metric}, untraced", lambda cell: cell.untraced),
        number(f"{metric}, traced", lambda cell: cell.traced),
        number("traced / untraced", lambda cell: cell.overhead),
        number("transactions per second in the trace", lambda cell: cell.rate),
        number("response time (µs)", lambda cell: cell.response, _US),
    ]
    return table_of("Parameters and results", cells, columns)


def _first_column(cell: TracedCell, same_metric: bool) -> str:
    """Return the name of a cell unless its settings say it, with the metric if cells have several."""
    said = {f"{name}={value}" for name, value in cell.settings.items()}
    name = "" if said.issuperset(cell.name.split()) else cell.name
    return name if same_metric else f"{name or cell.name}: {_metric_text(cell)}"


def _metric_text(cell: TracedCell) -> str:
    unit = show_unit(cell.unit)
    return f"{cell.metric} ({unit})" if unit else cell.metric


def _by_cell(title: str, cells: Sequence[TracedCell], rows: Sequence[_Row[TracedCell]]) -> Iterator[Table]:
    """Yield tables with one row per quantity and one column per cell, a few cells at once."""
    for first in range(0, len(cells), _CELLS_AT_ONCE):
        some = cells[first : first + _CELLS_AT_ONCE]
        more = f", cells {first + 1} to {first + len(some)}" if len(cells) > _CELLS_AT_ONCE else ""
        yield _by_quantity(title + more, [cell.name for cell in some], some, rows)


def _by_quantity(title: str, names: Sequence[str], of: Sequence[Item], rows: Sequence[_Row[Item]]) -> Table:
    """Return the table with one row per quantity, and one column per object, which has a name."""
    texts = [(name, *(number_text(number(one), factor) for one in of)) for name, number, factor in rows]
    return Table(title, ("", *names), texts, frozenset(range(1, len(names) + 1)))


def _usage_rows(cells: Sequence[TracedCell]) -> list[_Row[TracedCell]]:
    def cpu(key: str) -> Callable[[TracedCell], Interval]:
        return lambda cell: cell.cpu.get(key, _zero(cell.cpu["total"]))

    def objects(key: str) -> Callable[[TracedCell], Interval]:
        return lambda cell: cell.objects.get(key, _zero(cell.cpu["total"]))

    kinds = dict.fromkeys(key for cell in cells for key in cell.cpu if key not in _OTHER_ROWS)
    return [
        ("process user", cpu("user"), _US),
        ("process kernel", cpu("kernel"), _US),
        *((_INTERRUPTS.get(kind, f"{kind} interrupts"), cpu(kind), _US) for kind in kinds),
        ("busy-wait", cpu("spin"), _US),
        ("total CPU", cpu("total"), _US),
        ("disks", objects("disk"), _US),
        ("locks held", objects("lock"), _US),
        ("wait for locks", objects("lock wait"), _US),
    ]


def _zero(like: Interval) -> Interval:
    """Return 0 for what did not occur in any window; undefined without transactions."""
    if math.isnan(like.point):
        return like
    return undefined(like.n, like.level, like.method, "all values are 0", 0.0)


def _uses(cells: Sequence[TracedCell]) -> Iterator[Table]:
    columns: list[Column[tuple[TracedCell, ObjectUse]]] = [
        Column("cell", lambda row: row[0].name),
        Column("object", lambda row: row[1].name),
        Column("kind", lambda row: row[1].kind),
        Column("uses", lambda row: number_text(row[1].uses), numeric=True),
        Column("used or held (µs)", lambda row: number_text(row[1].used, _US), numeric=True),
        Column("waited (µs)", lambda row: number_text(row[1].waited, _US), numeric=True),
    ]
    if rows := [(cell, use) for cell in cells for use in cell.uses]:
        yield table_of("Disks and locks per transaction", rows, columns)


def _phases(cell: TracedCell) -> Table:
    def time(key: str) -> Callable[[Phase], Interval]:
        return lambda phase: phase.times[key]

    names = [phase.name if phase.name != NO_PHASE else "no phase" for phase in cell.phases]
    rows: list[_Row[Phase]] = [("elapsed", lambda phase: phase.elapsed, _US)]
    rows += [(text, time(key), _US) for key, text in TIMES.items()]
    return _by_quantity(f"Phases of {cell.name}, µs per transaction", names, cell.phases, rows)


def _wakeup_rows(cells: Sequence[TracedCell]) -> list[_Row[TracedCell]]:
    def by(cause: str) -> Callable[[TracedCell], Interval]:
        return lambda cell: cell.wakeups[cause]

    def within(name: str) -> Callable[[TracedCell], Interval]:
        return lambda cell: _phase(cell, name)

    phases = dict.fromkeys(phase.name for cell in cells for phase in cell.phases if phase.name != NO_PHASE)
    first = ("disk", "network", "process")
    others = (
        cause
        for cause in CAUSES
        if cause not in first and any(cell.wakeups[cause].point > 0 for cell in cells)
    )
    causes = [*first, *others]
    return [
        *((f"wake-ups: {_CAUSES.get(cause, cause)}", by(cause), 1.0) for cause in causes),
        *((f"wake-ups in phase {name}", within(name), 1.0) for name in phases),
        ("unneeded wake-ups (semi-busy-waiting)", lambda cell: cell.unneeded, 1.0),
        ("process switches", lambda cell: cell.switches, 1.0),
    ]


def _phase(cell: TracedCell, name: str) -> Interval:
    found: Phase | None = next((phase for phase in cell.phases if phase.name == name), None)
    return found.wakeups if found else undefined(0, cell.response.level, "t", _NO_PHASE_HERE)

"""The tables, in kind those of the paper: 2, 4, 5, 6 and 7."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from regatta.answers.kit.view import View
from regatta.figures.section import Table
from regatta.figures.text import show_unit
from regatta.models.kernel_traces.names import CAUSES
from regatta.models.kernel_traces.topic.result import NO_PHASE, TIMES, Phase, Prediction, TracedCell, Tracing
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

_Row = tuple[str, Callable[[TracedCell], Interval], float]


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
        *_by_quantity("CPU and objects, µs per transaction", found.cells, _usage_rows(found.cells)),
        *_uses(found.cells),
        *(_phases(cell) for cell in found.cells if cell.phases),
        *_by_quantity("Wake-ups and switches per transaction", found.cells, _wakeup_rows(found.cells)),
        *_predictions(found.predictions),
    ]


def _predictions(found: Sequence[Prediction]) -> Iterator[Table]:
    """Yield the table of predicted throughputs, if there are any."""
    if not found:
        return
    columns = (
        "cell", "clients", "predicted", "bound", "measured, traced", "measured, untraced", "predicted / traced",
        "demands of",
    )  # fmt: skip
    rows = [
        (
            one.of,
            str(one.clients),
            f"{one.predicted:,.0f}",
            f"{one.bound:,.0f}",
            number_text(one.traced),
            number_text(one.untraced),
            f"{one.predicted / one.traced.point:.2f}" if one.traced.point > 0 else "n.d.",
            one.demands_of,
        )
        for one in found
    ]
    title = "Throughput per second, predicted by mean-value analysis"
    yield Table(title, columns, rows, frozenset(range(1, len(columns) - 1)))


def _results(cells: Sequence[TracedCell], view: View) -> Table:
    settings = list(dict.fromkeys(name for cell in cells for name in cell.settings))
    metrics = {(cell.metric, cell.unit) for cell in cells}
    same = len(metrics) == 1
    metric = _metric_text(cells[0]) if same else "metric"
    columns = (
        "host", "cell", *settings, "n", f"{metric}, untraced", f"{metric}, traced", "traced / untraced",
        "transactions per second in the trace", "response time (µs)",
    )  # fmt: skip
    rows = [
        (
            view.host(cell.place.host),
            _first_column(cell, same),
            *(cell.settings.get(name, "") for name in settings),
            str(cell.n),
            number_text(cell.untraced),
            number_text(cell.traced),
            number_text(cell.overhead),
            number_text(cell.rate),
            number_text(cell.response, _US),
        )
        for cell in cells
    ]
    return Table("Parameters and results", columns, rows, frozenset(range(2 + len(settings), len(columns))))


def _first_column(cell: TracedCell, same_metric: bool) -> str:
    """Return the name of a cell unless the columns of its settings say it, with the metric if cells have several."""
    said = {f"{name}={value}" for name, value in cell.settings.items()}
    name = "" if said.issuperset(cell.name.split()) else cell.name
    return name if same_metric else f"{name or cell.name}: {_metric_text(cell)}"


def _metric_text(cell: TracedCell) -> str:
    unit = show_unit(cell.unit)
    return f"{cell.metric} ({unit})" if unit else cell.metric


def _by_quantity(title: str, cells: Sequence[TracedCell], rows: Sequence[_Row]) -> Iterator[Table]:
    """Yield tables with one row per quantity and one column per cell, a few cells at once."""
    for first in range(0, len(cells), _CELLS_AT_ONCE):
        some = cells[first : first + _CELLS_AT_ONCE]
        more = f", cells {first + 1} to {first + len(some)}" if len(cells) > _CELLS_AT_ONCE else ""
        yield Table(
            title + more,
            ("", *(cell.name for cell in some)),
            [(name, *(number_text(of(cell), factor) for cell in some)) for name, of, factor in rows],
            frozenset(range(1, len(some) + 1)),
        )


def _usage_rows(cells: Sequence[TracedCell]) -> list[_Row]:
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
    return (
        like
        if math.isnan(like.point)
        else undefined(like.n, like.level, like.method, "all values are 0", 0.0)
    )


def _uses(cells: Sequence[TracedCell]) -> Iterator[Table]:
    rows = [
        (cell.name, use.name, use.kind, number_text(use.uses), number_text(use.used, _US), number_text(use.waited, _US))
        for cell in cells
        for use in cell.uses
    ]  # fmt: skip
    if rows:
        columns = ("cell", "object", "kind", "uses", "used or held (µs)", "waited (µs)")
        yield Table("Disks and locks per transaction", columns, rows, frozenset({3, 4, 5}))


def _phases(cell: TracedCell) -> Table:
    names = [phase.name if phase.name != NO_PHASE else "no phase" for phase in cell.phases]
    rows = [("elapsed", *(number_text(phase.elapsed, _US) for phase in cell.phases))]
    rows += [
        (text, *(number_text(phase.times[key], _US) for phase in cell.phases)) for key, text in TIMES.items()
    ]
    title = f"Phases of {cell.name}, µs per transaction"
    return Table(title, ("", *names), rows, frozenset(range(1, len(names) + 1)))


def _wakeup_rows(cells: Sequence[TracedCell]) -> list[_Row]:
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

"""Prepare the samples of an audit: alternatives as collectors of each family, and runs for the prevalent methods."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import duckdb
import numpy as np
from numpy.typing import NDArray

from regatta.answers.spine.groups import grouped
from regatta.answers.spine.pairs import comparison_groups
from regatta.answers.spine.samples import PlannedCell, Samples, Series
from regatta.answers.spine.words import counted
from regatta.stats.estimate import Floats
from regatta.stats.prevalent import prevalent, prevalent_steady

AuditFactor = Literal["collector", "runtime", "modifiers"]
FACTORS: tuple[AuditFactor, ...] = ("collector", "runtime", "modifiers")
#: Fewer valid invocations give neither a useful interval nor a second best next to a median.
LEAST_INVOCATIONS = 3

_ITERATIONS = """
select l.host, l.cell_id, i.metric, i.unit, coalesce(i.parameters, '') as parameters, l.invocation_id,
       list(i.value order by i.iteration) as values
from iterations i join last_attempts l using (record) join cells c using (host, cell_id)
where l.status = 'ok' and i.metric = c.metric
group by all having count(*) > 1
"""

#: (host, cell_id, unit, parameters as text)
_TableKey = tuple[str, str, str, str]


@dataclass(frozen=True)
class Runs:
    """The runs of one series: invocations in time order, and the orders in which they are drawn."""

    series: Series
    #: shape (n,)
    values: Floats
    #: shape (draws + 1, n): row 0 is time order, the other rows are shuffled
    orders: NDArray[np.int_]
    #: one array per invocation with more than one iteration, in time order
    iterations: tuple[Floats, ...] = ()

    def reported(self, statistic: str, invocations: int) -> Floats | None:
        """Return the number that a method reports, shape (draws + 1,); None with too few invocations.

        Element 0 uses time order. `invocations` 0 means all.
        """
        k = invocations or len(self.values)
        if k > len(self.values):
            return None
        lower = self.series.cell.better == "lower"
        if k == len(self.values):
            return np.full(len(self.orders), prevalent(self.values, statistic, lower))
        return prevalent(self.values[self.orders[:, :k]], statistic, lower)

    def reported_steady(self, statistic: str, invocations: int, iterations: int) -> Floats | None:
        """Do the same with the first iterations of some invocations; None with too few of either."""
        long = [one[:iterations] for one in self.iterations if len(one) >= iterations]
        if invocations > len(long):
            return None
        table = np.array(long)
        orders = self.orders
        if len(long) < len(self.values):
            # Dropping the other invocations from a shuffled order leaves a shuffled order.
            orders = orders[orders < len(long)].reshape(len(orders), len(long))
        lower = self.series.cell.better == "lower"
        return prevalent_steady(table[orders[:, :invocations]], statistic, lower)


@dataclass
class Material:
    """Samples with the alternative in `collector`, and the omissions."""

    factor: AuditFactor | Literal[""]
    samples: Samples
    #: cell number -> the cell as planned
    planned: dict[int, PlannedCell]
    left_out: list[str] = field(default_factory=list)


def choose_factor(cells: Sequence[PlannedCell]) -> AuditFactor | Literal[""]:
    """Return the first of collector, runtime and modifiers in which some comparison has several values."""
    for factor in FACTORS:
        if any(len(_alternatives(group, factor)) > 0 for group in comparison_groups(cells)):
            return factor
    return ""


def prepare(samples: Samples, factor: AuditFactor | Literal[""]) -> Material:
    """Store the values of `factor` as collectors, and omit series that are too short.

    Args:
        samples: samples of the experiment; not modified.
        factor: from `choose_factor`, or as requested.
    """
    planned = {cell.number: cell for cell in samples.cells}
    swapped = Samples(cells=[_swap(cell, factor) for cell in samples.cells])
    short: list[str] = []
    empty = 0
    for number, cell in planned.items():
        own = samples.own(cell)
        kept = [s for s in own if len(s.samples) >= LEAST_INVOCATIONS]
        swapped.series[number] = [replace(s, cell=_swap(s.cell, factor)) for s in kept]
        empty += not own
        if len(kept) < len(own):
            short.append(f"{cell.label} ({min(len(s.samples) for s in own)})")
    material = Material(factor, swapped, planned)
    if empty:
        material.left_out.append(f"excluded: {counted(empty, 'cell')} without a valid invocation")
    if short:
        some = ", ".join(short[:3]) + (" ..." if len(short) > 3 else "")
        material.left_out.append(
            f"excluded: {counted(len(short), 'cell')} with fewer than {LEAST_INVOCATIONS} valid invocations: {some}"
        )
    return material


def read_iterations(connection: duckdb.DuckDBPyConnection) -> dict[_TableKey, dict[str, Floats]]:
    """Read the iterations of every invocation that has several, for the compared metrics.

    Returns:
        (host, cell, unit, parameters) -> invocation -> iterations in order. Perturbed invocations are excluded.
    """
    found: dict[_TableKey, dict[str, Floats]] = {}
    for host, cell, _, unit, parameters, invocation, values in connection.execute(_ITERATIONS).fetchall():
        found.setdefault((host, cell, unit, parameters), {})[invocation] = np.asarray(
            values, dtype=np.float64
        )
    return found


def runs_of(series: Series, tables: Mapping[_TableKey, Mapping[str, Floats]], seed: int, draws: int) -> Runs:
    """Return the runs of a series with separately seeded draws, so that adding a cell does not change them."""
    cell = series.cell
    name = json.dumps([cell.place.host, cell.cell_id, series.unit, series.parameters_text])
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    n = len(series.values)
    time = np.arange(n)[None, :]
    orders = np.concatenate([time, rng.permuted(np.repeat(time, draws, axis=0), axis=1)])
    table = tables.get((cell.place.host, cell.cell_id, series.unit, series.parameters_text), {})
    iterations = tuple(table[s.invocation_id] for s in series.samples if s.invocation_id in table)
    return Runs(series, series.values, orders, iterations)


def _swap(cell: PlannedCell, factor: AuditFactor | Literal[""]) -> PlannedCell:
    if factor in ("", "collector"):
        return cell
    swapped = {"collector": getattr(cell.place, factor), factor: cell.place.collector}
    return replace(cell, place=replace(cell.place, **swapped))


def _alternatives(group: Sequence[PlannedCell], factor: AuditFactor) -> list[PlannedCell]:
    """Return the cells of the group that differ from another cell in this factor only."""
    others = [other for other in FACTORS if other != factor]
    found = grouped(
        (cell for cell in group if getattr(cell.place, factor)),
        lambda cell: tuple(getattr(cell.place, other) for other in others),
    )
    return [cell for cells in found.values() if len(cells) > 1 for cell in cells]

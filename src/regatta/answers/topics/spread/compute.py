"""Collect iterations after warm-up, relative to their mean, for the figure of their distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regatta.answers.spine.context import Context
from regatta.answers.spine.iterations import steady_iterations

#: more cells have no such figure
_CELLS_AT_MOST = 500
#: invocations per cell, evenly spread over time
_INVOCATIONS_AT_MOST = 30
#: of more iterations per cell, this number of quantiles is kept
_VALUES_AT_MOST = 600

_QUERY = """
with chosen as (
    select record, cell from (
        select record, cell, row_number() over (partition by cell order by started_utc_ns, record) - 1 as place,
               count(*) over (partition by cell) as many
        from counted where status = 'ok' and not discarded
    ) where place * $most % many < $most
)
select c.cell, count(distinct i.record), avg(i.value),
       case when count(*) > $values then quantile_cont(i.value, $quantiles) else list(i.value order by i.record, i.iteration) end
from iterations i join chosen c using (record)
join planned p on p.cell = c.cell and p.metric = i.metric and p.twin_of = '' {join}
where isfinite(i.value) and coalesce(i.parameters, '') = '' and {steady}
group by c.cell having count(*) > count(distinct i.record) and avg(i.value) > 0
order by c.cell
"""


@dataclass(frozen=True)
class CellIterations:
    """Iterations of one cell's own metric after warm-up. `values`: relative to the mean of all of them."""

    host: str
    cell_id: str
    metric: str
    invocations: int
    values: tuple[float, ...]


def collect_iterations(context: Context) -> tuple[CellIterations, ...]:
    """Return the iterations of each cell with several per invocation, in plan order.

    Returns:
        Empty with `startup` and `replay`, for metrics with parameters, and in experiments with very many cells.
    """
    steady, cells = context.facts.steady, context.samples.cells
    if steady.method in ("startup", "replay") or len(cells) > _CELLS_AT_MOST:
        return ()
    join, condition = steady_iterations(steady)
    parameters = {
        "most": _INVOCATIONS_AT_MOST,
        "values": _VALUES_AT_MOST,
        "quantiles": np.linspace(0.0, 1.0, _VALUES_AT_MOST).tolist(),
    }
    rows = context.connection.execute(_QUERY.format(join=join, steady=condition), parameters).fetchall()
    by_number = {cell.number: cell for cell in cells}
    return tuple(
        CellIterations(
            by_number[number].place.host,
            by_number[number].cell_id,
            by_number[number].metric,
            invocations,
            tuple(value / mean for value in values),
        )
        for number, invocations, mean, values in rows
    )

"""Read the iterations of invocations as series, in batches, for computations that SQL cannot do.

The tables of the database are in journal order, so that a batch is a range of records; 10^7 iterations are never in
memory at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from regatta.host.values.experiment import SteadyState
from regatta.stats.steady import steady_windows
from regatta.stats.warmup import courses_of

#: iterations per batch: about 100 MB with all derived data
_AT_ONCE = 1_000_000

#: The cell's own metric decides where its invocations are steady; `parameter_sets` keeps text out of the inner loop.
_PREPARE = """
create or replace temp table parameter_sets as
select row_number() over (order by parameters) as parameter_set, parameters
from (select distinct coalesce(parameters, '') as parameters from iterations)
"""

_PIECES = """
select min(record), max(record) from (
    select record, sum(coalesce(iteration_rows, 1)) over (order by record) // {at_once} as piece
    from invocations semi join {records} using (record)
) group by piece order by piece
"""

_SERIES = """
select i.record, c.cell, s.parameter_set, i.iteration, i.value
from iterations i join {records} c using (record) join planned p on p.cell = c.cell and p.metric = i.metric
join parameter_sets s on s.parameters = coalesce(i.parameters, '')
where i.record between $first and $last
order by i.record, s.parameter_set, i.iteration, i.rowid
"""

_NO_WINDOWS = pa.table(
    {
        "record": pa.array([], pa.int64()),
        "parameter_set": pa.array([], pa.int64()),
        "first_iteration": pa.array([], pa.int64()),
        "last_iteration": pa.array([], pa.int64()),
    }
)


def steady_iterations(steady: SteadyState) -> tuple[str, str]:
    """Return a join and a condition of a query that selects the iterations `i` after warm-up of the cell's own metric.

    Args:
        steady: method `fixed`, `cov` or `changepoints`; for the last two, the query needs `find_steady_windows`.
    """
    if steady.method == "fixed":
        return "", f"i.iteration >= {int(steady.warmup)}"
    return (
        "join steady_windows w on w.record = i.record and w.parameters = coalesce(i.parameters, '')",
        "i.iteration between w.first_iteration and w.last_iteration",
    )


@dataclass(frozen=True)
class Batch:
    """Series of equal length q of the cells' own metrics. `table`, `iterations`: shape (p, q); the others: (p,)."""

    record: NDArray[np.int64]
    cell: NDArray[np.int64]
    parameter_set: NDArray[np.int64]
    #: iteration numbers, ascending
    iterations: NDArray[np.int64]
    table: NDArray[np.float64]


def read_series(connection: duckdb.DuckDBPyConnection, records: str, least: int = 2) -> Iterator[Batch]:
    """Iterate over the series of some records.

    A series contains an invocation's iterations of its cell's metric, for one set of parameters.

    Args:
        connection: with the temporary table `planned` (`regatta.answers.spine.samples`).
        records: name of a table with the columns `record` and `cell`.
        least: minimum number of iterations; shorter series are skipped.

    Yields:
        Batches in the order of the records; all series of a batch have the same length.
    """
    connection.execute(_PREPARE)
    pieces = connection.execute(_PIECES.format(records=records, at_once=_AT_ONCE)).fetchall()
    for first, last in pieces:
        columns = connection.execute(
            _SERIES.format(records=records), {"first": first, "last": last}
        ).fetchnumpy()
        yield from _batches({name: np.asarray(column) for name, column in columns.items()}, least)


def _batches(columns: dict[str, NDArray[np.generic]], least: int) -> Iterator[Batch]:
    record, parameters = columns["record"], columns["parameter_set"]
    if not record.size:
        return
    new = (record[1:] != record[:-1]) | (parameters[1:] != parameters[:-1])
    starts = np.concatenate(([0], np.flatnonzero(new) + 1))
    lengths = np.diff(np.append(starts, record.size))
    for length in np.unique(lengths[lengths >= least]).tolist():
        chosen = starts[lengths == length]
        places = chosen[:, np.newaxis] + np.arange(length)
        yield Batch(
            record=record[chosen].astype(np.int64),
            cell=columns["cell"][chosen].astype(np.int64),
            parameter_set=parameters[chosen].astype(np.int64),
            iterations=columns["iteration"][places].astype(np.int64),
            table=columns["value"][places].astype(np.float64),
        )


def find_steady_windows(connection: duckdb.DuckDBPyConnection, records: str, steady: SteadyState) -> None:
    """Create the temporary table `steady_windows`: where each series of `records` is steady, by `cov` or `changepoints`.

    Its columns are `record`, `parameters` (text, "" if none), `first_iteration` and `last_iteration`. The last two are
    null if no steady state is reached.
    """
    found = [_windows_of(batch, steady) for batch in read_series(connection, records)]
    connection.register("windows_found", pa.concat_tables([_NO_WINDOWS, *found]))
    connection.execute(
        "create or replace temp table steady_windows as select record, parameters, first_iteration, last_iteration"
        " from windows_found join parameter_sets using (parameter_set)"
    )
    connection.unregister("windows_found")


def _windows_of(batch: Batch, steady: SteadyState) -> pa.Table:
    if steady.method == "cov":
        first = steady_windows(batch.table, steady.window, steady.threshold).start
        last = first + steady.window - 1
    else:
        first = np.array([course.start for course in courses_of(batch.table)], dtype=np.intp)
        last = np.full(first.size, batch.table.shape[1] - 1)
    missing = first < 0
    row = np.arange(first.size)
    return pa.table(
        {
            "record": batch.record,
            "parameter_set": batch.parameter_set,
            "first_iteration": pa.array(batch.iterations[row, first], mask=missing),
            "last_iteration": pa.array(batch.iterations[row, np.where(missing, 0, last)], mask=missing),
        }
    )

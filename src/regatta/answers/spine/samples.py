"""Reduce records to samples: one value per invocation, from the embedded database.

Iterations are never replicates (design: how results are trusted). DuckDB reduces them, out of core if needed. The result
is one value per invocation, metric and set of parameters.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from regatta.answers.spine.iterations import find_steady_windows
from regatta.answers.spine.parts import Place, Sample
from regatta.answers.spine.result import Failure
from regatta.host.journal.halves import without_halves
from regatta.host.journal.record import FAILURES
from regatta.host.journal.round_values import CLOSE_NS, CLOSE_TIMES
from regatta.host.values import levels
from regatta.host.values.experiment import DUET, Better, Heap, Scalar, SteadyState, Summary
from regatta.host.values.levels import shared_parameters
from regatta.host.values.plan_cell import PROCESS_ELAPSED

#: key that pairs two samples: plan, round and block; None for an invocation outside blocks
BlockKey = tuple[str, int, int]
#: alternatives of a block that run at once
_BOTH = 2
#: an interval needs at least two
LEAST_UNDISTURBED = 2

#: A repeated invocation counts with its last attempt (the view is defined by the database).
_LAST = """
create temp table last as
select record, host, cell_id, invocation_id, status, coalesce(reason, '') as reason, "order", plan_id, round, block,
       position, started_utc_ns, elapsed_ns, attempt, "order" = '{duet}' as at_once
from last_attempts
"""

_CELLS = """
create temp table planned as
select row_number() over (order by host, place) - 1 as cell, * from cells order by cell
"""

#: No warm-up is removed if each invocation is measured once (programs measured from outside), or a metric once in each.
#: A series with one line because its event occurred once is not such a metric: its line can belong to warm-up.
_ONCE = """
create temp table first_iterations as
    select record, min(iteration) as lowest, min(iteration) = max(iteration) as alone from iterations group by record;
create temp table once_metrics as
    select metric from (
        select metric, min(iteration) = max(iteration) as once from iterations group by record, metric
    ) group by metric having bool_and(once);
"""
_IS_ONCE = "(alone or i.metric in (select metric from once_metrics))"
_VALUES = {
    "startup": "any_value(value) filter (iteration = lowest or {once})",
    "fixed": "favg(value) filter (iteration >= $warmup or {once})",
    "summarised": "case when any_value({once}) then any_value(value) else case any_value({summary})"
    " when 'median' then median(value) filter (iteration >= $warmup)"
    " when 'minimum' then min(value) filter (iteration >= $warmup)"
    " when 'maximum' then max(value) filter (iteration >= $warmup)"
    " else favg(value) filter (iteration >= $warmup) end end",
    "found": "favg(value) filter (iteration between first_iteration and last_iteration or {once})",
}

#: Same as `PlannedCell.summary_of`.
_SUMMARY = "case when i.metric = p.metric or p.summary = 'median' then p.summary else 'mean' end"
_SUMMARISED = "join valid using (record) join planned p using (cell)"

#: The cell's own metric decides where an invocation is steady. Other metrics use its window for equal parameters, or,
#: if they have other parameters (percentiles of pauses next to an elapsed time), its window without parameters.
_FOUND = """
left join steady_windows w on w.record = i.record and w.parameters = case
    when (i.record, coalesce(i.parameters, '')) in (select (record, parameters) from steady_windows)
    then coalesce(i.parameters, '') else '' end
"""

#: Of the valid invocations, those that ran at once with others have no values of their own, and are not among the counted ones.
#: A block is broken if its rest was measured much later (after a crash or a retry). Invocations that ran at once share an attempt.
_COUNTED = """
create temp table valid as
    select l.*, c.cell, l.round < c.discarded_rounds as discarded,
           abs(l.started_utc_ns - median(l.started_utc_ns) over block) > greatest({close_ns}, {close_times} * sum(l.elapsed_ns) over block)
               or (at_once and min(attempt) over block <> max(attempt) over block) as far
    from last l join planned c using (host, cell_id) where status in ('ok', 'perturbed')
    window block as (partition by l.host, l.plan_id, l.round, l.block);
create temp view counted as select * from valid where not at_once
"""

_ONE_NUMBER = """
    select i.record, i.metric, i.unit, coalesce(i.parameters, '') as parameters, {value} as value
    from iterations i join first_iterations using (record) {joined} group by all
"""

#: The two phases of replay compilation: the first iteration, and those after warm-up, distinguished by a parameter.
#: Metrics that are measured once have no phases.
_TWO_PHASES = """
    select record, metric, unit, if(phase = '', given, concat(if(given = '', '{', left(given, -1) || ','),
           '"phase":"', phase, '"}')) as parameters, if(phase = 'stable', stable, first) as value
    from (
        select *, unnest(if(once, [''], ['mix', 'stable'])) as phase from (
            select i.record, i.metric, unit, coalesce(i.parameters, '') as given, {once} as once,
                   any_value(value) filter (iteration = lowest or {once}) as first,
                   favg(value) filter (iteration >= $warmup) as stable
            from iterations i join first_iterations using (record) semi join valid using (record) group by all
        )
    )
"""

#: The time of the process is in every record, but is a series only where it is the compared metric.
_SAMPLES = """
with reduced as (
    select * from ({reduced}) where metric <> '{process_elapsed}'
    union all
    select record, p.metric, 'ns', '', elapsed_ns from valid join planned p using (cell) where p.metric = '{process_elapsed}'
)
select cell, metric, unit, parameters, invocation_id, value, round, block, position, started_utc_ns,
       status = 'perturbed', plan_id, "order" <> 'back-to-back' and not coalesce(far, false), discarded, at_once
from reduced join valid using (record)
where value is not null
order by cell, metric, unit, parameters, started_utc_ns, record
"""
#: columns at the start of a row that distinguish series
_SERIES_COLUMNS = 4
_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True)
class PlannedCell:
    """A cell of the plan. `number` orders all cells by host and place in the plan."""

    number: int
    place: Place
    cell_id: str
    label: str
    metric: str
    better: Better
    planned: int
    #: the `cell_id` that this cell repeats in an A/A test; "" for all others
    twin_of: str = ""
    #: number of rounds before the first that counts
    discarded_rounds: int = 0
    #: statistic of an invocation's repetitions after warm-up, with method `fixed`
    summary: Summary = "mean"

    def summary_of(self, metric: str) -> Summary:
        """Return the statistic of a metric: a median applies to all metrics, min and max only to the cell's own.

        For another metric it is unknown whether its minimum or maximum is undisturbed, so its statistic is the mean.
        """
        return self.summary if metric == self.metric or self.summary == "median" else "mean"


@dataclass(frozen=True)
class UnplannedCell:
    """A cell that has records but is no longer in the plan."""

    host: str
    #: label from the journal; "" if unknown
    label: str
    invocations: int


@dataclass(frozen=True)
class Series:
    """All samples of one cell, metric and set of parameters, in time order."""

    cell: PlannedCell
    metric: str
    unit: str
    #: canonical JSON, "" without parameters
    parameters_text: str
    samples: tuple[Sample, ...]
    perturbed: tuple[Sample, ...]
    #: shape (n,): the values of `samples`
    values: NDArray[np.float64]
    #: block -> value, for samples that were measured interleaved
    by_block: Mapping[BlockKey, float]
    #: the same for `perturbed`, to show their influence
    perturbed_by_block: Mapping[BlockKey, float] = field(default_factory=dict)
    #: samples of the rounds before the first that counts, perturbed or not
    discarded: tuple[Sample, ...] = ()
    #: whether its invocations ran at once with their partners: then only ratios of values in `by_block` mean something, without the
    #: difference between the halves of the host, and it has no samples
    at_once: bool = False
    #: of such invocations, block -> half
    halves: Mapping[BlockKey, int] = field(default_factory=dict)
    #: number of invocations with a value that are not perturbed, also where they are no samples
    count: int = 0
    #: the same with discarded ones
    with_value: int = 0

    @property
    def parameters(self) -> Mapping[str, Scalar]:
        """Return the parameters of the metric."""
        return json.loads(self.parameters_text) if self.parameters_text else {}

    @property
    def all_values(self) -> NDArray[np.float64]:
        """Return all undisturbed values, also those of which only ratios mean something."""
        return np.array(list(self.by_block.values()), dtype=np.float64) if self.at_once else self.values

    @property
    def disturbed(self) -> bool:
        """Return whether too few samples for an interval are undisturbed, but perturbed ones exist."""
        return self.count < LEAST_UNDISTURBED and bool(self.perturbed or self.perturbed_by_block)

    @property
    def with_perturbed(self) -> Series:
        """Return the series with its perturbed samples in every estimate."""
        if not self.perturbed and not self.perturbed_by_block:
            return self
        every = tuple(sorted((*self.samples, *self.perturbed), key=lambda sample: sample.started_utc_ns))
        return replace(
            self,
            samples=every,
            values=np.array([sample.value for sample in every], dtype=np.float64),
            by_block={**self.by_block, **self.perturbed_by_block},
            count=len(every) or len({*self.by_block, *self.perturbed_by_block}),
        )

    @property
    def key(self) -> tuple[int, str, str, str]:
        """Return what distinguishes it from all other series of an answer."""
        return self.cell.number, self.metric, self.unit, self.parameters_text


@dataclass
class Samples:
    """The samples of all records of an experiment."""

    cells: list[PlannedCell] = field(default_factory=list)
    #: cells that an A/A test repeats, with their twins; the twins are in no other answer
    twins: list[tuple[PlannedCell, PlannedCell]] = field(default_factory=list)
    #: canaries, which are in no other answer than `regatta history`
    canaries: list[PlannedCell] = field(default_factory=list)
    #: by cell number
    series: dict[int, list[Series]] = field(default_factory=lambda: defaultdict(list))
    #: by cell number: status -> invocations
    statuses: dict[int, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    failures: list[Failure] = field(default_factory=list)
    #: invocations of planned cells that have a record
    recorded: int = 0
    #: recorded but no longer planned
    unplanned: list[UnplannedCell] = field(default_factory=list)
    #: cell number -> (valid invocations without a steady state, valid invocations), if steady state is detected
    unsteady: dict[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def measured_cells(self) -> list[PlannedCell]:
        """Return all measured cells, including twins and canaries."""
        return self.cells + [twin for _, twin in self.twins] + self.canaries

    def set_apart(self, canary: str) -> None:
        """Take the cells of the canary out of `cells`: they are compared with nothing. `canary`: label; "": none."""
        self.canaries = [cell for cell in self.cells if cell.place.benchmark == canary]
        self.cells = [cell for cell in self.cells if cell.place.benchmark != canary]

    def own(self, cell: PlannedCell) -> list[Series]:
        """Return the series of the cell's own metric, one per set of parameters."""
        return [series for series in self.series.get(cell.number, ()) if series.metric == cell.metric]


def load_samples(connection: duckdb.DuckDBPyConnection, steady: SteadyState) -> Samples:
    """Read the samples of an experiment.

    Args:
        connection: connection to its database (`regatta.store.database.open_database`).

    Returns:
        Series of planned cells only, separate by metric and parameters; perturbed and discarded samples are kept apart.

    Raises:
        duckdb.Error: the database has a different schema.
    """
    connection.execute(_LAST.format(duet=DUET))
    connection.execute(_CELLS)
    result = Samples()
    result.cells = _read_cells(connection)
    if steady.method != "fixed":
        # Only the method `fixed` uses the summary, but a plan may have one with another method.
        result.cells = [replace(cell, summary="mean") for cell in result.cells]
    _read_statuses(connection, result)
    connection.execute(_COUNTED.format(close_ns=CLOSE_NS, close_times=CLOSE_TIMES))
    connection.execute(_ONCE)
    found = steady.method in ("cov", "changepoints")
    if found:
        find_steady_windows(connection, "valid", steady)
        _read_unsteady(connection, result)
    if steady.method == "replay":
        reduced = _TWO_PHASES.replace("{once}", _IS_ONCE)
    else:
        reduced = _one_number(steady, any(cell.summary != "mean" for cell in result.cells))
    query = _SAMPLES.format(reduced=reduced, process_elapsed=PROCESS_ELAPSED)
    parameters = {"warmup": steady.warmup} if steady.method in ("fixed", "replay") else {}
    _fill_series(result, connection.execute(query, parameters))
    _remove_halves(result)
    _set_twins_apart(result)
    return result


def _one_number(steady: SteadyState, summarised: bool) -> str:
    """Return the query. Medians need memory, so only experiments that use them query them."""
    joined = "semi join valid using (record)"
    method: str = steady.method
    if steady.method in ("cov", "changepoints"):
        method, joined = "found", f"{joined} {_FOUND}"
    elif steady.method == "fixed" and summarised:
        method, joined = "summarised", _SUMMARISED
    value = _VALUES[method].format(once=_IS_ONCE, summary=_SUMMARY)
    return _ONE_NUMBER.format(value=value, joined=joined)


def _set_twins_apart(result: Samples) -> None:
    by_id = {(cell.place.host, cell.cell_id): cell for cell in result.cells}
    twins = [cell for cell in result.cells if cell.twin_of]
    result.cells = [cell for cell in result.cells if not cell.twin_of]
    result.twins = [(by_id[twin.place.host, twin.twin_of], twin) for twin in twins]


def _read_cells(connection: duckdb.DuckDBPyConnection) -> list[PlannedCell]:
    rows = connection.execute(
        "select host, platform, benchmark, runtime, collector, modifiers, heap_factor, heap_mib,"
        " cell, cell_id, label, metric, better, planned, twin_of, discarded_rounds, summary from planned order by cell"
    ).fetchall()
    found = []
    for host, platform, benchmark, runtime, collector, modifiers, factor, mib, number, *rest in rows:
        place = Place(host, platform, benchmark, runtime, collector, modifiers, Heap(factor, mib))
        found.append(PlannedCell(number, place, *rest))
    return found


def _read_statuses(connection: duckdb.DuckDBPyConnection, result: Samples) -> None:
    for number, status, count in connection.execute(
        "select cell, status, count(*) from last join planned using (host, cell_id) group by all order by cell, status"
    ).fetchall():
        result.statuses[number][status] = count
        result.recorded += count
    result.unplanned = [
        UnplannedCell(*row)
        for row in connection.execute(
            "select host, coalesce(any_value(label), ''), count(*) from last anti join planned using (host, cell_id)"
            " left join unplanned_cells using (host, cell_id) group by host, cell_id order by host, 2, cell_id"
        ).fetchall()
    ]
    for number, status, reason, count, ids in connection.execute(
        "select cell, status, reason, count(*), list(invocation_id order by started_utc_ns, invocation_id)"
        " from last join planned using (host, cell_id) where list_contains($failures, status)"
        " group by all order by cell, status, reason",
        {"failures": list(FAILURES)},
    ).fetchall():
        cell = result.cells[number]
        result.failures.append(
            Failure(cell.cell_id, cell.label, cell.place.host, status, reason, count, tuple(ids))
        )


def _read_unsteady(connection: duckdb.DuckDBPyConnection, result: Samples) -> None:
    for number, missing, count in connection.execute(
        "select cell, count(*) filter (not reached), count(*) from ("
        " select cell, record, bool_and(first_iteration is not null) as reached"
        " from steady_windows join valid using (record) where status = 'ok' and not discarded group by all"
        ") group by cell order by cell"
    ).fetchall():
        result.unsteady[number] = (missing, count)


def _fill_series(result: Samples, found: duckdb.DuckDBPyConnection) -> None:
    shared: dict[Any, Any] = {}
    for (number, metric, unit, parameters), rows in groupby(_rows(found), lambda row: row[:_SERIES_COLUMNS]):
        series = _one_series(result.cells[number], metric, unit, parameters, rows, shared)
        result.series[number].append(series)
    for number, many in result.series.items():
        primary = result.cells[number].metric
        many.sort(key=lambda s: (s.metric != primary, s.metric, s.unit, _in_order(s.parameters)))


def _remove_halves(result: Samples) -> None:
    """Remove the difference between the halves of a host from the ratios of alternatives that ran at once."""
    groups: dict[tuple[str, int], dict[int, None]] = {}
    for number, many in result.series.items():
        for series in many:
            for plan_id, _, group in series.by_block if series.at_once else ():
                groups.setdefault((plan_id, group), {})[number] = None
    # Under several plans, both can have blocks in common more than once.
    for a, b in {tuple(sorted(numbers)) for numbers in groups.values() if len(numbers) == _BOTH}:
        differ = levels.differing(result.cells[a].place.levels, result.cells[b].place.levels)
        places = [
            {
                (s.metric, s.unit, shared_parameters(s.parameters_text, differ)): place
                for place, s in enumerate(result.series[n])
            }
            for n in (a, b)
        ]
        for key in places[0].keys() & places[1].keys():
            _without_halves(result, (a, places[0][key]), (b, places[1][key]))


def _without_halves(result: Samples, first: tuple[int, int], second: tuple[int, int]) -> None:
    a, b = (result.series[number][place] for number, place in (first, second))
    common = sorted((block for block in a.by_block if block in b.by_block), key=lambda block: block[1])
    values = [(a.by_block[block], b.by_block[block]) for block in common]
    if not all(math.isfinite(value) and value > 0.0 for both in values for value in both):
        return
    logs = [math.log(left) - math.log(right) for left, right in values]
    found = without_halves(logs, [1 if a.halves[block] == 0 else -1 for block in common])
    moved = dict(
        zip(common, (math.exp((new - old) / 2.0) for new, old in zip(found, logs, strict=True)), strict=True)
    )
    for (number, place), series, sign in ((first, a, 1), (second, b, -1)):
        by_block = {block: value * moved.get(block, 1.0) ** sign for block, value in series.by_block.items()}
        result.series[number][place] = replace(series, by_block=by_block)


def _rows(found: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    """Return rows as they are needed: all columns of a large experiment together need gigabytes."""
    while rows := found.fetchmany(_ROWS_AT_ONCE):
        yield from rows


def _one_series(
    cell: PlannedCell,
    metric: str,
    unit: str,
    parameters: str,
    rows: Iterable[tuple[Any, ...]],
    shared: dict[Any, Any],
) -> Series:
    """Collect a series. `shared`: ids and blocks of all series, so that equal ones are in memory once."""
    samples: list[Sample] = []
    perturbed: list[Sample] = []
    discarded: list[Sample] = []
    by_block: dict[BlockKey, float] = {}
    perturbed_by_block: dict[BlockKey, float] = {}
    at_once, count, with_value = False, 0, 0
    halves: dict[BlockKey, int] = {}
    for row in rows:
        invocation_id, *rest, plan_id, in_block, is_discarded, at_once = row[_SERIES_COLUMNS:]
        sample = Sample(shared.setdefault(invocation_id, invocation_id), *rest)
        if not at_once:
            (discarded if is_discarded else perturbed if sample.perturbed else samples).append(sample)
        with_value += not sample.perturbed
        if is_discarded:
            continue
        count += not sample.perturbed
        # Back to back, the invocations of one round are hours apart and form no block.
        if in_block:
            blocks = perturbed_by_block if sample.perturbed else by_block
            block = (plan_id, sample.round, sample.block)
            blocks[shared.setdefault(block, block)] = sample.value
            if at_once and not sample.perturbed:
                halves[block] = sample.position
    return Series(
        cell,
        metric,
        unit,
        parameters,
        samples=tuple(samples),
        perturbed=tuple(perturbed),
        values=np.array([sample.value for sample in samples], dtype=np.float64),
        by_block=by_block,
        perturbed_by_block=perturbed_by_block,
        discarded=tuple(discarded),
        at_once=at_once,
        count=count,
        with_value=with_value,
        halves=halves,
    )


def _in_order(parameters: Mapping[str, Scalar]) -> list[tuple[str, int, float, str]]:
    """Return a natural sort key: numbers by size, text alphabetically."""
    return [
        (name, 0, float(value), "") if isinstance(value, int | float) else (name, 1, 0.0, value)
        for name, value in sorted(parameters.items())
    ]

"""Estimate every series: mean and interval, or the reason for an undefined value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from regatta.answers.spine.facts import Facts
from regatta.answers.spine.result import CellAnswer
from regatta.answers.spine.samples import PlannedCell, Samples, Series
from regatta.answers.spine.words import counted, listed
from regatta.host.units import UNITS, is_positive
from regatta.host.values.experiment import Better
from regatta.stats.dispersion import dispersion
from regatta.stats.estimate import undefined
from regatta.stats.intervals import GEORGES_2007, mean_interval

#: why an alternative has no value of its own
BESIDE_ITS_PARTNER = "ran at once with its partner (order: duet), so only their ratio is known"


def cell_answers(samples: Samples, facts: Facts, method: str) -> list[CellAnswer]:
    """Estimate the mean of every series.

    Args:
        method: `georges2007`: normal distribution from 30 values on, as in the paper; else Student's t.

    Returns:
        Series in plan order, the cell's own metric first. A cell without values of it has one entry with the reason.
    """
    name = method if method == GEORGES_2007 else "t"
    units = {
        (series.cell.place.benchmark, series.metric): series.unit
        for many in samples.series.values()
        for series in many
    }
    answers = []
    for cell in samples.cells:
        many = samples.series.get(cell.number, [])
        statuses = samples.statuses.get(cell.number, {})
        unsteady = samples.unsteady.get(cell.number, (0, 0))
        if not any(series.metric == cell.metric for series in many):
            answers.append(
                _without_values(
                    cell,
                    statuses,
                    units.get((cell.place.benchmark, cell.metric), ""),
                    facts.level,
                    _why_nothing(statuses, unsteady),
                )
            )
        answers += [_with_values(series, statuses, facts.level, name, unsteady) for series in many]
    return answers


def first_of_each_cell(cells: Sequence[CellAnswer]) -> list[CellAnswer]:
    """Return the first, compared series of each cell: others of the same processes are not independent of it."""
    first = {(cell.place.host, cell.cell_id): cell for cell in reversed(cells)}
    return list(reversed(first.values()))


def _with_values(
    series: Series, statuses: dict[str, int], level: float, method: str, unsteady: tuple[int, int]
) -> CellAnswer:
    shown = series.with_perturbed if series.disturbed else series
    estimate = mean_interval(shown.values, level, method, is_positive(series.unit))
    if series.at_once:
        reason = BESIDE_ITS_PARTNER if shown.count else _why_nothing(statuses, unsteady)
        estimate = undefined(series.count, level, method, reason)
    elif series.disturbed:
        estimate = estimate.disturbed()
    if not series.at_once and not shown.samples:
        estimate = replace(estimate, reason=_why_nothing(statuses, unsteady, bool(series.discarded)))
    empty = _without_values(series.cell, statuses, series.unit, level, estimate.reason)
    return replace(
        empty,
        metric=series.metric,
        parameters=series.parameters,
        better=_better(series),
        estimate=estimate,
        samples=series.samples,
        perturbed=series.perturbed,
        discarded=series.discarded,
        summary=series.cell.summary_of(series.metric),
        dispersion=dispersion(shown.values),
    )


def _better(series: Series) -> Better:
    """Return the better direction: a cell's own metric states it; else more for bandwidths and rates, less for the rest."""
    if series.metric == series.cell.metric:
        return series.cell.better
    return "higher" if UNITS.get(series.unit, ("", 1.0))[0] in ("bandwidth", "rate") else "lower"


def _without_values(
    cell: PlannedCell, statuses: dict[str, int], unit: str, level: float, reason: str
) -> CellAnswer:
    return CellAnswer(
        cell_id=cell.cell_id,
        place=cell.place,
        metric=cell.metric,
        unit=unit,
        better=cell.better,
        parameters={},
        estimate=undefined(0, level, "t", reason),
        samples=(),
        perturbed=(),
        statuses=dict(statuses),
        planned=cell.planned,
        summary=cell.summary,
    )


def _why_nothing(statuses: dict[str, int], unsteady: tuple[int, int], discarded: bool = False) -> str:
    total = sum(statuses.values())
    if not total:
        return "not measured yet"
    if unsteady[0] and unsteady[0] == unsteady[1]:
        return f"no steady state in any of {counted(unsteady[1], 'invocation')}"
    if discarded:
        return "only discarded rounds are measured"
    if statuses.get("ok"):
        return f"no value after warm-up in any of {counted(statuses['ok'], 'valid invocation')}"
    each = listed([f"{count} {status}" for status, count in sorted(statuses.items())])
    return f"no valid invocation among {total} ({each})"

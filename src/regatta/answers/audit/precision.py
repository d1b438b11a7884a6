"""Compute how narrow each interval becomes with every invocation, and how many invocations a given width needs."""

from __future__ import annotations

import math
from collections.abc import Iterator

from regatta.answers.audit.result import Precision
from regatta.answers.spine.result import CellAnswer
from regatta.answers.spine.samples import Samples, Series
from regatta.host.units import is_positive
from regatta.stats.intervals import mean_interval
from regatta.stats.precision import interval_widths, invocations_needed, invocations_until

#: widths of the whole interval in percent of the mean: that of the paper's figure 17, and a stricter one
WIDTHS_PERCENT = (2.0, 1.0)
#: maximum number of invocations, as in figure 17
MAXIMUM = 30


def precisions_of(samples: Samples, level: float) -> Iterator[Precision]:
    """Compute the precision of every series of the compared metric, in plan order."""
    for cell in samples.cells:
        for series in samples.own(cell):
            if series.samples:
                yield _precision(series, level)


def _precision(series: Series, level: float) -> Precision:
    widths = interval_widths(series.values, level)
    mean = float(series.values.mean())
    spread = float(series.values.std(ddof=1)) if len(series.values) > 1 else math.nan
    variation = spread / mean if mean > 0 and spread > 0 else math.nan
    return Precision(
        cell=answer_of(series, level),
        widths_percent=tuple((widths * 100.0).tolist()),
        needed=tuple(
            (
                width,
                invocations_until(widths, width / 100.0),
                invocations_needed(variation, width / 100.0, level, MAXIMUM),
            )
            for width in WIDTHS_PERCENT
        ),
    )


def answer_of(series: Series, level: float) -> CellAnswer:
    """Convert a series to the form that the report's figures take."""
    cell = series.cell
    return CellAnswer(
        cell_id=cell.cell_id,
        place=cell.place,
        metric=series.metric,
        unit=series.unit,
        better=cell.better,
        parameters=series.parameters,
        estimate=mean_interval(series.values, level, positive=is_positive(series.unit)),
        samples=series.samples,
        perturbed=series.perturbed,
        statuses={},
        planned=cell.planned,
    )

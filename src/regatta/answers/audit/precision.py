"""How narrow each cell's interval became with every invocation, and how many are needed to make it narrow enough."""

from __future__ import annotations

import math
from collections.abc import Iterator

from regatta.answers.audit.result import Precision
from regatta.answers.result import CellAnswer
from regatta.answers.samples import Samples, Series
from regatta.host.units import is_positive
from regatta.stats.intervals import mean_interval
from regatta.stats.precision import interval_widths, invocations_needed, invocations_until

#: widths of the whole interval in per cent of the mean that the paper's figure 17 asks for, and one that is stricter
WIDTHS_PERCENT = (2.0, 1.0)
#: invocations at most, as in figure 17
MAXIMUM = 30


def precisions_of(samples: Samples, level: float) -> Iterator[Precision]:
    """The precision of every series of the metric that is compared, in the order of the plan."""
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
    """A series as the report's figures take it."""
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

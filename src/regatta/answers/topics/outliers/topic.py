"""The topic of outliers: listed, kept, and their influence on every comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.comparisons import compare_pairs, contrasts_of
from regatta.answers.spine.context import Context
from regatta.answers.spine.names import Names
from regatta.answers.spine.pairs import comparison_groups, pairs_of
from regatta.answers.spine.result import Comparison
from regatta.answers.spine.samples import BlockKey, PlannedCell, Samples, Series
from regatta.answers.spine.verdicts import shows_difference
from regatta.answers.spine.words import counted
from regatta.figures.section import Column, Section, Table, table_of
from regatta.figures.text import show_ci, show_interval, show_quantity, show_ratio
from regatta.host.values.experiment import Scalar
from regatta.stats.estimate import Interval
from regatta.stats.outliers import far_out


@dataclass(frozen=True)
class FarOut:
    """An outlier of its cell. It is in every estimate."""

    host: str
    cell_id: str
    cell: str
    invocation_id: str
    metric: str
    parameters: Mapping[str, Scalar]
    value: float
    unit: str
    #: value relative to the median of its cell
    times_median: float


@dataclass(frozen=True)
class Sensitivity:
    """One comparison as is, without outliers, and with perturbed values: ratios a/b."""

    host: str
    a: str
    b: str
    place: str
    ratio: Interval
    without_far_out: Interval
    with_perturbed: Interval
    #: whether significance or direction changes in either variant
    changes: bool


@dataclass(frozen=True)
class Outliers:
    """All outliers of an experiment. `comparisons`: only those with an outlier or perturbed value on either side."""

    far_out: tuple[FarOut, ...] = ()
    comparisons: tuple[Sensitivity, ...] = ()


def find_outliers(context: Context) -> Outliers:
    """Find the outliers of each cell, and test how they influence the comparisons.

    Returns:
        Outliers of the cells' own metric, in plan order, and the comparisons with any outlier or perturbed value on
        either side.
    """
    samples = context.samples
    flagged: list[FarOut] = []
    touched: set[int] = set()
    for cell in samples.cells:
        for series in samples.own(cell):
            found = _far_out(series)
            flagged += found
            if found or series.perturbed:
                touched.add(cell.number)
    return Outliers(tuple(flagged), tuple(_sensitivities(context, touched)))


def outlier_words(outliers: Outliers, names: Names) -> tuple[str, ...]:
    """Describe the outliers; empty without any."""
    sentences = []
    if outliers.far_out:
        where = len({(one.host, one.cell_id) for one in outliers.far_out})
        n = len(outliers.far_out)
        sentences.append(
            f"{counted(n, 'outlier')} in {counted(where, 'cell')} (beyond Tukey's outer fences), included in all estimates; "
            "`--outliers` shows the comparisons without outliers"
        )
    for one in outliers.comparisons:
        if one.changes:
            sentences.append(f"{one.place}: the conclusion depends on outliers or perturbed values")
    # A comparison without an interval has no conclusion that could change.
    judged = [one for one in outliers.comparisons if not np.isnan(one.ratio.low)]
    if judged and not any(one.changes for one in outliers.comparisons):
        sentences.append(
            "conclusions are robust: excluding outliers or including perturbed values changes none of the "
            f"{counted(len(judged), 'affected comparison')}"
        )
    return tuple(sentences)


def _far_out(series: Series) -> list[FarOut]:
    median = float(np.median(series.values)) if len(series.values) else 0.0
    return [
        FarOut(
            host=series.cell.place.host,
            cell_id=series.cell.cell_id,
            cell=series.cell.label,
            invocation_id=sample.invocation_id,
            metric=series.metric,
            parameters=series.parameters,
            value=sample.value,
            unit=series.unit,
            times_median=sample.value / median if median else float("nan"),
        )
        for sample, out in zip(series.samples, far_out(series.values), strict=True)
        if out
    ]


def _sensitivities(context: Context, touched: set[int]) -> list[Sensitivity]:
    samples, names = context.samples, context.names
    groups = [
        group
        for group in comparison_groups(samples.cells, context.compared)
        if any(cell.number in touched for cell in group)
    ]
    concerned = replace(samples, cells=[cell for group in groups for cell in group])
    versions = [
        {_identity(c): c for c in _compared(version, context)}
        for version in (
            concerned,
            _with_series(concerned, _without_far_out),
            _with_series(concerned, lambda series: series.with_perturbed),
        )
    ]
    by_id: Mapping[tuple[str, str], PlannedCell] = {(c.place.host, c.cell_id): c for c in concerned.cells}
    found = []
    for key, plain in versions[0].items():
        if not {by_id[plain.place.host, side].number for side in (plain.a, plain.b)} & touched:
            continue
        ratio, without, with_them = (version[key].ratio for version in versions)
        found.append(
            Sensitivity(
                plain.place.host,
                plain.a,
                plain.b,
                f"{plain.a_name} and {plain.b_name} on {names.place(by_id[plain.place.host, plain.a], plain.parameters)}",
                ratio,
                without,
                with_them,
                changes=len({_verdict(version[key]) for version in versions}) > 1,
            )
        )
    return found


def _compared(samples: Samples, context: Context) -> list[Comparison]:
    """Compare every cell with its baseline, unadjusted."""
    pairs, _ = pairs_of(samples, context.baseline, context.compared)
    level = context.facts.level
    contrasts = contrasts_of(pairs, level, context.stops)
    return compare_pairs(pairs, contrasts, context.names)[0]


def _identity(of: Comparison) -> tuple[str, str, str, str]:
    return of.place.host, of.a, of.b, str(sorted(of.parameters.items()))


def _verdict(of: Comparison) -> tuple[bool, bool]:
    """Return whether the difference is significant, and its direction."""
    return shows_difference(of.ratio), of.ratio.point < 1.0 if shows_difference(of.ratio) else False


def _with_series(samples: Samples, change: Callable[[Series], Series]) -> Samples:
    wanted = {cell.number for cell in samples.cells}
    return replace(
        samples,
        series={
            number: [change(series) for series in many]
            for number, many in samples.series.items()
            if number in wanted
        },
    )


def _without_far_out(series: Series) -> Series:
    keep = ~far_out(series.values)
    if keep.all():
        return series
    kept = tuple(sample for sample, stays in zip(series.samples, keep, strict=True) if stays)
    blocks = {(sample.round, sample.block) for sample in kept}
    by_block: dict[BlockKey, float] = {
        key: value for key, value in series.by_block.items() if (key[1], key[2]) in blocks
    }
    return replace(series, samples=kept, values=series.values[keep], by_block=by_block)


def outliers_section(outliers: Outliers, view: View) -> Section | None:
    """Explain how to read them; None without outliers and perturbed values."""
    if not outliers.far_out and not outliers.comparisons:
        return None
    return Section(
        "outliers",
        words="Outliers are values beyond Tukey's outer fences. They are included in all estimates; perturbed invocations are "
        "excluded, except from disturbed estimates. The sensitivity table shows each ratio without outliers and with perturbed invocations.",
    )


def outliers_tables(outliers: Outliers, view: View) -> list[Table]:
    """Return the outliers, and the comparisons with and without them."""
    values: list[Column[FarOut]] = [
        Column("cell", lambda one: one.cell),
        Column("invocation", lambda one: one.invocation_id),
        Column("metric", lambda one: one.metric),
        Column("value", lambda one: show_quantity(one.value, one.unit, 4), numeric=True),
        Column("value / median", lambda one: show_ratio(one.times_median), numeric=True),
        Column("host", lambda one: view.host(one.host)),
    ]
    ratios: list[Column[Sensitivity]] = [
        Column("comparison", lambda one: one.place),
        Column("ratio", lambda one: _ratio(one.ratio)),
        Column("without outliers", lambda one: _ratio(one.without_far_out)),
        Column("with perturbed", lambda one: _ratio(one.with_perturbed)),
        Column("same conclusion", lambda one: "no" if one.changes else "yes"),
        Column("host", lambda one: view.host(one.host)),
    ]
    return [
        table_of("Outliers", outliers.far_out, values),
        table_of("Sensitivity of ratios", outliers.comparisons, ratios),
    ]


def _ratio(ratio: Interval) -> str:
    return show_interval(ratio) if show_ci(ratio) else ratio.reason


OUTLIERS: Topic[Outliers] = Topic(
    "outliers",
    title="Outliers",
    empty=Outliers(),
    compute=find_outliers,
    words=Words(150, "Outliers", lambda outliers, context: outlier_words(outliers, context.names)),
    document=Document(130, "outliers"),
    section=outliers_section,
    tables=outliers_tables,
)

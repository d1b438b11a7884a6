"""Every cell with its baseline: the ratio paired by block where the blocks are the same, else Welch's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from regatta.analysis.baseline import pairs_with_baseline
from regatta.analysis.names import Names, configuration, short_names
from regatta.analysis.samples import PlannedCell, Samples, Series
from regatta.analysis.words import bound_words, compared, counted, shows_difference
from regatta.model.answer import Comparison, Estimate
from regatta.model.experiment import Baseline
from regatta.stats.estimate import Contrast, Interval, undefined
from regatta.stats.ratios import PAIRED, WELCH, paired_log_ratio, welch_log_ratio

#: fewer pairs than this have no spread
_LEAST_PAIRS = 2


def estimate_of(interval: Interval) -> Estimate:
    """The model's shape of what `regatta.stats` estimated."""
    return Estimate(
        interval.n,
        interval.point,
        interval.low,
        interval.high,
        interval.level,
        interval.method,
        interval.reason,
    )


def comparison_groups(cells: Sequence[PlannedCell]) -> list[list[PlannedCell]]:
    """Cells that may be compared: one host, benchmark, heap and metric; in the order of the plan."""
    groups: dict[tuple[object, ...], list[PlannedCell]] = {}
    for cell in cells:
        groups.setdefault((cell.host, cell.benchmark, cell.heap, cell.metric), []).append(cell)
    return list(groups.values())


def compare_all(
    samples: Samples, baseline: Baseline, level: float, names: Names
) -> tuple[list[Comparison], list[str]]:
    """Compare every cell with its baseline on its own metric, each set of parameters apart.

    Args:
        samples: of the experiment.
        baseline: see `pairs_with_baseline`.
        level: confidence of each interval by itself, between 0 and 1.
        names: for the sentences.

    Returns:
        The comparisons, in the order of the plan, and warnings of those that are weaker than they look.
    """
    comparisons: list[Comparison] = []
    apart: Counter[str] = Counter()
    partial = lacking = 0
    for group in comparison_groups(samples.cells):
        pairs, without = pairs_with_baseline(group, baseline)
        lacking += len(without)
        for cell, base in pairs:
            for a, b in _matching(samples, cell, base):
                contrast, why_apart, left_out = _contrast(a, b, level)
                if why_apart:
                    apart[why_apart] += 1
                partial += left_out > 0
                comparisons.append(_comparison(cell, base, a, b, contrast, names))
    warnings = [
        f"{counted(count, 'comparison')} not interleaved: {why} ({WELCH})"
        for why, count in sorted(apart.items())
    ]
    if partial:
        warnings.append(
            f"{counted(partial, 'comparison')} left out invocations whose block lacks the other side ({PAIRED})"
        )
    if lacking:
        warnings.append(
            f"{counted(lacking, 'cell')} had nothing to be compared with: the baseline is not there"
        )
    return comparisons, warnings


def _matching(
    samples: Samples, cell: PlannedCell, base: PlannedCell
) -> Iterator[tuple[Series | None, Series | None]]:
    """Series of the two cells' own metric with equal unit and parameters; None where a side has none."""
    sides: list[dict[tuple[str, str], Series]] = [
        {(s.unit, s.parameters_text): s for s in samples.series.get(c.number, ()) if s.metric == c.metric}
        for c in (cell, base)
    ]
    keys = list(dict.fromkeys([*sides[0], *sides[1]]))
    if not keys:
        yield None, None
    for key in keys:
        yield sides[0].get(key), sides[1].get(key)


def _contrast(a: Series | None, b: Series | None, level: float) -> tuple[Contrast, str, int]:
    """The ratio; why it is not paired ("" when it is, or when there is nothing to pair); values left out of the pairs."""
    if a is None or not a.samples:
        return _no_values("the alternative", level), "", 0
    if b is None or not b.samples:
        return _no_values("the baseline", level), "", 0
    common = [key for key in a.by_block if key in b.by_block]
    if len(common) >= _LEAST_PAIRS:
        ratio = paired_log_ratio(
            [a.by_block[key] for key in common], [b.by_block[key] for key in common], level
        )
        return ratio, "", len(a.samples) + len(b.samples) - 2 * len(common)
    return welch_log_ratio(a.values, b.values, level), _why_apart(a, b), 0


def _no_values(side: str, level: float) -> Contrast:
    return Contrast(undefined(0, level, PAIRED, f"{side} has no valid invocation"), math.nan)


def _why_apart(a: Series, b: Series) -> str:
    if not a.by_block and not b.by_block:
        return "measured back to back"
    if not {key[0] for key in a.by_block} & {key[0] for key in b.by_block}:
        return "measured under different plans"
    return "fewer than two blocks hold both sides"


def _comparison(
    cell: PlannedCell, base: PlannedCell, a: Series | None, b: Series | None, contrast: Contrast, names: Names
) -> Comparison:
    series = a or b
    parameters = series.parameters if series else {}
    ratio = estimate_of(contrast.interval)
    a_name, b_name, differ = short_names(cell, base)
    place = names.place(cell, parameters) + names.within(cell, differ)
    many = counted(ratio.n, "block" if ratio.method == PAIRED else "invocation")
    if math.isnan(ratio.low):
        words = f"{a_name} and {b_name} cannot be compared on {place}: {ratio.reason}"
    elif shows_difference(ratio):
        unit = series.unit if series else ""
        what = compared(a_name, b_name, ratio, cell.metric, unit, cell.better)
        words = f"{what} on {place}, {many}, on {names.host(cell)}"
    else:
        words = (
            f"no difference shown between {a_name} and {b_name} on {place}, {many}, on {names.host(cell)};"
            f" {bound_words([ratio])}"
        )
    return Comparison(
        a=cell.cell_id,
        b=base.cell_id,
        a_name=configuration(cell),
        b_name=configuration(base),
        host=cell.host,
        benchmark=cell.benchmark,
        heap_factor=cell.heap_factor,
        heap_mib=cell.heap_mib,
        metric=cell.metric,
        parameters=parameters,
        ratio=ratio,
        p=contrast.p,
        words=words,
    )

"""Intervals as horizontal stacked bars, one bar per estimate.

A significant difference has a solid part, which lies in every value of the interval, and a faint part up to its far end. All
others have only faint parts. A ratio that was compared has its verdict in the field `significant`, which is adjusted for the
other comparisons; of other estimates, the interval alone decides. A mean has a solid part from the lower end to the mean and a
faint part up to the upper end, over a transparent base. An estimate without an interval is a grey bar.

InfluxQL has no `max`: max(x, 0) is (x + abs(x)) / 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grafana_foundation_sdk.models.common import StackingMode

from dashboards.influxql import SERIES, UNITS, Query, by_unit, newest, without, without_interval
from dashboards.pieces import BLUE, GREY, ORANGE, PanelBuilder, arranged, bars, colour, hidden_from, setting

#: part of a bar -> colour, opacity in %
_DIFFERENCE = {
    f"{side}, {how}": (shade, opacity)
    for side, shade in (("higher", ORANGE), ("lower", BLUE))
    for how, opacity in (("certain", 90), ("possible", 30))
}
_WITHOUT = "without interval"
#: verdicts on ratios. One without an interval has an empty verdict.
_SIGNIFICANT, _NOT_SIGNIFICANT = "\"significant\" = 'yes'", "\"significant\" <> 'yes'"
#: least end of the axis of differences: small ones look small, and most panels of a dashboard have the same axis
_LEAST = 0.2


def difference_bars(
    title: str,
    how: str,
    empty: str,
    where: str,
    tags: Sequence[str] = SERIES,
    x: str = "short",
    *,
    judged: bool = True,
) -> PanelBuilder:
    """Return the intervals of ratios less 1, in %: 0 is the baseline.

    Args:
        title, how, empty: see `common_parts`.
        where: conditions; they choose ratios.
        tags: tags that distinguish the estimates.
        x: the field that names the bars.
        judged: whether the ratios have verdicts. Kinds without comparisons have none.
    """
    verdicts = (_SIGNIFICANT, _NOT_SIGNIFICANT) if judged else ("",)
    queries = [_differences(where, tags, x, verdict) for verdict in verdicts]
    # An undefined ratio has 0 points.
    alone = Query(without_interval('(last("point") - count("point"))', _WITHOUT, (x, "place"), where, tags))
    how = f"{how} The axis spans at least ±{_LEAST:.0%}."
    panel = _stacked(title, how, empty, [*queries, alone], x, "percentunit", ("low", "difference", "high"))
    panel.axis_soft_min(-_LEAST).axis_soft_max(_LEAST)
    parts = {**_DIFFERENCE, _WITHOUT: (GREY, 80)}
    for name, (shade, opacity) in parts.items():
        panel.override_by_name(name, [*_part(shade, opacity), hidden_from(tooltip=True)])
    return arranged(panel, (x, *parts, "low", "difference", "high"), order="place", merged=True)


def _differences(where: str, tags: Sequence[str], x: str, verdict: str) -> Query:
    """Return the query of the differences with this verdict; "": the interval alone decides."""
    low, high = '("low" - 1)', '("high" - 1)'
    above, below = _positive(low), _negative(high)
    if verdict == _NOT_SIGNIFICANT:
        above = below = '("low" - "low")'
    columns = (
        (above, "higher, certain"),
        (f"{_positive(high)} - {above}", "higher, possible"),
        (below, "lower, certain"),
        (f"{_negative(low)} - {below}", "lower, possible"),
        (low, "low"),
        ('"point" - 1', "difference"),
        (high, "high"),
        x,
        "place",
    )
    return Query(newest("estimate", columns, where, tags, having=verdict))


def mean_bars(
    title: str, how: str, empty: str, where: str, *, x: str = "short", unit: str = ""
) -> PanelBuilder:
    """Return the intervals of means.

    Args:
        title, how, empty: see `common_parts`.
        where: conditions; they choose means of one metric.
        x: the field or tag that names the bars.
        unit: of Grafana; "": the unit of the estimates.
    """
    base = _positive('"low"')
    more = ("place",) if x in SERIES else (x, "place")
    units = {"": unit} if unit else dict(UNITS.values())
    by_own_unit = [(where, "")] if unit else by_unit(where)
    parts = {"base": (BLUE, 0), "low to mean": (BLUE, 90), "mean to high": (BLUE, 40), _WITHOUT: (GREY, 80)}
    queries = []
    for of_unit, ending in by_own_unit:
        columns = (
            (base, f"base{ending}"),
            (f'"point" - {base}', f"low to mean{ending}"),
            ('"high" - "point"', f"mean to high{ending}"),
            ("low", f"low{ending}"),
            ("point", f"mean{ending}"),
            ("high", f"high{ending}"),
            *more,
        )
        queries.append(Query(newest("estimate", columns, of_unit)))
    for of_unit, ending in by_own_unit:
        alone = without_interval('last("point")', f"{_WITHOUT}{ending}", more, of_unit, SERIES)
        queries.append(Query(alone))
    values = tuple(f"{name}{ending}" for ending in units for name in ("low", "mean", "high"))
    panel = _stacked(title, how, empty, queries, x, unit or "short", values)
    for ending, own in units.items():
        for name, (shade, opacity) in parts.items():
            hidden = hidden_from(tooltip=True, legend=name == "base")
            panel.override_by_name(f"{name}{ending}", [*_part(shade, opacity), hidden, setting("unit", own)])
        for name in ("low", "mean", "high"):
            panel.override_by_name(f"{name}{ending}", [setting("unit", own)])
    shown_parts = tuple(f"{name}{ending}" for ending in units for name in parts)
    return arranged(panel, (x, *shown_parts, *values), order="place", merged=True)


def percentile_bars(
    title: str,
    how: str,
    empty: str,
    wheres: Mapping[str, str],
    x: str,
    *,
    shorten: str = "",
    shown: str = "$1",
) -> PanelBuilder:
    """Return times as bars on a logarithmic axis. `wheres`: name of a percentile -> conditions; the first one sorts the rows."""
    # The places of percentiles differ.
    first = ("place",) if x in SERIES else (x, "place")
    queries = [
        Query(
            newest("estimate", (("point", name), *(() if queried else first)), where, without("parameters"))
        )
        for queried, (name, where) in enumerate(wheres.items())
    ]
    panel = bars(title, how, empty, queries, x, "ns", shorten=shorten, shown=shown, log=True)
    return arranged(panel, (x, *wheres), order="place", merged=True)


def _stacked(
    title: str, how: str, empty: str, queries: Sequence[Query], x: str, unit: str, values: Sequence[str]
) -> PanelBuilder:
    """Return stacked bars. `values`: columns that only the tooltip shows."""
    how = f"{how} `(disturbed)` after a name: measured on a busy machine, no conclusion."
    panel = bars(title, how, empty, queries, x, unit, wide=True)
    panel.stacking(StackingMode.NORMAL)
    for name in values:
        panel.override_by_name(name, [hidden_from(viz=True, legend=True)])
    return panel


def _part(shade: str, opacity: int) -> list[object]:
    return [colour(shade), setting("custom.fillOpacity", opacity), setting("custom.lineWidth", 0)]


def _positive(value: str) -> str:
    return f"({value} + abs({value})) / 2"


def _negative(value: str) -> str:
    return f"({value} - abs({value})) / 2"

"""The section of platforms: a ranking over all benchmarks, and the ratio of each benchmark."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.answers.kit.ranking import ranked
from regatta.answers.kit.ratio_rows import RatioFrame, RatioRow, band_words, ratio_figures, ratio_span
from regatta.answers.kit.view import View
from regatta.answers.spine.parts import shared_heap
from regatta.answers.topics.platforms.all_pairs import AllPairs
from regatta.answers.topics.platforms.compute import PlatformMean, PlatformRatio, Platforms, alone, rankings
from regatta.answers.topics.platforms.words import counted_hosts
from regatta.figures.axes import Group
from regatta.figures.section import Section, Table
from regatta.figures.text import (
    joined,
    parameters_text,
    show_heap,
    show_interval,
    show_p,
    show_percent,
    show_significance,
)


def platforms_section(found: Platforms, view: View) -> Section | None:
    """Return forest plots of the ratios, one group per pair of platforms and configuration; None without ratios."""
    if not found.ratios:
        return None
    groups: dict[str, tuple[list[PlatformRatio], list[PlatformMean]]] = {}
    for one in found.ratios:
        groups.setdefault(_group_name(one), ([], []))[0].append(one)
    for mean in found.means:
        groups.setdefault(_group_name(mean), ([], []))[1].append(mean)
    kind = "platforms" if found.by == "platform" else "hosts"
    return Section(
        "platforms",
        words=f"Ratios of {kind}. Hosts share no blocks, so the samples are independent: the intervals are wider than those of "
        "comparisons on one host, and a change of the conditions between the times of measurement is part of the ratio. "
        "The first interval is for exactly these hosts. The second is for similar hosts, and includes the variance between "
        f"hosts.{band_words(view.answer.theta_percent)}",
        groups=[group for name, own in groups.items() if (group := _group(name, *own, view)) is not None],
    )


def _group_name(one: PlatformRatio | PlatformMean) -> str:
    return joined(f"{one.a} / {one.b}", one.place.configuration, show_heap(one.place.heap.asked, "heap "))


def _group(
    name: str, ratios: Sequence[PlatformRatio], means: Sequence[PlatformMean], view: View
) -> Group | None:
    rows = [
        RatioRow(
            joined(one.place.benchmark, parameters_text(one.parameters)), one.these, one.p, "@c0", "circle",
            (one.place.benchmark, f"{counted_hosts(one.hosts_a)} / {counted_hosts(one.hosts_b)}"),
        )
        for one in ratios
    ]  # fmt: skip
    for mean in means:
        n = len(mean.benchmarks)
        rows.append(
            RatioRow(f"these {n} benchmarks", mean.these, math.nan, "@ink", "diamond", ("geometric mean",))
        )
        rows.append(
            RatioRow(
                "similar benchmarks", mean.like_these, math.nan, "@muted", "diamond", ("geometric mean",)
            )
        )
    theta = view.answer.theta_percent
    better = ratios[0].better
    frame = RatioFrame(f"ratio ({better} is better)", ratio_span([row.ratio for row in rows], theta), theta)
    figures = ratio_figures({"": rows}, frame)
    return Group(name, figures) if figures else None


def platforms_tables(found: Platforms, view: View) -> list[Table]:
    """Return the rankings, each ratio with both intervals, and all pairs of three or more."""
    level = show_percent(view.answer.level)
    tables = (_ranking(found, level), _ratios(found, level), _pairs(found, level))
    return [table for table in tables if table.rows]


def _ranking(found: Platforms, level: str) -> Table:
    """Rank over all benchmarks, or on the only benchmark of a configuration."""
    rows = []
    for ranking in rankings(found.means):
        means = [mean for _, mean in ranking if mean is not None]
        first = means[0]
        place = (
            joined(first.place.configuration, parameters_text(first.parameters)),
            show_heap(shared_heap(mean.place for mean in means)),
            first.metric,
            str(len(first.benchmarks)),
        )
        leading = _leaders(found, first, first.benchmarks)
        for rank, mean in ranking:
            name, cells = first.b, ("1 (baseline)", "", "", "")
            if mean is not None:
                name, cells = mean.a, (*_intervals(mean, found.by), show_significance(mean.verdict.practical))
            rows.append((*place, str(rank), name, *cells, "yes" if name in leading else ""))
    for of_place in alone(found):
        first_ratio = of_place[0]
        place = (
            joined(first_ratio.place.configuration, parameters_text(first_ratio.parameters)),
            show_heap(shared_heap(one.place for one in of_place)),
            first_ratio.metric,
            first_ratio.place.benchmark,
        )
        leading = _leaders(found, first_ratio, (first_ratio.place.benchmark,))
        entries = [(one.these.point, one) for one in of_place if not math.isnan(one.these.point)]
        for rank, one in ranked(None, entries, first_ratio.better):
            name, cells = first_ratio.b, ("1 (baseline)", "", "", "")
            if one is not None:
                hosts = show_interval(one.like_these) if found.by == "platform" else ""
                name, cells = (
                    one.a,
                    (show_interval(one.these), "", hosts, show_significance(one.verdict.practical)),
                )
            rows.append((*place, str(rank), name, *cells, "yes" if name in leading else ""))
    columns = (
        "configuration", "heap", "metric", "benchmarks", "rank", found.by, f"geometric mean, {level} CI", "similar benchmarks",
        "similar hosts", "practical", "leader",
    )  # fmt: skip
    return Table("Ranking", columns, rows, frozenset({3, 4}))


def _leaders(
    found: Platforms, of: PlatformMean | PlatformRatio, benchmarks: Sequence[str]
) -> tuple[str, ...]:
    """Return the best and those that do not differ significantly from it, of the pairs over exactly these benchmarks."""

    def key(one: PlatformMean | PlatformRatio | AllPairs) -> tuple[object, ...]:
        return one.place.configuration, one.place.heap.asked, one.metric, dict(one.parameters)

    same = (one for one in found.all_pairs if key(one) == key(of) and set(one.benchmarks) == set(benchmarks))
    return next((one.leaders for one in same), ())


def _pairs(found: Platforms, level: str) -> Table:
    rows = [
        (
            one.place.benchmark or f"{len(one.benchmarks)} benchmarks",
            joined(one.place.configuration, parameters_text(one.parameters)),
            show_heap(one.place.heap),
            one.metric,
            f"{pair.a_name} / {pair.b_name}",
            show_interval(pair.ratio),
            show_p(pair.p),
        )
        for one in found.all_pairs
        if len(one.names) > 2
        for pair in one.pairs
    ]
    columns = (
        "benchmark",
        "configuration",
        "heap",
        "metric",
        "comparison",
        f"ratio, simultaneous {level} CI",
        "p",
    )
    return Table("All pairs", columns, rows, frozenset({6}), detail=True)


def _intervals(mean: PlatformMean, by: str) -> tuple[str, str, str]:
    hosts = show_interval(mean.similar_hosts) if by == "platform" else ""
    return show_interval(mean.these), show_interval(mean.like_these), hosts


def _ratios(found: Platforms, level: str) -> Table:
    rows = [
        (
            one.place.benchmark,
            joined(one.place.configuration, parameters_text(one.parameters)),
            show_heap(one.place.heap),
            one.metric,
            f"{one.a} / {one.b}",
            f"{len(one.hosts_a)} / {len(one.hosts_b)}",
            show_interval(one.these),
            show_p(one.p),
            show_p(one.p_holm),
            show_interval(one.like_these) if found.by == "platform" else "",
            show_significance(one.verdict.practical),
        )
        for one in found.ratios
    ]
    columns = (
        "benchmark", "configuration", "heap", "metric", "comparison", "hosts", f"ratio, {level} CI", "p", "adj. p (Holm)", "similar hosts",
        "practical",
    )  # fmt: skip
    return Table("Ratios", columns, rows, frozenset({5, 7, 8}))

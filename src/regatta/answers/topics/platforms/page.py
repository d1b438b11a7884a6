"""The section of platforms: a ranking over all benchmarks, and the ratio of each benchmark."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.answers.page.ratio_rows import RatioFrame, RatioRow, band_words, ratio_figures, ratio_span
from regatta.answers.page.view import View
from regatta.answers.parts import shared_heap
from regatta.answers.topics.platforms.compute import PlatformMean, PlatformRatio, Platforms, rankings
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
    """Return the ranking over all benchmarks, and each ratio with both intervals."""
    level = show_percent(view.answer.level)
    return [table for table in (_ranking(found, level), _ratios(found, level)) if table.rows]


def _ranking(found: Platforms, level: str) -> Table:
    rows = []
    for ranking in rankings(found.means):
        means = [mean for _, mean in ranking if mean is not None]
        first = means[0]
        heap = shared_heap(mean.place for mean in means)
        place = (
            joined(first.place.configuration, parameters_text(first.parameters)),
            show_heap(heap),
            first.metric,
            str(len(first.benchmarks)),
        )
        for rank, mean in ranking:
            cells = (first.b, "1 (baseline)", "", "", "")
            if mean is not None:
                cells = (mean.a, *_intervals(mean, found.by), show_significance(mean.practical))
            rows.append((*place, str(rank), *cells))
    columns = (
        "configuration", "heap", "metric", "benchmarks", "rank", found.by, f"geometric mean, {level} CI", "similar benchmarks",
        "similar hosts", "significant",
    )  # fmt: skip
    return Table("Ranking", columns, rows, frozenset({3, 4}))


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
            show_interval(one.like_these) if found.by == "platform" else "",
            show_significance(one.practical),
        )
        for one in found.ratios
    ]
    columns = (
        "benchmark", "configuration", "heap", "metric", "comparison", "hosts", f"ratio, {level} CI", "p", "similar hosts",
        "significant",
    )  # fmt: skip
    return Table("Ratios", columns, rows, frozenset({5, 7}))

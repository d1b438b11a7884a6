"""The topic of platforms: how platforms, or the hosts of the only platform, compare."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from regatta.answers.kit.columns import BENCHMARK, HEAP_SIZE, METRIC, P_HOLM, PRACTICAL, P
from regatta.answers.kit.plain import finite, pair_row, text_of
from regatta.answers.kit.ranking import Standings, ranked
from regatta.answers.kit.ratio_rows import RatioRow, band_words, mean_rows, ratio_group
from regatta.answers.kit.topic import Document, Lead, Rows, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.parts import FamilyPair, shared_heap
from regatta.answers.spine.result import Answer
from regatta.answers.topics.platforms.all_pairs import AllPairs
from regatta.answers.topics.platforms.compute import (
    PlatformMean,
    PlatformRatio,
    Platforms,
    alone,
    compare_platforms,
    place_on,
    rankings,
)
from regatta.answers.topics.platforms.words import counted_hosts, leading_words, platform_words
from regatta.figures.axes import Group
from regatta.figures.section import Column, Section, Table, table_of
from regatta.figures.text import (
    joined,
    parameters_text,
    show_heap,
    show_interval,
    show_p,
    show_percent,
    show_significance,
)
from regatta.stats.estimate import Interval


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
            joined(one.place.benchmark, parameters_text(one.parameters)),
            one.these,
            one.p,
            "@c0",
            "circle",
            (one.place.benchmark, f"{counted_hosts(one.hosts_a)} / {counted_hosts(one.hosts_b)}"),
        )
        for one in ratios
    ]
    for mean in means:
        rows += mean_rows(len(mean.benchmarks), mean.these, mean.like_these)
    return ratio_group(name, {"": rows}, f"ratio ({ratios[0].better} is better)", view.answer.theta_percent)


def platforms_tables(found: Platforms, view: View) -> list[Table]:
    """Return the rankings, each ratio with both intervals, and all pairs of three or more."""
    level = show_percent(view.answer.level)
    tables = (_ranking(found, level), _ratios(found, level), _pairs(found, level))
    return [table for table in tables if table.rows]


def _ranking(found: Platforms, level: str) -> Table:
    """Rank over all benchmarks, or on the only benchmark of a configuration."""
    rows: list[tuple[str, ...]] = []

    def add(
        ranking: Iterable[tuple[int, PlatformMean | PlatformRatio | None]],
        of: Sequence[PlatformMean | PlatformRatio],
        benchmarks: Sequence[str],
        shown: str,
    ) -> None:
        first = of[0]
        place = (_configured(first), show_heap(shared_heap(one.place for one in of)), first.metric, shown)
        leading = _leaders(found, first, benchmarks)
        for rank, one in ranking:
            name, cells = first.b, ("1 (baseline)", "", "", "")
            if one is not None:
                name, cells = one.a, (*_intervals(one, found), show_significance(one.verdict.practical))
            rows.append((*place, str(rank), name, *cells, "yes" if name in leading else ""))

    for ranking in rankings(found.means):
        means = [mean for _, mean in ranking if mean is not None]
        add(ranking, means, means[0].benchmarks, str(len(means[0].benchmarks)))
    for ratios in alone(found):
        entries = [(one.these.point, one) for one in ratios if not math.isnan(one.these.point)]
        benchmark = ratios[0].place.benchmark
        add(ranked(None, entries, ratios[0].better), ratios, (benchmark,), benchmark)
    columns = (
        *("configuration", "heap", "metric", "benchmarks", "rank", found.by, f"geometric mean, {level} CI"),
        *("similar benchmarks", "similar hosts", "practical", "leader"),
    )
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
    rows = [(one, pair) for one in found.all_pairs if len(one.names) > 2 for pair in one.pairs]
    columns: list[Column[tuple[AllPairs, FamilyPair]]] = [
        Column("benchmark", lambda row: row[0].place.benchmark or f"{len(row[0].benchmarks)} benchmarks"),
        Column("configuration", lambda row: _configured(row[0])),
        Column("heap", lambda row: show_heap(row[0].place.heap)),
        Column("metric", lambda row: row[0].metric),
        Column("comparison", lambda row: f"{row[1].a_name} / {row[1].b_name}"),
        Column(f"ratio, simultaneous {level} CI", lambda row: show_interval(row[1].ratio)),
        Column("p", lambda row: show_p(row[1].p), numeric=True),
    ]
    return table_of("All pairs", rows, columns, detail=True)


def _configured(one: PlatformRatio | PlatformMean | AllPairs) -> str:
    return joined(one.place.configuration, parameters_text(one.parameters))


def _intervals(one: PlatformMean | PlatformRatio, found: Platforms) -> tuple[str, str, str]:
    """Return the ratio for these benchmarks, for similar benchmarks if it is a mean, and for similar hosts."""
    if isinstance(one, PlatformMean):
        return show_interval(one.these), show_interval(one.like_these), _similar(one.similar_hosts, found)
    return show_interval(one.these), "", _similar(one.like_these, found)


def _ratios(found: Platforms, level: str) -> Table:
    columns: list[Column[PlatformRatio]] = [
        BENCHMARK,
        Column("configuration", _configured),
        *(HEAP_SIZE, METRIC),
        Column("comparison", lambda one: f"{one.a} / {one.b}"),
        Column("hosts", lambda one: f"{len(one.hosts_a)} / {len(one.hosts_b)}", numeric=True),
        Column(f"ratio, {level} CI", lambda one: show_interval(one.these)),
        *(P, P_HOLM),
        Column("similar hosts", lambda one: _similar(one.like_these, found)),
        PRACTICAL,
    ]
    return table_of("Ratios", found.ratios, columns)


def _similar(ratio: Interval, found: Platforms) -> str:
    """Return the ratio for similar hosts; "" for a ratio of hosts."""
    return show_interval(ratio) if found.by == "platform" else ""


def _rows(found: Platforms) -> Iterator[dict[str, Any]]:
    """Yield ratios for these hosts, means over benchmarks, and all pairs of both; `value` is the ratio a/b."""
    for one in found.ratios:
        tested = (one.a, one.b, one.these, one.p)
        further = {"p_holm": finite(one.p_holm), "parameters": text_of(one.parameters)}
        collector = one.place.collector
        yield pair_row(one, "platform", *tested, verdict=one.verdict, collector=collector, **further)
    for mean in found.means:
        tested = (mean.a, mean.b, mean.these, math.nan)
        collector = mean.place.collector
        yield pair_row(mean, "platform-mean", *tested, verdict=mean.verdict, collector=collector)
    for every in found.all_pairs:
        kind = "platform-pair" if every.place.benchmark else "platform-mean-pair"
        collector, parameters = every.place.collector, text_of(every.parameters)
        for pair in every.pairs:
            tested = (pair.a_name, pair.b_name, pair.ratio, pair.p)
            yield pair_row(every, kind, *tested, collector=collector, parameters=parameters)


def _standings(found: Platforms, answer: Answer) -> Iterator[Standings]:
    for one in found.all_pairs:
        places = {name: place_on(found.by, name, one.place, answer.platforms) for name in one.names}
        yield Standings(
            "platform", "", one.metric, one.better, one.parameters, places, one.pairs, one.leaders
        )


PLATFORMS: Topic[Platforms] = Topic(
    "platforms",
    title="Platforms",
    empty=Platforms(),
    compute=compare_platforms,
    words=Words(55, "Platforms", platform_words),
    document=Document(45, "platforms"),
    rows=Rows(35, _rows),
    section=platforms_section,
    tables=platforms_tables,
    terminal=True,
    standings=_standings,
    board="regatta-compare-platforms",
    methods=lambda found: {"Platforms": {one.these.method for one in found.ratios}} if found.ratios else {},
    lead=lambda found, context: Lead(leading_words(found, context)),
)

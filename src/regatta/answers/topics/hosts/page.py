"""The section of hosts: the ratio of each host with the pooled one, and the F test of dependence on the host."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.answers.kit.ratio_rows import (
    RatioFrame,
    RatioRow,
    band_words,
    ratio_figures,
    ratio_span,
)
from regatta.answers.kit.view import View
from regatta.answers.spine.families.words import plural
from regatta.answers.spine.result import Answer
from regatta.answers.topics.hosts.result import (
    HostComparison,
    HostFamily,
    OverHosts,
    PlatformFamily,
)
from regatta.figures.axes import Group
from regatta.figures.section import Section, Table
from regatta.figures.text import (
    ABSENT,
    joined,
    parameters_text,
    show_df,
    show_heap,
    show_interval,
    show_p,
    show_percent,
    show_significance,
    significant,
)
from regatta.host.values.levels import PARAMETERS, components
from regatta.stats.hosts import HostInteraction


def hosts_section(over: OverHosts, view: View) -> Section | None:
    """Return forest plots over hosts and the tests; with one host, only a sentence."""
    answer = view.answer
    if not over.hosts or not answer.recorded:
        return None
    words = "Results of one host apply to that host only."
    if len(over.hosts) > 1:
        scope = "hosts like these (Student's t on the host means)" if over.random else "these hosts"
        words = (
            f"Ratios of each host, and pooled ratios for {scope}, separate for each platform. The F test checks whether the "
            "difference is the same on all hosts of a platform. If it is significant, read the ratios of the hosts."
            f"{band_words(answer.theta_percent)}"
        )
    return Section(
        "hosts",
        words=words,
        groups=_groups(over, answer),
    )


def hosts_tables(over: OverHosts, view: View) -> list[Table]:
    """Return pooled comparisons with tests, and leaders of each platform; empty with one host."""
    if len(over.hosts) < 2 or not view.answer.recorded:
        return []
    columns = (
        "platform",
        "benchmark",
        "heap",
        "metric",
        "comparison",
        "hosts",
        f"pooled ratio, {show_percent(view.answer.level)} CI",
        "p",
        "adj. p (Holm)",
        f"beyond ±{view.answer.theta_percent:g} %",
        "host × alternative",
        "p (interaction)",
    )
    rows = [_pair(one) for one in over.comparisons] + [_family(one) for one in over.families]
    tables = [_without_metric(columns, rows)] if rows else []
    return [*tables, *_leaders(over.leaders)]


def _groups(over: OverHosts, answer: Answer) -> list[Group]:
    by_place: dict[str, list[HostComparison]] = {}
    for one in over.comparisons:
        parts = (one.place.benchmark, show_heap(one.place.heap, "heap "), parameters_text(one.parameters))
        by_place.setdefault(joined(*parts), []).append(one)
    groups = []
    for place, many in by_place.items():
        ratios = [ratio for one in many for ratio in (one.ratio, *(own.ratio for own in one.per_host))]
        frame = RatioFrame(
            f"ratio to the baseline ({many[0].better} is better)",
            ratio_span(ratios, answer.theta_percent),
            answer.theta_percent,
        )
        several = len({one.place.platform for one in many}) > 1
        rows = {
            (f"{one.place.platform}: " if several else "") + f"{one.a_name} / {one.b_name}": _rows(one)
            for one in many
        }
        if figures := ratio_figures(rows, frame):
            groups.append(Group(place, figures))
    return groups


def _rows(one: HostComparison) -> list[RatioRow]:
    rows = [
        RatioRow(own.host, own.ratio, math.nan, "@c0", "circle", (f"on {own.host}",)) for own in one.per_host
    ]
    if len(one.per_host) > 1:
        rows.append(RatioRow("pooled", one.ratio, one.p, "@ink", "diamond", ("pooled",)))
    return rows


def _without_metric(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    """Return the table; a metric that all rows share is in the title."""
    metrics = {row[3] for row in rows}
    if len(metrics) > 1:
        return Table("", columns, rows, frozenset({5, 7, 8, 11}))
    shorter = [(*row[:3], *row[4:]) for row in rows]
    return Table(metrics.pop(), (*columns[:3], *columns[4:]), shorter, frozenset({4, 6, 7, 10}))


def _leaders(leaders: Sequence[PlatformFamily]) -> list[Table]:
    """Return the leaders on each platform, one table for each factor."""
    by_factor: dict[str, list[PlatformFamily]] = {}
    for one in leaders:
        by_factor.setdefault(one.factor, []).append(one)
    return [_leaders_of(factor, many) for factor, many in by_factor.items()]


def _leaders_of(factor: str, leaders: Sequence[PlatformFamily]) -> Table:
    rows = [
        (
            one.place.platform,
            one.place.benchmark or ABSENT,
            one.place.configuration or ABSENT,
            show_heap(one.place.heap),
            _metric(one),
            ", ".join(one.hosts) or ABSENT,
            one.winner or "not significant",
            _f(one.interaction) if len(one.hosts) > 1 else "one host",
            show_p(one.interaction.p),
        )
        for one in leaders
    ]
    columns = (
        "platform",
        "benchmark",
        "configuration",
        "heap",
        "metric",
        "hosts",
        "winner",
        " × ".join(("host", *(one.removeprefix(PARAMETERS) for one in components([factor])))),
        "p (interaction)",
    )
    many = plural(factor)
    title = f"{many[0].upper()}{many[1:]}, pooled over the hosts of a platform (simultaneous intervals of all pairs)"
    return Table(title, columns, rows, frozenset({8}))


def _pair(one: HostComparison) -> tuple[str, ...]:
    test = one.interaction
    return (
        one.place.platform,
        one.place.benchmark,
        show_heap(one.place.heap),
        _metric(one),
        f"{one.a_name} / {one.b_name}",
        _hosts(one),
        show_interval(one.ratio),
        show_p(one.p),
        show_p(one.p_holm),
        show_significance(one.verdict.practical),
        _f(test) if len(one.per_host) > 1 else "one host",
        show_p(test.p),
    )


def _family(one: HostFamily) -> tuple[str, ...]:
    test = one.interaction
    return (
        one.place.platform,
        one.place.benchmark,
        show_heap(one.place.heap),
        _metric(one),
        f"all {len(one.names)}",
        "",
        ABSENT,
        ABSENT,
        ABSENT,
        "",
        _f(test),
        show_p(test.p),
    )


def _hosts(one: HostComparison) -> str:
    """Return `3`, or `2 of 3`."""
    used, every = len(one.hosts), len(one.per_host)
    return str(used) if used == every else f"{used} of {every}"


def _metric(one: HostComparison | HostFamily | PlatformFamily) -> str:
    given = parameters_text(one.parameters)
    return f"{one.metric} ({given})" if given else one.metric


def _f(test: HostInteraction) -> str:
    if math.isnan(test.f):
        return test.reason
    return f"F({test.df_interaction}, {show_df(test.df_error)}) = {significant(test.f, 3)}"

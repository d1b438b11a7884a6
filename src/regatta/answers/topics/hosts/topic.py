"""The topic of hosts: results over the hosts of an experiment, separate for each platform."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from regatta.answers.kit.columns import HEAP_SIZE
from regatta.answers.kit.plain import finite, pair_row, text_of
from regatta.answers.kit.ratio_rows import RatioRow, band_words, ratio_group
from regatta.answers.kit.topic import Document, Lead, Rows, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.context import Context
from regatta.answers.spine.families.words import plural
from regatta.answers.spine.groups import grouped
from regatta.answers.spine.platforms import machine_words
from regatta.answers.spine.result import Answer
from regatta.answers.spine.verdicts import Verdicts
from regatta.answers.topics.hosts.compute import compare_over_hosts, families_over_hosts
from regatta.answers.topics.hosts.families import leaders_over_hosts
from regatta.answers.topics.hosts.headline import headline_of_hosts
from regatta.answers.topics.hosts.result import (
    HostComparison,
    HostFamily,
    OverHosts,
    PlatformFamily,
    PlatformHosts,
)
from regatta.answers.topics.hosts.words import host_words
from regatta.figures.axes import Group
from regatta.figures.section import Column, Section, Table, table_of
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
    return Section("hosts", words=words, groups=_groups(over, answer))


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
        several = len({one.place.platform for one in many}) > 1
        rows = {
            (f"{one.place.platform}: " if several else "") + f"{one.a_name} / {one.b_name}": _ratio_rows(one)
            for one in many
        }
        what = f"ratio to the baseline ({many[0].better} is better)"
        groups.append(ratio_group(place, rows, what, answer.theta_percent))
    return [group for group in groups if group is not None]


def _ratio_rows(one: HostComparison) -> list[RatioRow]:
    rows = [
        RatioRow(own.host, own.ratio, math.nan, "@c0", "circle", (f"on {own.host}",)) for own in one.per_host
    ]
    if len(one.per_host) > 1:
        rows.append(RatioRow("pooled", one.ratio, one.p, "@ink", "diamond", ("pooled",)))
    return rows


def _without_metric(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    """Return the table; a metric that all rows share is in the title."""
    table = Table("", columns, rows, frozenset({5, 7, 8, 11}))
    metrics = {row[3] for row in rows}
    if len(metrics) > 1:
        return table
    return replace(table.of_columns(at for at in range(len(columns)) if at != 3), title=metrics.pop())


def _leaders(leaders: Sequence[PlatformFamily]) -> list[Table]:
    """Return the leaders on each platform, one table for each factor."""
    by_factor = grouped(leaders, lambda one: one.factor)
    return [_leaders_of(factor, many) for factor, many in by_factor.items()]


def _leaders_of(factor: str, leaders: Sequence[PlatformFamily]) -> Table:
    crossed = " × ".join(("host", *(one.removeprefix(PARAMETERS) for one in components([factor]))))
    columns: list[Column[PlatformFamily]] = [
        Column("platform", lambda one: one.place.platform),
        Column("benchmark", lambda one: one.place.benchmark or ABSENT),
        Column("configuration", lambda one: one.place.configuration or ABSENT),
        HEAP_SIZE,
        Column("metric", _metric),
        Column("hosts", lambda one: ", ".join(one.hosts) or ABSENT),
        Column("winner", lambda one: one.winner or "not significant"),
        Column(crossed, lambda one: _f(one.interaction) if len(one.hosts) > 1 else "one host"),
        Column("p (interaction)", lambda one: show_p(one.interaction.p), numeric=True),
    ]
    many = plural(factor)
    title = f"{many[0].upper()}{many[1:]}, pooled over the hosts of a platform (simultaneous intervals of all pairs)"
    return table_of(title, leaders, columns)


def _pair(one: HostComparison) -> tuple[str, ...]:
    test = one.interaction
    return (
        *_place(one),
        *(f"{one.a_name} / {one.b_name}", _hosts(one), show_interval(one.ratio), show_p(one.p)),
        *(show_p(one.p_holm), show_significance(one.verdict.practical)),
        *(_f(test) if len(one.per_host) > 1 else "one host", show_p(test.p)),
    )


def _family(one: HostFamily) -> tuple[str, ...]:
    texts = (f"all {len(one.names)}", "", ABSENT, ABSENT, ABSENT, "")
    return (*_place(one), *texts, _f(one.interaction), show_p(one.interaction.p))


def _place(one: HostComparison | HostFamily) -> tuple[str, ...]:
    return one.place.platform, one.place.benchmark, show_heap(one.place.heap), _metric(one)


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


def _compute(context: Context) -> OverHosts:
    """Compute results by platform; for a single host only its name and kind of machine."""
    facts, platforms = context.facts, context.platforms
    # Results for similar hosts instead of only these; then collectors have no common leader.
    random = context.options.random_hosts
    hosts = tuple(host for platform in platforms for host in platform.hosts)
    machines = machine_words({host: facts.hosts[host] for host in hosts if host in facts.hosts})
    if len(hosts) < 2:
        return OverHosts(hosts, random, machines=machines)
    verdicts = Verdicts()
    comparisons = compare_over_hosts(context, verdicts)
    leaders = () if random else tuple(leaders_over_hosts(context, verdicts))
    return OverHosts(
        hosts,
        random,
        tuple(comparisons()),
        tuple(families_over_hosts(context)),
        tuple(
            PlatformHosts(p.name, p.hosts, tuple(h for h in p.hosts if h in p.measured), p.title(p.measured))
            for p in platforms
        ),
        leaders,
        machines,
    )


def _headline(over: OverHosts, context: Context, lead: Lead) -> Sequence[str] | None:
    """Replace the first sentences with one part per platform, if there are several hosts."""
    if len(over.hosts) < 2:
        return None
    return [*lead.sentences, *headline_of_hosts(over, context, lead.cells)]


def _methods(over: OverHosts) -> dict[str, set[str]]:
    found = {one.ratio.method for one in over.comparisons if len(one.hosts) > 1}
    return {"Over the hosts of a platform": found}


def _rows(over: OverHosts) -> Iterator[dict[str, Any]]:
    """Yield comparisons over all hosts; `value` is the ratio a/b."""
    for one in over.comparisons:
        further = {"p_holm": finite(one.p_holm), "parameters": text_of(one.parameters)}
        tested = (one.a_name, one.b_name, one.ratio, one.p)
        yield pair_row(one, "hosts", *tested, verdict=one.verdict, **further)


HOSTS: Topic[OverHosts] = Topic(
    "hosts",
    title="Hosts",
    empty=OverHosts(),
    compute=_compute,
    words=Words(60, "Hosts", lambda over, _: host_words(over)),
    document=Document(40, "over_hosts"),
    rows=Rows(30, _rows),
    section=hosts_section,
    tables=hosts_tables,
    methods=_methods,
    headline=_headline,
)

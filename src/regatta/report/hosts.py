"""The topic of hosts: each host's ratio beside the pooled one, and the F test of whether it depends on the host."""

from __future__ import annotations

import math

from regatta.model.answer import Answer
from regatta.model.hosts import HostComparison, HostFamily
from regatta.report.axes import Group
from regatta.report.labels import heap_label, parameters_text
from regatta.report.looks import Looks
from regatta.report.panels import Panel
from regatta.report.quantities import ABSENT, show_p, significant
from regatta.report.ratio_rows import RatioFrame, RatioRow, band_words, ratio_figures, ratio_span, reading
from regatta.report.topic import Table, Topic


def hosts_topic(answer: Answer, panels: list[Panel], looks: Looks) -> Topic | None:
    """Forest plots over hosts and the tests; with one host only the sentence that says so."""
    over = answer.over_hosts
    if not over.hosts or not answer.recorded:
        return None
    words = "What was measured on one host speaks of that host."
    tables: list[Table] = []
    if len(over.hosts) > 1:
        meant = "hosts like these (Student's t on the hosts' means)" if over.random else "these hosts"
        words = (
            f"Each host's ratio, and the ratio for {meant}. The F test asks whether the difference is the same on every "
            f"host; where it is not, look at each.{band_words(answer.theta_percent)}"
        )
        columns = (
            "benchmark",
            "heap",
            "metric",
            "ratio",
            "hosts",
            "pooled",
            "p",
            "matters",
            "host × alternative",
            "p",
        )
        rows = [_pair(one) for one in over.comparisons] + [_family(one) for one in over.families]
        tables = [Table("", columns, rows, frozenset({4, 6, 9}))] if rows else []
    return Topic(
        "hosts",
        "Hosts",
        "Over hosts",
        words,
        sentences=answer.findings.get("Hosts", ()),
        tables=tables,
        groups=_groups(answer),
    )


def _groups(answer: Answer) -> list[Group]:
    by_place: dict[str, list[HostComparison]] = {}
    for one in answer.over_hosts.comparisons:
        heap = heap_label(one.heap_factor, one.heap_mib)
        parts = (one.benchmark, f"heap {heap}" if heap else "", parameters_text(one.parameters))
        by_place.setdefault(" · ".join(part for part in parts if part), []).append(one)
    groups = []
    for place, many in by_place.items():
        ratios = [ratio for one in many for ratio in (one.ratio, *(own.ratio for own in one.per_host))]
        frame = RatioFrame(
            f"ratio to the baseline ({many[0].better} is better)",
            ratio_span(ratios, answer.theta_percent),
            answer.theta_percent,
        )
        rows = {f"{one.a_name} / {one.b_name}": _rows(one) for one in many}
        if figures := ratio_figures(rows, frame):
            groups.append(Group(place, figures))
    return groups


def _rows(one: HostComparison) -> list[RatioRow]:
    rows = [
        RatioRow(own.host, own.ratio, math.nan, "@c0", "circle", (f"on {own.host}",)) for own in one.per_host
    ]
    rows.append(RatioRow("all hosts", one.ratio, one.p, "@ink", "diamond", ("pooled",)))
    return rows


def _pair(one: HostComparison) -> tuple[str, ...]:
    test = one.interaction
    return (
        one.benchmark,
        heap_label(one.heap_factor, one.heap_mib),
        _metric(one),
        f"{one.a_name} / {one.b_name}",
        str(len(one.per_host)),
        reading(one.ratio),
        show_p(one.p),
        one.practical,
        _f(test.f, test.df_interaction, test.df_error) or test.reason,
        show_p(test.p),
    )


def _family(one: HostFamily) -> tuple[str, ...]:
    test = one.interaction
    return (
        one.benchmark,
        heap_label(one.heap_factor, one.heap_mib),
        _metric(one),
        f"all {len(one.names)}",
        "",
        ABSENT,
        ABSENT,
        "",
        _f(test.f, test.df_interaction, test.df_error) or test.reason,
        show_p(test.p),
    )


def _metric(one: HostComparison | HostFamily) -> str:
    given = parameters_text(one.parameters)
    return f"{one.metric} ({given})" if given else one.metric


def _f(f: float, df: int, df_error: int) -> str:
    return "" if math.isnan(f) else f"F({df}, {df_error}) = {significant(f, 3)}"

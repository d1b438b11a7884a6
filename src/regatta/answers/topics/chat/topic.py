"""The topic of the chat server over its connections.

Source: Luo and John, "Performance impact of multithreaded Java server applications", University of Texas at Austin (2001).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from regatta.answers.kit.plain import plain
from regatta.answers.kit.topic import Document, Lead, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.groups import grouped
from regatta.answers.spine.words import measured
from regatta.answers.topics.chat.compute import (
    MODES,
    PER_CONNECTION,
    Chat,
    ChatCurve,
    ChatPlace,
    ChatPoint,
    judge_chat,
)
from regatta.answers.topics.chat.words import SUBJECTS, chat_words, first_words, loop_name
from regatta.figures.axes import Figure, Group
from regatta.figures.curves import Point
from regatta.figures.labelled import (
    NamedLine,
    estimate_point,
    labelled_figure,
    measured_axis,
    packs,
    plain_quantity,
    time_quantity,
)
from regatta.figures.section import Section, Table
from regatta.figures.text import ABSENT, joined, show_heap, show_interval, show_p, show_percent
from regatta.host.units import UNITS
from regatta.host.values.counters import ALL, RUN_QUEUE, metric_of

_SPACES = (("user", "user"), ("kernel", "OS"), (ALL, "overall"))

#: a figure: metric, aspect, its title
_Wanted = tuple[str, str, str]


def _by_space(name: str, title: str, per: str = "iteration") -> list[_Wanted]:
    return [(metric_of(name, per), space, f"{title}, {words}") for space, words in _SPACES]


#: title of a group -> its figures, in page order; figures without data are omitted
_GROUPS: dict[str, list[_Wanted]] = {
    "Throughput": [("delivered_rate", "", "messages delivered per second")],
    "Latency": [
        ("latency", "50", "latency, median"),
        ("latency", "90", "latency, 90th percentile"),
        ("latency", "99", "latency, 99th percentile"),
        ("latency", "99.9", "latency, 99.9th percentile"),
    ],
    "Server CPU time": [
        ("cpu_per_message", "", "per message sent"),
        ("cpu_user_per_message", "", "per message sent, user"),
        ("cpu_system_per_message", "", "per message sent, OS"),
        ("cpu_user_per_connection", "", "per connection in the window, user"),
        ("cpu_system_per_connection", "", "per connection in the window, OS"),
    ],
    "Server and client": [
        ("cpu_share", "", "CPU utilization of the server"),
        ("cpu_client_per_message", "", "client CPU time per message sent"),
        ("compile_time", "", "JIT compilation time of the server in the window"),
    ],
    "Context switches": [
        ("switches_voluntary_per_message", "", "per message sent, voluntary"),
        ("switches_involuntary_per_message", "", "per message sent, involuntary"),
    ],
    "Page faults": [
        ("minor_faults", "", "minor, server, in the window"),
        ("major_faults", "", "major, server, in the window"),
    ],
    "Counters": [
        (metric_of("task-clock", "operation"), "", "time on a processor per message sent"),
        (metric_of("context-switches", "operation"), "", "context switches per message sent"),
        (metric_of("page-faults", "operation"), "", "page faults per message sent"),
        (metric_of(RUN_QUEUE, "iteration"), "", "threads that wait for a processor, on average"),
    ],
    "Instructions": [
        *_by_space("ipc", "instructions per cycle"),
        *_by_space("instructions", "per message sent", "operation"),
        *[
            (PER_CONNECTION[metric], space, title)
            for metric, space, title in _by_space("instructions", "per connection in the window")
        ],
    ],
    "Stalls": [
        *_by_space("stalled_frontend_share", "cycles without instructions to execute, share"),
        *_by_space("stalled_backend_share", "cycles without free resources, share"),
        # The top-down method counts user and kernel in different invocations.
        *_by_space("frontend_bound_share", "places without an operation to begin, share")[:2],
        *_by_space("backend_bound_share", "places without free resources, share")[:2],
    ],
    "Cache misses": [
        *_by_space("l1i_misses_per_1000_instructions", "L1 instruction cache, misses per 1,000 instructions"),
        *_by_space("l1i-misses", "L1 instruction cache, misses per message sent", "operation"),
        *_by_space("l1d-misses", "L1 data cache, misses per message sent", "operation"),
        *_by_space("l1d_miss_ratio", "L1 data cache, misses per load"),
        *_by_space("l2_miss_ratio", "L2, misses per reference"),
        *_by_space("llc_miss_ratio", "last level, misses per reference"),
        *_by_space("llc-misses", "last level, misses per message sent", "operation"),
    ],
    "TLB misses": [
        *_by_space("itlb_misses_per_1000_instructions", "instructions, per 1,000 instructions"),
        *_by_space("dtlb_misses_per_1000_instructions", "data, per 1,000 instructions"),
    ],
    "Branches": [
        *_by_space("branches_per_instruction", "per instruction"),
        *_by_space("branch_taken_ratio", "taken"),
        *_by_space("branch_miss_ratio", "mispredicted"),
    ],
}


def chat_section(chat: Chat, view: View) -> Section | None:
    """Return the figures over the number of connections, one line per mode and configuration; None without a chat server."""
    if not chat.curves:
        return None
    return Section(
        "chat",
        words="The server sends each message to all users of a room. Values are from a window without startup, connecting and "
        "shutdown; OS is work in the kernel. Counters cover the server alone if it has its own role, otherwise server and client. Latency starts at the planned send time. In a closed loop, a "
        "user sends a message after receiving its own previous one. Then throughput depends on both server and client, and latency "
        "grows with the number of users; the CPU time per message is that of the server. Values are means over invocations; bars or "
        f"bands are {show_percent(view.answer.level)} intervals. Differences between modes are significant after adjustment for all "
        "comparisons of modes (Holm).",
        groups=_groups(chat),
    )


def _groups(chat: Chat) -> list[Group]:
    """Return the figures of each host and rate, with at most `MOST_LINES` lines each."""
    parts = grouped(chat.curves, lambda curve: (curve.place.host, curve.place.rate))
    groups = []
    for (host, rate), curves in parts.items():
        place = [
            (loop_name(rate) if len({key[1] for key in parts}) > 1 or rate else ""),
            (f"on {host}" if len({key[0] for key in parts}) > 1 else ""),
        ]
        for title, wanted in _GROUPS.items():
            figures = [figure for one in wanted for figure in _figures(one, curves)]
            if figures:
                groups.append(Group(joined(title, *place), figures))
    return groups


def _figures(wanted: _Wanted, curves: Sequence[ChatCurve]) -> list[Figure]:
    metric, aspect, title = wanted
    found = [curve for curve in curves if (curve.metric, curve.aspect) == (metric, aspect)]
    found.sort(key=lambda curve: MODES.index(curve.mode))
    figures = (_figure(title, pack) for pack in packs(found))
    return [figure for figure in figures if figure is not None]


def _figure(title: str, curves: Sequence[ChatCurve]) -> Figure | None:
    unit = curves[0].unit
    time = UNITS.get(unit, ("", 1.0))[0] == "time"
    heaps = len({curve.place.heap for curve in curves}) > 1
    names = [_line_name(curve, curves, heaps) for curve in curves]
    lines = [
        NamedLine(name, [_point(point, curve) for point in curve.points])
        for name, curve in zip(names, curves, strict=True)
        if any(math.isfinite(point.estimate.point) for point in curve.points)
    ]
    if not lines:
        return None
    quantity = (
        time_quantity("time", lines) if time else plain_quantity("", "" if unit == "count" else unit, lines)
    )
    counts = sorted({point.connections for curve in curves for point in curve.points})
    return labelled_figure(title, lines, measured_axis("connections", counts), quantity)


def _line_name(curve: ChatCurve, among: Sequence[ChatCurve], heaps: bool) -> str:
    """Return `virtual temurin-21`; with the collector only if there are several."""
    place = curve.place
    alone = len({(c.place.collector, c.place.modifiers) for c in among}) == 1
    runtimes = len({c.place.runtime for c in among}) > 1
    configuration = (place.runtime if runtimes else "") if alone else place.configuration
    kinds = len({c.place.benchmark for c in among}) > 1
    parts = (
        *(curve.mode, configuration, place.benchmark if kinds else ""),
        show_heap(place.heap) if heaps else "",
    )
    return " ".join(part for part in parts if part)


def _point(point: ChatPoint, curve: ChatCurve) -> Point:
    what = f"{curve.mode} · {curve.place.configuration}"
    many = f"{point.connections} connections"
    return estimate_point(point.connections, point.estimate, curve.unit, what, many)


def chat_tables(chat: Chat, view: View) -> list[Table]:
    """Return the comparisons of modes at each number of connections, and the cost per message at the most connections."""
    places = list(dict.fromkeys(curve.place for curve in chat.curves))
    rates, kinds = len({one.rate for one in places}) > 1, len({one.benchmark for one in places}) > 1

    def place_of(one: ChatPlace) -> tuple[str, ...]:
        return (
            view.host(one.host),
            one.benchmark if kinds else "",
            joined(one.configuration, show_heap(one.heap)),
            loop_name(one.rate) if rates else "",
        )

    modes: list[tuple[str, ...]] = [
        (
            *place_of(one.place),
            SUBJECTS[one.metric],
            f"{one.mode} / {one.base}",
            str(one.connections),
            show_interval(one.ratio),
            show_p(one.p_holm),
            {"better": one.mode, "worse": one.base, "open": "not significant", "unknown": ABSENT}[
                one.verdict
            ],
        )
        for one in chat.contrasts
    ]
    costs: list[tuple[str, ...]] = [
        (*place_of(place), mode, str(most), *texts)
        for place in places
        for most in [max(point.connections for c in chat.curves if c.place == place for point in c.points)]
        for mode in MODES
        for texts in [_costs(chat, place, mode, most)]
        if any(text != ABSENT for text in texts)
    ]
    ratio = f"ratio, {show_percent(view.answer.level)} CI"
    return [
        Table(
            "Modes",
            (*_PLACE, "metric", "comparison", "connections", ratio, "adj. p (Holm)", "better"),
            modes,
            frozenset({6, 7, 8}),
        ),
        Table(
            "Cost per message sent",
            (*_PLACE, "mode", "connections", *_COSTS.values()),
            costs,
            frozenset(range(5, 11)),
        ),
    ]


def _costs(chat: Chat, place: ChatPlace, mode: str, connections: int) -> list[str]:
    """Return each cost per message with its interval; without an interval it is absent."""
    found = {
        curve.metric: curve.at(connections)
        for curve in chat.curves
        if (curve.place, curve.mode) == (place, mode)
    }
    return [
        measured(point.estimate, "ns" if metric.startswith("cpu_") else "")
        if (point := found.get(metric)) is not None and math.isfinite(point.estimate.low)
        else ABSENT
        for metric in _COSTS
    ]


_PLACE = ("host", "benchmark", "configuration", "loop")
#: metric -> its column
_COSTS = {
    "cpu_user_per_message": "user CPU time",
    "cpu_system_per_message": "system CPU time",
    "switches_voluntary_per_message": "voluntary switches",
    "switches_involuntary_per_message": "involuntary switches",
    "cpu_client_per_message": "client CPU time",
}


def _document(chat: Chat) -> dict[str, Any]:
    """Return the comparisons of modes; the curves are among the cells."""
    contrasts = plain(chat.contrasts)
    for contrast in contrasts:
        del contrast["place"]["platform"]
    return {"contrasts": contrasts}


CHAT: Topic[Chat] = Topic(
    "chat",
    title="Chat server",
    empty=Chat(),
    compute=judge_chat,
    words=Words(100, "Chat", lambda chat, _: chat_words(chat)),
    document=Document(90, "chat", _document),
    section=chat_section,
    tables=chat_tables,
    lead=lambda chat, _: Lead(first_words(chat), cells=chat.cell_ids, compared=chat.cell_ids),
)

"""The section of the chat server: the cost of more connections, after the figures of Luo and John on VolanoMark.

Source: Luo and John, "Performance impact of multithreaded Java server applications", University of Texas at Austin (2001).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from regatta.answers.page.view import View
from regatta.answers.topics.chat.compute import MODES, Chat, ChatCurve, ChatPoint
from regatta.answers.topics.chat.words import SUBJECTS
from regatta.figures.axes import Figure, Group, axis
from regatta.figures.curves import Point
from regatta.figures.labelled import (
    MOST_LINES,
    NamedLine,
    estimate_point,
    labelled_figure,
    plain_quantity,
    time_quantity,
)
from regatta.figures.section import Section, Table
from regatta.figures.text import ABSENT, joined, show_heap, show_interval, show_p, show_percent
from regatta.host.units import UNITS

#: From this ratio of most to fewest connections, the axis is logarithmic.
_LOG_CONNECTIONS = 8.0
_SPACES = (("user", "user"), ("system", "OS"), ("all", "overall"))

#: a figure: metric, aspect, its title
_Wanted = tuple[str, str, str]


def _by_space(metric: str, title: str) -> list[_Wanted]:
    return [(metric, space, f"{title}, {words}") for space, words in _SPACES]


#: title of a group -> its figures, in page order; figures without data are omitted
_GROUPS: dict[str, list[_Wanted]] = {
    "Messages a second": [("delivered_rate", "", "messages delivered a second")],
    "Latency": [
        ("latency", "50", "latency, median"),
        ("latency", "90", "latency, 90th percentile"),
        ("latency", "99", "latency, 99th percentile"),
        ("latency", "99.9", "latency, 99.9th percentile"),
    ],
    "Processor time of the server": [
        ("cpu_per_message", "", "for each message sent"),
        ("cpu_user_per_message", "", "for each message sent, user"),
        ("cpu_system_per_message", "", "for each message sent, OS"),
        ("cpu_user_per_connection", "", "for each connection in the window, user"),
        ("cpu_system_per_connection", "", "for each connection in the window, OS"),
    ],
    "Server and client": [
        ("cpu_share", "", "the server's share of its processors"),
        ("cpu_client_per_message", "", "processor time of the client for each message sent"),
        ("compile_time", "", "time that the server's JIT compiled in the window"),
    ],
    "Context switches": [
        ("switches_voluntary_per_message", "", "for each message sent, voluntary"),
        ("switches_involuntary_per_message", "", "for each message sent, involuntary"),
    ],
    "Page faults": [
        ("minor_faults", "", "minor, of the server in the window"),
        ("major_faults", "", "major, of the server in the window"),
    ],
    "Cycles for each instruction": _by_space("cpi", "CPI"),
    "Instructions": [
        *_by_space("instructions_per_connection", "for each connection"),
        *_by_space("instructions_per_message", "for each message sent"),
    ],
    "Cache misses": [
        *_by_space("l1_icache_misses_per_instruction", "L1 instruction cache, misses for each instruction"),
        *_by_space("l1_dcache_miss_ratio", "L1 data cache, misses for each load"),
        *_by_space("cache_miss_ratio", "last level, misses for each reference"),
        *_by_space("cache_misses_per_connection", "last level, misses for each connection"),
    ],
    "TLB misses": [
        *_by_space("itlb_misses_per_instruction", "of instructions, for each instruction"),
        *_by_space("dtlb_misses_per_instruction", "of data, for each instruction"),
    ],
    "Branches": [
        *_by_space("branches_per_instruction", "for each instruction"),
        *_by_space("branch_miss_ratio", "mispredicted"),
    ],
}


def chat_section(chat: Chat, view: View) -> Section | None:
    """Return the figures over the number of connections, one line per mode and configuration; None without a chat server."""
    if not chat.curves:
        return None
    return Section(
        "chat",
        words="Each message is heard by a room. The server alone is counted, between two borders that leave starting, connecting and "
        "stopping out; OS is what the kernel did for it. Latency counts from the planned send. In a closed loop a user sends when it has "
        "heard its own last message: throughput is that of server and client together, on one machine bounded by both, and latency grows "
        "with the users; what a message costs is the server's alone. Means over invocations; bars "
        f"or bands are {show_percent(view.answer.level)} intervals. A mode beats another only where that is still shown among all "
        "comparisons of modes (Holm).",
        groups=_groups(chat),
    )


def _groups(chat: Chat) -> list[Group]:
    """Return the figures of each host and rate, with at most `MOST_LINES` lines each."""
    parts: dict[tuple[str, float], list[ChatCurve]] = {}
    for curve in chat.curves:
        parts.setdefault((curve.place.host, curve.place.rate), []).append(curve)
    groups = []
    for (host, rate), curves in parts.items():
        told = [
            (_loop(rate) if len({key[1] for key in parts}) > 1 or rate else ""),
            (f"on {host}" if len({key[0] for key in parts}) > 1 else ""),
        ]
        for title, wanted in _GROUPS.items():
            figures = [figure for one in wanted for figure in _figures(one, curves)]
            if figures:
                groups.append(Group(joined(title, *told), figures))
    return groups


def _loop(rate: float) -> str:
    return f"{rate:g} messages a second of each user" if rate else "closed loop"


def _figures(wanted: _Wanted, curves: Sequence[ChatCurve]) -> list[Figure]:
    metric, aspect, title = wanted
    found = [curve for curve in curves if (curve.metric, curve.aspect) == (metric, aspect)]
    found.sort(key=lambda curve: MODES.index(curve.mode))
    figures = []
    for first in range(0, len(found), MOST_LINES):
        pack = found[first : first + MOST_LINES]
        figure = _figure(title, pack)
        if figure is not None:
            figures.append(figure)
    return figures


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
    return labelled_figure(title, lines, _connections_axis(counts), quantity)


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


def _connections_axis(counts: Sequence[int]) -> dict[str, Any]:
    """Return the axis of connections (ascending), with ticks at the measured values."""
    low, high = counts[0], counts[-1]
    log = high / low > _LOG_CONNECTIONS
    ends = [math.log10(low), math.log10(high)] if log else [low, high]
    room = 0.04 * (ends[1] - ends[0]) or 1.0
    kind = {"type": "log"} if log else {}
    return axis(
        "connections",
        range=[ends[0] - room, ends[1] + room],
        tickvals=list(counts),
        ticktext=[str(count) for count in counts],
        **kind,
    )


def chat_tables(chat: Chat, view: View) -> list[Table]:
    """Return the comparisons of modes at each number of connections."""
    rates = len({contrast.place.rate for contrast in chat.contrasts}) > 1
    kinds = len({contrast.place.benchmark for contrast in chat.contrasts}) > 1
    rows = [
        (
            view.host(contrast.place.host),
            contrast.place.benchmark if kinds else "",
            joined(contrast.place.configuration, show_heap(contrast.place.heap)),
            _loop(contrast.place.rate) if rates else "",
            SUBJECTS[contrast.metric],
            f"{contrast.mode} / {contrast.base}",
            str(contrast.connections),
            show_interval(contrast.ratio),
            show_p(contrast.p_holm),
            _VERDICTS[contrast.verdict],
        )
        for contrast in chat.contrasts
    ]
    columns = (
        "host", "benchmark", "configuration", "loop", "by", "modes", "connections", "ratio", "p (Holm)", "which is better",
    )  # fmt: skip
    return [Table("One mode over another", columns, rows, frozenset({6, 7, 8}))]


_VERDICTS = {"better": "the first", "worse": "the second", "open": "no difference shown", "unknown": ABSENT}

"""What is said aloud of a chat server: from how many connections on one way to serve beats another, by how much, and at what cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from regatta.answers.topics.chat.compute import (
    COST,
    DELIVERED,
    HEADLINE_PAIRS,
    LATE,
    PAIRS,
    Chat,
    ChatPlace,
    ModeContrast,
)
from regatta.answers.words import bound_words, listed
from regatta.figures.text import show_unit
from regatta.host.units import display_scale
from regatta.stats.estimate import Interval

#: an interval that reaches this ratio, or its inverse, excludes nothing of interest
_VAGUE = 2.0
#: below this share of its processors, a server waits for others much of the time
_BUSY = 0.8
#: from this share of a window on, the JIT's own work matters
_COMPILING = 0.1
#: the server's share of its processors
SHARE = "cpu_share"
_ALL_EVENTS = "hardware events (CPI, instructions, cache, TLB and branch misses)"
_NAMES = {"platform": "platform threads", "virtual": "virtual threads", "selector": "one selector"}


def mode_name(mode: str) -> str:
    """`virtual threads`."""
    return _NAMES.get(mode, mode)


def chat_words(chat: Chat) -> tuple[str, ...]:
    """Sentences on which mode is better where, what a message costs, and what was not counted; none without a chat server."""
    several = _several(chat)
    return (
        *(words for metric in _metrics(chat) for words in mode_words(chat, PAIRS, metric)),
        *(words for place in _places(chat) for words in (*_costs(chat, place), *_compiling(chat, place))),
        *(
            ("some hardware events" if host in chat.counting_hosts else _ALL_EVENTS)
            + f" were not counted on {f'host {host}' if several else 'this machine'}: {why}"
            for host, why in chat.uncounted.items()
        ),
        *(f"{words}: the curves hold the first of them only" for words in chat.twice),
    )


def first_words(chat: Chat) -> tuple[str, ...]:
    """What the first sentences of an answer say: the modes against platform threads, first by what a message costs the server."""
    return tuple(words for metric in _metrics(chat) for words in mode_words(chat, HEADLINE_PAIRS, metric))


def mode_words(chat: Chat, pairs: Sequence[tuple[str, str]], metric: str) -> tuple[str, ...]:
    """One sentence for each pair of modes and place: from how many connections on which beats the other, and by how much.

    Args:
        chat: see `regatta.answers.topics.chat.compute`.
        pairs: of a mode and what it is compared with.
        metric: by which they are compared.
    """
    sentences = []
    for mode, base in pairs:
        for place in _places(chat):
            wanted = (place, mode, base, metric)
            mine = [c for c in chat.contrasts if (c.place, c.mode, c.base, c.metric) == wanted]
            if mine:
                where, host = _told(chat, place)
                sentences.append(_compared(mine, where) + _idle(chat, mine) + host)
    return tuple(sentences)


def _metrics(chat: Chat) -> list[str]:
    """By which modes are compared; first what is the server's alone."""
    return [
        metric for metric, _ in (COST, DELIVERED, LATE) if any(c.metric == metric for c in chat.contrasts)
    ]


def _places(chat: Chat) -> list[ChatPlace]:
    return list(dict.fromkeys(curve.place for curve in chat.curves))


def _several(chat: Chat) -> bool:
    return len({curve.place.host for curve in chat.curves}) > 1


def _told(chat: Chat, place: ChatPlace) -> tuple[str, str]:
    """What a sentence on a place begins and ends with: of benchmark, heap and host only what tells it from other places."""
    places = _places(chat)
    parts = [place.configuration]
    if len({other.benchmark for other in places}) > 1:
        parts.append(place.benchmark)
    if len({other.heap for other in places}) > 1 and place.heap.mib is not None:
        parts.append(f"{place.heap.mib} MiB")
    parts.append("closed loop" if place.rate == 0 else f"{place.rate:g} messages a second of each user")
    return ", ".join(parts), f", on host {place.host}" if _several(chat) else ""


def _idle(chat: Chat, contrasts: Sequence[ModeContrast]) -> str:
    """What keeps a claim on the messages delivered from being one on the server: it had processors to spare."""
    claimed = {c.connections for c in contrasts if c.verdict in ("better", "worse")}
    first = contrasts[0]
    shares = [
        point.estimate.point
        for curve in chat.curves
        if (curve.place, curve.metric) == (first.place, SHARE) and curve.mode in (first.mode, first.base)
        for point in curve.points
        if point.connections in claimed and math.isfinite(point.estimate.point)
    ]
    if first.metric != DELIVERED[0] or not shares or min(shares) >= _BUSY:
        return ""
    ends = dict.fromkeys(f"{100 * share:.0f}" for share in (min(shares), max(shares)))
    return (
        f"; the server used {' to '.join(ends)} % of its processors: this is what server and client do together, "
        "no measure of the server alone"
    )


def _compared(contrasts: Sequence[ModeContrast], where: str) -> str:
    """`temurin-25 g1, closed loop: virtual threads beat platform threads from 200 connections on, delivering 1.52 times ...`."""
    ordered = sorted(contrasts, key=lambda contrast: contrast.connections)
    mode, base = mode_name(ordered[0].mode), mode_name(ordered[0].base)
    runs = [(verdict, list(run)) for verdict, run in groupby(ordered, lambda c: c.verdict)]
    clauses = []
    for number, (verdict, run) in enumerate(runs):
        at = _where(run, rest=0 < number == len(runs) - 1)
        if verdict == "unknown":
            clauses.append(f"{at} {mode} and {base} cannot be compared: {run[0].ratio.reason}")
        elif verdict == "open":
            what = " in processor time for a message" if ordered[0].metric == COST[0] else ""
            clauses.append(f"{at} no difference shown between {mode} and {base}{what}, {_bound(run)}")
        else:
            winner, loser = (mode, base) if verdict == "better" else (base, mode)
            one = winner == _NAMES["selector"]
            if ordered[0].metric == COST[0]:
                verb = f"{'costs' if one else 'cost'} less processor time than"
            else:
                verb = "beats" if one else "beat"
            clauses.append(f"{at} {winner} {verb} {loser}: {_how_much(run, mode)}")
    return f"{where}: {'; '.join(clauses)}"


def _bound(run: Sequence[ModeContrast]) -> str:
    ratios = [contrast.ratio for contrast in run]
    if any(ratio.high > _VAGUE or ratio.low < 1.0 / _VAGUE for ratio in ratios):
        return "and even a large one is not excluded"
    return bound_words(ratios)


def _where(run: Sequence[ModeContrast], rest: bool) -> str:
    """`at 20 and 100 connections`; where it is the rest of several, `from 200 connections on`."""
    counts = [contrast.connections for contrast in run]
    if rest and len(counts) > 1:
        return f"from {counts[0]} connections on"
    return f"at {listed([str(count) for count in counts])} connections"


def _how_much(run: Sequence[ModeContrast], mode: str) -> str:
    """`virtual threads deliver 1.52 times (1.31 to 1.76) as much at 200 and 2.10 times (1.95 to 2.26) at 800`."""
    one = mode == _NAMES["selector"]
    verbs, unit = {
        DELIVERED[0]: (("deliver", "delivers"), "as much"),
        LATE[0]: (("have", "has"), "the 99th percentile of the latency"),
        COST[0]: (("take", "takes"), "as much for a message"),
    }[run[0].metric]
    verb = verbs[one]
    ends = [run[0], run[-1]] if len(run) > 1 else [run[0]]
    texts = [
        f"{_ratio(c.ratio.point)} times ({_ratio(c.ratio.low)} to {_ratio(c.ratio.high)}){f' {unit}' if number == 0 else ''}"
        + (f" at {c.connections}" if len(ends) > 1 else "")
        for number, c in enumerate(ends)
    ]
    return f"{mode} {verb} {listed(texts)}"


def _ratio(value: float) -> str:
    return f"{value:.2g}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _costs(chat: Chat, place: ChatPlace) -> list[str]:
    """What a message costs the server with the most connections, and its client; each figure with its interval, or not at all."""
    mine = [curve for curve in chat.curves if curve.place == place and curve.metric in _COSTS]
    most = max((point.connections for curve in mine for point in curve.points), default=0)
    parts = []
    for mode in _NAMES:
        found = {curve.metric: curve.at(most) for curve in mine if curve.mode == mode}
        texts = [
            f"{_figure(point.estimate, metric)} {what}"
            for metric, what in _COSTS.items()
            if (point := found.get(metric)) is not None and math.isfinite(point.estimate.low)
        ]
        if texts:
            parts.append(f"{mode_name(mode)} {'takes' if mode == 'selector' else 'take'} {listed(texts)}")
    if not parts:
        return []
    where, host = _told(chat, place)
    return [f"{where}: with {most} connections, for each message sent {'; '.join(parts)}{host}"]


def _compiling(chat: Chat, place: ChatPlace) -> list[str]:
    """Where the JIT was at work in the windows, so that a message costs more than it will later."""
    curves = {(c.mode, c.metric): c for c in chat.curves if c.place == place and not c.aspect}
    shares = {}
    for mode in _NAMES:
        compiling, window = curves.get((mode, "compile_time")), curves.get((mode, "window"))
        for point in compiling.points if compiling else ():
            whole = window.at(point.connections) if window else None
            if whole is not None and whole.estimate.point > 0:
                shares[mode, point.connections] = point.estimate.point / whole.estimate.point
    late = {key: share for key, share in shares.items() if share >= _COMPILING}
    if not late:
        return []
    mode, connections = max(late, key=lambda key: late[key])
    where, host = _told(chat, place)
    return [
        f"{where}: the JIT still compiled in the windows of {len(late)} of {len(shares)} cells, for up to "
        f"{100 * late[mode, connections]:.0f} % of the time ({mode_name(mode)}, {connections} connections): a longer warm-up "
        f"may make messages cheaper{host}"
    ]


#: metric -> what is said of it
_COSTS = {
    "cpu_user_per_message": "of user time",
    "cpu_system_per_message": "of system time",
    "switches_voluntary_per_message": "voluntary context switches",
    "switches_involuntary_per_message": "involuntary context switches",
    "cpu_client_per_message": "of the client's processor time",
}


def _figure(estimate: Interval, metric: str) -> str:
    """`3.71 µs (3.52 to 3.9)`."""
    if not metric.startswith("cpu_"):
        return f"{estimate.point:.2g} ({estimate.low:.2g} to {estimate.high:.2g})"
    factor, unit = display_scale(estimate.point, "ns")
    point, low, high = (f"{value * factor:.3g}" for value in (estimate.point, estimate.low, estimate.high))
    return f"{point} {show_unit(unit)} ({low} to {high})"

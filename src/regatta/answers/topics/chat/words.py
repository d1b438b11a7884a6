"""Describe the chat server: from how many connections one mode is better than another, and by how much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from regatta.answers.spine.words import listed
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
from regatta.figures.text import show_heap, show_interval

#: below this share of its processors, a server often waits for other processes
_BUSY = 0.8
#: from this share of a window, the JIT compiler distorts the result
_COMPILING = 0.1
#: the server's share of its processors
SHARE = "cpu_share"
#: metric that modes are compared by -> its description
SUBJECTS = {
    DELIVERED[0]: "messages delivered per second",
    LATE[0]: "latency, 99th percentile",
    COST[0]: "server CPU time per message",
}
_NAMES = {"platform": "platform threads", "virtual": "virtual threads", "selector": "one selector"}


def loop_name(rate: float) -> str:
    """Return `closed loop`, or `10 messages per second and user`."""
    return f"{rate:g} messages per second and user" if rate else "closed loop"


def mode_name(mode: str) -> str:
    """Return `virtual threads`."""
    return _NAMES.get(mode, mode)


def chat_words(chat: Chat) -> tuple[str, ...]:
    """Describe which mode is better, and what limits the results; empty without a chat server."""
    return (
        *(words for metric in _metrics(chat) for words in mode_words(chat, PAIRS, metric)),
        *(words for place in _places(chat) for words in _compiling(chat, place)),
        *(f"{words}; curves show the first measurement only" for words in chat.twice),
    )


def first_words(chat: Chat) -> tuple[str, ...]:
    """Return the first sentences of an answer: modes against platform threads, server cost per message first."""
    return tuple(words for metric in _metrics(chat) for words in mode_words(chat, HEADLINE_PAIRS, metric))


def mode_words(chat: Chat, pairs: Sequence[tuple[str, str]], metric: str) -> tuple[str, ...]:
    """Return one sentence per pair of modes and place: from how many connections one is better, and by how much.

    Args:
        pairs: each mode with its base.
    """
    sentences = []
    for mode, base in pairs:
        for place in _places(chat):
            wanted = (place, mode, base, metric)
            mine = [c for c in chat.contrasts if (c.place, c.mode, c.base, c.metric) == wanted]
            if mine:
                sentences.append(_compared(mine, _where(chat, place)) + _idle(chat, mine))
    return tuple(sentences)


def _metrics(chat: Chat) -> list[str]:
    """Return the metrics that modes are compared by; those of the server alone come first."""
    return [
        metric for metric, _ in (COST, DELIVERED, LATE) if any(c.metric == metric for c in chat.contrasts)
    ]


def _places(chat: Chat) -> list[ChatPlace]:
    return list(dict.fromkeys(curve.place for curve in chat.curves))


def _several(chat: Chat) -> bool:
    return len({curve.place.host for curve in chat.curves}) > 1


def _where(chat: Chat, place: ChatPlace) -> str:
    """Return the start of a sentence on a place, with the benchmark, heap and host that distinguish it."""
    places = _places(chat)
    parts = [place.configuration]
    if len({other.benchmark for other in places}) > 1:
        parts.append(place.benchmark)
    if len({other.heap for other in places}) > 1 and place.heap.mib is not None:
        parts.append(show_heap(place.heap))
    parts.append(loop_name(place.rate))
    if _several(chat):
        parts.append(place.host)
    return ", ".join(parts)


def _idle(chat: Chat, contrasts: Sequence[ModeContrast]) -> str:
    """Warn that messages delivered do not measure the server alone, if its processors were not fully used."""
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
    return f"; the server used {' to '.join(ends)} % of its CPUs, so this is the throughput of server and client together"


def _compared(contrasts: Sequence[ModeContrast], where: str) -> str:
    """Return `temurin-25 g1, closed loop: latency, virtual threads / platform threads: at 20 connections ...`."""
    ordered = sorted(contrasts, key=lambda contrast: contrast.connections)
    first = ordered[0]
    mode, base = mode_name(first.mode), mode_name(first.base)
    outcomes = {"better": f"{mode} better", "worse": f"{base} better", "open": "no significant difference"}
    clauses = [
        f"at {listed([str(c.connections) for c in run])} connections "
        + (
            f"undefined ({run[0].ratio.reason})"
            if verdict == "unknown"
            else f"{outcomes[verdict]}, {listed([show_interval(c.ratio) for c in run])}"
        )
        for verdict, run in ((verdict, list(run)) for verdict, run in groupby(ordered, lambda c: c.verdict))
    ]
    return f"{where}: {SUBJECTS[first.metric]}, {mode} / {base}: {'; '.join(clauses)}"


def _compiling(chat: Chat, place: ChatPlace) -> list[str]:
    """Report windows in which the JIT compiler was active, so that messages cost more than later."""
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
    return [
        f"{_where(chat, place)}: JIT compilation in the windows of {len(late)} of {len(shares)} cells, up to "
        f"{100 * late[mode, connections]:.0f} % of the time ({mode_name(mode)}, {connections} connections); "
        "a longer warm-up may reduce the cost per message"
    ]

"""A/A test: does the pipeline find differences between equal configurations, on this host and in this experiment?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from regatta.answers.spine.context import Context
from regatta.answers.spine.parts import HEAP, INLINED, Place
from regatta.answers.spine.samples import BlockKey, PlannedCell, Series
from regatta.answers.spine.verdicts import shows_difference
from regatta.answers.spine.words import counted
from regatta.figures.text import show_percent
from regatta.host.units import is_counted
from regatta.stats.estimate import Floats, Interval, undefined
from regatta.stats.looks import adjusted_for_looks, level_of_looks
from regatta.stats.proportion import proportion_interval, too_often_p
from regatta.stats.ratios import PAIRED, paired_log_ratio


@dataclass(frozen=True)
class TwinPair:
    """A cell and its twin: the ratio twin/cell, which differs from 1 only by chance."""

    place: Place = field(metadata={INLINED: ("benchmark", "configuration", *HEAP)})
    metric: str
    ratio: Interval
    p: float


@dataclass(frozen=True)
class Gate:
    """The A/A result of one host: how often equal configurations were reported as different."""

    host: str
    pairs: tuple[TwinPair, ...]
    #: pairs whose interval excludes 1
    alarms: int
    #: share of false alarms among all intervals of a few successive blocks, between 0 and 1
    alarm_rate: Interval
    #: probability of at least this many alarms if the intervals are valid
    p: float
    #: the share that the level allows
    allowed: float
    #: None: not enough data
    holds: bool | None
    words: str


#: blocks per short interval: enough for a t interval, few enough for many intervals per experiment
WINDOW_BLOCKS = 5
#: significance level of the test of the intervals, by the number of alarms
_SIGNIFICANT = 0.01
#: fewer short intervals cannot distinguish 5 % from 30 %
_LEAST_WINDOWS = 8


def judge_gates(context: Context) -> tuple[Gate, ...]:
    """Judge the pipeline by the twins of each host.

    Besides one interval per pair, successive blocks give many short intervals. Their share of false alarms is compared
    with the share that the level allows. Of a cell with several sets of parameters only the first counts, because sets of
    one process are not independent.

    Returns:
        One gate per host with twins, in plan order.
    """
    twins, hosts = context.samples.twins, dict.fromkeys(cell.place.host for cell, _ in context.samples.twins)
    return tuple(
        _gate(host, [pair for pair in twins if pair[0].place.host == host], context) for host in hosts
    )


def _gate(host: str, twins: Sequence[tuple[PlannedCell, PlannedCell]], context: Context) -> Gate:
    samples, level, looks = context.samples, context.facts.level, context.stops.looks
    pairs: list[TwinPair] = []
    windows = window_alarms = 0
    for cell, twin in twins:
        a, b = (next(iter(samples.own(which)), None) for which in (twin, cell))
        values = _common(a, b)
        counts = a is not None and is_counted(a.unit)
        nominal = paired_log_ratio(values[:, 0], values[:, 1], level_of_looks(level, looks), counts)
        contrast = adjusted_for_looks(nominal, level, looks)
        ratio = contrast.interval
        pairs.append(TwinPair(cell.place, cell.metric, ratio, contrast.p))
        for short in _windows(values, level, counts):
            windows += 1
            window_alarms += short
    alarms = sum(shows_difference(pair.ratio) for pair in pairs)
    if windows:
        rate = proportion_interval(window_alarms, windows, level)
    else:
        rate = undefined(0, level, PAIRED, f"fewer than {WINDOW_BLOCKS} blocks with a cell and its twin")
    p = too_often_p(window_alarms, windows, 1.0 - level) if windows else math.nan
    judged = sum(not math.isnan(pair.ratio.low) for pair in pairs)
    holds = None if windows < _LEAST_WINDOWS else p >= _SIGNIFICANT
    return Gate(
        host=host,
        pairs=tuple(pairs),
        alarms=alarms,
        alarm_rate=rate,
        p=p,
        allowed=1.0 - level,
        holds=holds,
        words=_words(host, judged, alarms, windows, window_alarms, level, holds),
    )


def _common(a: Series | None, b: Series | None) -> Floats:
    """Return shape (blocks, 2): values of both in the blocks that contain both, in round order."""
    if a is None or b is None:
        return np.empty((0, 2))
    keys: list[BlockKey] = sorted(a.by_block.keys() & b.by_block.keys(), key=lambda key: (key[0], key[1]))
    return np.array([(a.by_block[key], b.by_block[key]) for key in keys], dtype=np.float64).reshape(-1, 2)


def _windows(values: Floats, level: float, counted: bool) -> list[bool]:
    """Return for each run of successive blocks whether its interval excludes 1; skip undefined intervals.

    Args:
        values: shape (blocks, 2), of both twins.
        level: confidence of each interval, between 0 and 1.
        counted: whether the values are exact counts.
    """
    found = []
    for first in range(0, len(values) - WINDOW_BLOCKS + 1, WINDOW_BLOCKS):
        part = values[first : first + WINDOW_BLOCKS]
        ratio = paired_log_ratio(part[:, 0], part[:, 1], level, counted).interval
        if not math.isnan(ratio.low):
            found.append(shows_difference(ratio))
    return found


def _words(
    host: str, judged: int, alarms: int, windows: int, window_alarms: int, level: float, holds: bool | None
) -> str:
    if not judged:
        return f"{host}: no values of a cell and its twin yet"
    found = f"{host}: significant difference in {alarms} of {counted(judged, 'pair')} of equal configurations"
    if holds is None:
        return f"{found}; too few blocks to check the intervals"
    share = (
        f"false alarms in {window_alarms} of {windows} intervals of {WINDOW_BLOCKS} blocks "
        f"({show_percent(window_alarms / windows, 2)}, expected {show_percent(1.0 - level)})"
    )
    if holds:
        return f"{found}; {share}: no evidence against the intervals"
    return f"{found}; {share}: intervals are too narrow, do not rely on the differences above"

"""Warn about values whose intervals promise too much: rare slow runs, and times at the resolution of a clock."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regatta.answers.spine.names import Names, place_words
from regatta.answers.spine.samples import PlannedCell, Samples, Series
from regatta.answers.spine.words import is_speed
from regatta.figures.text import show_brief, show_quantity
from regatta.host.journal.modes import slow_runs
from regatta.host.units import UNITS
from regatta.stats.resolution import coarse_step

#: number of named series; the others are counted, so that the note fits the first screen
_NAMED = 2
_NS = 1e-9


@dataclass(frozen=True)
class SlowRuns:
    """The `slow` worst of `n` values of a series: `least` to `most` percent worse than the geometric mean of the others."""

    series: Series
    slow: int
    n: int
    least: float
    most: float


def doubtful_values(samples: Samples, names: Names, theta_percent: float) -> tuple[str, ...]:
    """Return the warnings about the cells' own metrics."""
    coarse = [(series, step) for series in _own(samples) if (step := clock_step(series))]
    skipped = {id(series) for series, _ in coarse}
    slow = [
        one
        for series in _own(samples)
        if id(series) not in skipped and (one := rare_slow_runs(series, theta_percent)) is not None
    ]
    return (*_slow_words(slow, names), *_coarse_words(coarse, names))


def rare_slow_runs(series: Series, theta_percent: float) -> SlowRuns | None:
    """Return the rare slow runs of a series; None if it shows none."""
    values = series.values
    if not values.size or not (np.isfinite(values).all() and float(values.min()) > 0.0):
        return None
    worse = np.log(values) * (1.0 if series.cell.better == "lower" else -1.0)
    slow = slow_runs(worse.tolist(), math.log1p(theta_percent / 100.0))
    if not slow:
        return None
    ordered = np.sort(worse)
    distance = ordered[-slow:] - float(ordered[:-slow].mean())
    percent = 100.0 * np.abs(np.expm1(distance if series.cell.better == "lower" else -distance))
    return SlowRuns(series, slow, values.size, float(percent[0]), float(percent[-1]))


def clock_step(series: Series) -> float:
    """Return the step of a coarse clock in ns; 0 for a fine one, and for values that are not times."""
    dimension, base = UNITS.get(series.unit, ("", 1.0))
    return coarse_step(series.values * (base / _NS)) if dimension == "time" else 0.0


def _own(samples: Samples) -> Iterator[Series]:
    return (series for cell in samples.cells for series in samples.own(cell))


def _slow_words(found: list[SlowRuns], names: Names) -> list[str]:
    """Return one sentence, with the most distant slow runs first."""
    found = sorted(found, key=lambda one: -one.most)
    each = [f"{_where(one.series.cell, names)}: {_seen(one)}" for one in found]
    return [
        f"rare slow runs: {_first(each)}; intervals of values without such runs are likely too narrow"
        for _ in each[:1]
    ]


def _seen(one: SlowRuns) -> str:
    """Return `2 of 10 invocations are 18 to 22 % slower`."""
    cell = one.series.cell
    if is_speed(one.series.unit, cell.better):
        word = "slower"
    else:
        word = f"{'higher' if cell.better == 'lower' else 'lower'} in {cell.metric}"
    least, most = show_brief(one.least, 2), show_brief(one.most, 2)
    how = most if least == most else f"{least} to {most}"
    return f"{one.slow} of {one.n} invocations {'is' if one.slow == 1 else 'are'} {how} % {word}"


def _coarse_words(found: list[tuple[Series, float]], names: Names) -> list[str]:
    """Return one sentence, with the coarsest step relative to its mean first."""
    found = sorted(found, key=lambda one: one[0].values.mean() * UNITS[one[0].unit][1] / one[1])
    each = [f"{_where(series.cell, names)}: {_grid(series, step)}" for series, step in found]
    return [f"clock too coarse: {_first(each)}; measure more work per value" for _ in each[:1]]


def _grid(series: Series, step: float) -> str:
    """Return `values of elapsed are multiples of 4 ms, with a mean of 4.8 ms`."""
    mean = show_quantity(float(series.values.mean()), series.unit)
    if float(series.values.min()) == float(series.values.max()):
        return f"all {series.values.size} values of {series.metric} are {mean}"
    return f"values of {series.metric} are multiples of {show_quantity(step, 'ns')}, with a mean of {mean}"


def _first(each: list[str]) -> str:
    more = [f"{len(each) - _NAMED} further series"] if len(each) > _NAMED else []
    return "; ".join([*each[:_NAMED], *more])


def _where(cell: PlannedCell, names: Names) -> str:
    """Return `apps/h2:small, 2x minheap, temurin-21 g1`; the host if there are several."""
    host = names.host(cell)
    return place_words(cell.place) + ("" if host == "this host" else f", {cell.place.host}")

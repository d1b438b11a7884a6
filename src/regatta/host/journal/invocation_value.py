"""Compute the value of an invocation on the host. Pure; standard library only, because the runner carries it.

The analysis computes the published values from the same iterations with the same rules. The values here serve only the
stopping rules. Hosts do not detect change points: the last half of the iterations stands for the steady state.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any


def invocation_values(
    iterations: Iterable[Sequence[Any]], metric: str, steady: Mapping[str, Any], summary: str = "mean"
) -> dict[tuple[str, str], float]:
    """Return the value of each series of a metric.

    Args:
        iterations: rows of a record: iteration, metric, value, unit, operations, parameters.
        metric: the metric of the cell.
        steady: `method`, `warmup`, `window`, `threshold` of the experiment.
        summary: of the benchmark, one of `SUMMARIES`; `fixed` applies it to the iterations after warm-up.

    Returns:
        (unit, parameters) -> value, without series that have none (steady state not reached).
    """
    series: dict[tuple[str, str], list[tuple[int, float]]] = {}
    measured, all_iterations = set(), set()
    for iteration, name, value, unit, _, parameters in iterations:
        all_iterations.add(iteration)
        if name == metric:
            measured.add(iteration)
            text = _canonical(parameters) if parameters else ""
            series.setdefault((unit, text), []).append((iteration, float(value)))
    found = {}
    # An invocation with a single measured iteration (an external program) has no warm-up to exclude. This does not
    # hold for a single line in one of several series: it can belong to a warm-up iteration.
    how = {**steady, "summary": summary, "once": len(measured) == 1, "first": min(all_iterations, default=0)}
    for key, rows in series.items():
        for phased, number in _numbers(key, sorted(rows), how):
            if number is not None and math.isfinite(number):
                found[phased] = number
    return found


def _numbers(
    key: tuple[str, str], rows: list[tuple[int, float]], steady: Mapping[str, Any]
) -> list[tuple[tuple[str, str], float | None]]:
    if steady["method"] != "replay" or steady["once"]:
        return [(key, _number(rows, steady))]
    unit, parameters = key
    given = json.loads(parameters) if parameters else {}
    # The phase comes last, as in the query of the analysis.
    names = ({**given, "phase": phase} for phase in ("mix", "stable"))
    mix, stable = (json.dumps(name, separators=(",", ":"), ensure_ascii=False) for name in names)
    later = {**steady, "method": "fixed", "summary": "mean"}
    return [((unit, mix), _first(rows, steady)), ((unit, stable), _number(rows, later))]


def _first(rows: list[tuple[int, float]], steady: Mapping[str, Any]) -> float | None:
    return rows[0][1] if steady["once"] or rows[0][0] == steady["first"] else None


def _canonical(parameters: Any) -> str:
    """Format parameters as in the database."""
    return json.dumps(parameters, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _number(rows: list[tuple[int, float]], steady: Mapping[str, Any]) -> float | None:
    method = steady["method"]
    values = [value for _, value in rows]
    if method == "startup" or steady["once"]:
        return _first(rows, steady)
    if method == "cov":
        return _first_steady_mean(values, steady["window"], steady["threshold"])
    if method == "changepoints":
        return _mean(values[len(values) // 2 :])
    rest = [value for iteration, value in rows if iteration >= steady["warmup"]]
    return _SUMMARY[steady["summary"]](rest) if rest else None


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


_SUMMARY: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": _mean,
    "median": statistics.median,
    "minimum": min,
    "maximum": max,
}


def _first_steady_mean(values: Sequence[float], window: int, threshold: float) -> float | None:
    """Return the mean of the first `window` consecutive values with a coefficient of variation below `threshold`."""
    for start in range(len(values) - window + 1):
        part = values[start : start + window]
        mean = math.fsum(part) / window
        if mean > 0 and statistics.stdev(part, mean) / mean < threshold:
            return mean
    return None

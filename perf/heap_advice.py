"""Errors of heap predictions on published measurements, next to simple baselines. README.md explains the output.

    perf/heap_advice FOLDER [--json] [--leave-one-out]

FOLDER has perf.csv.gz (benchmark, configuration, heap_factor, invocation, iteration, ms) and, optionally, gc.csv.gz (benchmark,
heap_factor, start_s, pause_ms).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import json
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from regatta.gc.collector_choice import COLLECTORS, RELEVANT, choose_collector
from regatta.gc.heap_curve import HeapPoint, fit_curve, pause_share
from regatta.gc.heap_priors import HEAP_PRIORS, HeapPriors

#: as in the published configurations: OpenJDK 21 with 32 hardware threads
CONFIGURATION = "open-jdk-21.server.{}.t-32"
MEASURED = (2.0, 6.0)
#: steady iterations, counted from 0
STEADY = range(5, 10)
TIGHT = 1.5
#: shares of the minimum heap that count as live data in the baseline
LIVE = (0.0, 0.5, 0.7, 0.9)


@dataclass
class Program:
    """Measurements of one program: heap factor -> seconds of each invocation, and collector -> the same at 2 x minheap."""

    minheap: float = 1.0
    times: dict[float, list[float]] = field(default_factory=dict)
    collectors: dict[str, list[float]] = field(default_factory=dict)
    shares: dict[float, float] = field(default_factory=dict)


@dataclass
class Errors:
    """Relative errors, predicted / measured - 1, by heap factor."""

    name: str
    found: list[tuple[float, float]] = field(default_factory=list)

    def row(self, keep: Callable[[float], bool] = lambda factor: True) -> dict[str, float | str]:
        """Return median, 90th percentile and maximum of the absolute errors at the heap factors to keep, in percent."""
        errors = np.abs([error for factor, error in self.found if keep(factor)]) * 100
        if errors.size == 0:
            return {"name": self.name, "n": 0, "median": math.nan, "p90": math.nan, "max": math.nan}
        return {
            "name": self.name,
            "n": int(errors.size),
            "median": float(np.median(errors)),
            "p90": float(np.percentile(errors, 90)),
            "max": float(errors.max()),
        }


def rows_of(folder: Path, name: str) -> Iterator[dict[str, str]]:
    """Return the rows of a CSV file, compressed or not; none if it is missing."""
    for path, opened in ((folder / f"{name}.csv.gz", gzip.open), (folder / f"{name}.csv", open)):
        if path.exists():
            with opened(path, "rt", encoding="utf-8") as file:
                yield from csv.DictReader(file)
            return


def number(row: Mapping[str, str], name: str, otherwise: float = math.nan) -> float:
    """Return a cell as a number; `otherwise` if it is missing or is none."""
    try:
        return float(row.get(name) or otherwise)
    except ValueError:
        return otherwise


def read_programs(folder: Path) -> dict[str, Program]:
    """Read all programs of a folder."""
    values: dict[tuple[str, str, float], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows_of(folder, "perf"):
        ms = number(row, "ms")
        # Without a column of iterations, every row counts.
        if math.isfinite(ms) and ms > 0 and number(row, "iteration", STEADY[0]) in STEADY:
            key = (row["benchmark"], row["configuration"], number(row, "heap_factor", 2.0))
            values[key][row.get("invocation") or "0"].append(ms / 1e3)
    programs: dict[str, Program] = defaultdict(Program)
    collectors = {CONFIGURATION.format(name): name for name in COLLECTORS}
    for (benchmark, configuration, factor), invocations in values.items():
        name = collectors.get(configuration)
        means = [float(np.mean(times)) for times in invocations.values()]
        if name == "G1":
            programs[benchmark].times[factor] = means
        if name is not None and factor == 2.0:
            programs[benchmark].collectors[name] = means
    logs: dict[tuple[str, float], list[tuple[float, float]]] = defaultdict(list)
    for row in rows_of(folder, "gc"):
        start, pause = number(row, "start_s"), number(row, "pause_ms")
        if math.isfinite(start) and pause >= 0:
            logs[row["benchmark"], number(row, "heap_factor", 2.0)].append((start, pause))
    for (benchmark, factor), log in logs.items():
        starts, pauses = zip(*sorted(log), strict=True)
        if benchmark in programs:
            programs[benchmark].shares[factor] = pause_share(starts, pauses)
    return dict(programs)


def predict(program: Program, priors: HeapPriors) -> dict[float, tuple[float, float, float]]:
    """Predict all other heap factors: factor -> (time, low, high). The unit of heaps is the minimum heap, so it cancels."""
    points = [
        HeapPoint(factor, program.times[factor], program.shares.get(factor, math.nan)) for factor in MEASURED
    ]
    curve = fit_curve(points, 1.0, priors)
    found = {factor: curve.at(factor) for factor in others(program)}
    return {factor: (one.seconds, one.low, one.high) for factor, one in found.items()}


def others(program: Program) -> list[float]:
    """Return the heap factors to predict."""
    return sorted(factor for factor in program.times if factor not in MEASURED and factor >= 1)


def by_live(program: Program, factor: float, live: float) -> float:
    """Predict by a + k / (h - live) through the two measured heaps."""
    low, high = (float(np.mean(program.times[one])) for one in MEASURED)
    x, y = (1 / (one - live) for one in MEASURED)
    k = (low - high) / (x - y)
    return high + k * (1 / (factor - live) - y)


def nearest(program: Program, factor: float) -> float:
    """Predict by the nearest measured factor; the larger of two equally near."""
    return float(np.mean(program.times[min(reversed(MEASURED), key=lambda one: abs(one - factor))]))


def errors_of(
    name: str, programs: Mapping[str, Program], predicted: Callable[[str, Program, float], float]
) -> Errors:
    """Return the errors of one kind of prediction over all programs and other heap factors."""
    errors = Errors(name)
    for benchmark, program in programs.items():
        for factor in others(program):
            measured = float(np.mean(program.times[factor]))
            errors.found.append((factor, predicted(benchmark, program, factor) / measured - 1))
    return errors


def leave_one_out(programs: Mapping[str, Program]) -> Errors:
    """Choose the live share and the power again without each program, by the mean absolute log error, and predict it."""
    candidates = [
        replace(HEAP_PRIORS, live_share=live, power=power)
        for live, power in itertools.product((0.65, 0.7, 0.75, 0.8, 0.85, 0.9), (1.0, 1.25, 1.5, 1.75, 2.0))
    ]
    by_priors = []
    for priors in candidates:
        times = {name: predict(program, priors) for name, program in programs.items()}
        by_priors.append(errors_of("", programs, lambda name, _, factor, t=times: t[name][factor][0]))  # type: ignore[misc]
    lengths = [len(others(program)) for program in programs.values()]
    starts = np.concatenate(([0], np.cumsum(lengths)))
    logs = np.array([[abs(math.log1p(error)) for _, error in one.found] for one in by_priors])
    result = Errors("leave one program out")
    for first, last in itertools.pairwise(starts):
        rest = np.delete(logs, np.arange(first, last), axis=1)
        result.found += by_priors[int(rest.mean(axis=1).argmin())].found[first:last]
    return result


def collector_pairs(programs: Mapping[str, Program]) -> dict[str, int]:
    """Decide every pair of collectors at 2 x minheap that differs by more than 10 %, from the profile of G1 only."""
    counts = {"right": 0, "wrong": 0, "refused": 0}
    for name, program in programs.items():
        for a, b in itertools.combinations(COLLECTORS, 2):
            if a not in program.collectors or b not in program.collectors:
                continue
            ratio = float(np.mean(program.collectors[a]) / np.mean(program.collectors[b]))
            if max(ratio, 1 / ratio) <= RELEVANT:
                continue
            choice = choose_collector(a, b, program.shares.get(2.0, math.nan), without=name)
            right = choice.faster == (a if ratio < 1 else b)
            counts["refused" if not choice.faster else "right" if right else "wrong"] += 1
    return counts


def main() -> int:
    """Print the errors and return the exit code: 0 if all three are below those of all baselines, else 1; 3 without data."""
    parser = argparse.ArgumentParser(description="Errors of heap predictions next to baselines.")
    parser.add_argument("folder", type=Path, help="folder with perf.csv.gz and, optionally, gc.csv.gz")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--leave-one-out", action="store_true", help="also refit the priors without each program"
    )
    arguments = parser.parse_args()
    every = read_programs(arguments.folder)
    programs = {name: one for name, one in every.items() if set(MEASURED) <= set(one.times) and others(one)}
    if not programs:
        print(
            f"{arguments.folder}: no program with G1 at 2 and 6 x minheap and another heap", file=sys.stderr
        )
        return 3
    for name in sorted(set(every) - set(programs)):
        print(f"{name}: skipped, because G1 at 2 and 6 x minheap or other heaps are missing", file=sys.stderr)
    predicted = {name: predict(program, HEAP_PRIORS) for name, program in programs.items()}
    ours = errors_of("Regatta", programs, lambda name, _, factor: predicted[name][factor][0])
    shown = [ours]
    if arguments.leave_one_out and len(programs) > 2:
        shown.append(leave_one_out(programs))
    baselines = [
        errors_of(
            f"a + k / (h - {live:g} minheap)",
            programs,
            lambda _, one, factor, live=live: by_live(one, factor, live),
        )  # type: ignore[misc]
        for live in LIVE
    ]
    baselines.append(errors_of("nearest factor", programs, lambda _, one, factor: nearest(one, factor)))
    covered = [
        low <= float(np.mean(programs[name].times[factor])) <= high
        for name, found in predicted.items()
        for factor, (_, low, high) in found.items()
    ]
    pairs = collector_pairs(programs)
    tables = {
        "all": [one.row() for one in [*shown, *baselines]],
        "from 1.5 x minheap": [one.row(lambda factor: factor >= TIGHT) for one in [*shown, *baselines]],
        "tight end (refused)": [one.row(lambda factor: factor < TIGHT) for one in [*shown, *baselines]],
    }
    if arguments.json:
        print(
            json.dumps(
                {
                    "programs": len(programs),
                    "errors": tables,
                    "covered": float(np.mean(covered)),
                    "pairs": pairs,
                }
            )
        )
    else:
        for title, rows in tables.items():
            print(f"{len(programs)} programs, {title}: absolute relative error, %")
            for row in rows:
                print(
                    f"  {row['name']:28} n {row['n']:4}  median {row['median']:6.2f}  p90 {row['p90']:6.1f}  max {row['max']:6.1f}"
                )
        print(f"95 % intervals that contain the measured mean: {100 * float(np.mean(covered)):.0f} %")
        print("pairs of collectors: " + ", ".join(f"{count} {verdict}" for verdict, count in pairs.items()))
    first, *rest = (one.row() for one in (ours, *baselines))
    return 0 if all(first[key] < row[key] for key in ("median", "p90", "max") for row in rest) else 1  # type: ignore[operator]


if __name__ == "__main__":
    sys.exit(main())

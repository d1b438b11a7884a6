"""Errors of heap predictions for programs that are not used to choose their priors. README.md explains the output.

    perf/run heap_advice [FOLDER] [--json]

It takes about two minutes. Without FOLDER, the data are `tests/reference/dacapo_heaps.csv` and the ratios of
`regatta.models.gc.collector_choice`. FOLDER has perf.csv.gz (benchmark, configuration, heap_factor, invocation, iteration, ms) and,
optionally, gc.csv.gz (benchmark, heap_factor, start_s, pause_ms).
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from regatta.models.gc.collector_choice import COLLECTORS, RATIOS, RELEVANT, choose_collector
from regatta.models.gc.heap_curve import HEAP_PRIORS, HeapPoint, HeapPriors, fit_curve

REFERENCE = Path(__file__).parents[1] / "tests" / "reference" / "dacapo_heaps.csv"
#: as in the published configurations: OpenJDK 21 with 32 hardware threads
CONFIGURATION = "open-jdk-21.server.{}.t-32"
#: The heap factors from which all others are predicted. The simple formulas use the first design.
DESIGNS = ((2.0, 6.0), (3.0, 8.0), (1.0, 3.0, 6.0), (2.0, 3.0, 4.0, 8.0))
MEASURED = DESIGNS[0]
#: steady iterations, counted from 0
STEADY = range(5, 10)
TIGHT, REFUSED = 1.5, "below 1.5 x minheap (refused)"
RANGES: Mapping[str, Callable[[float], bool]] = {
    "all": lambda _: True,
    "from 1.5 x minheap": lambda factor: factor >= TIGHT,
    REFUSED: lambda factor: factor < TIGHT,
}
#: shares of the minimum heap that count as live data in the simple formulas, and that of the goal
LIVE, LIVE_OF_GOAL, FORMULA = (0.0, 0.5, 0.7, 0.9), 0.7, "a + k / (h - {:g} minheap)"
LEVEL, COVERED, WRONG = 0.95, 0.93, 0.05
#: The prior values to choose from, in the order in which they are varied. Narrower distributions are not offered: the data hardly
#: prefer them, and a new program can lie outside.
VALUES: Mapping[str, Sequence[float]] = {
    "overhead_sd": (0.05, 0.1, 0.15, 0.2),
    "live_share": (0.7, 0.8, 0.9),
    "live_sd": (0.15, 0.2, 0.3),
    "power": (1.25, 1.5, 1.75, 2.0),
    "power_sd": (0.5, 0.7),
}
#: The least of these is chosen with which the intervals cover enough times in each design.
MODEL_SDS = (0.003, 0.004, 0.005, 0.006, 0.008, 0.01, 0.015)
NAMES = (*VALUES, "model_sd")
#: Where the choice starts: round values in the middle of the ranges.
START = HeapPriors(0.8, 0.15, 1.5, 0.5, model_sd=0.006, overhead_sd=0.1)


@dataclass(frozen=True)
class Held:
    """A heap that was not used, with its prediction. `score`: log of the predictive density at the measured mean."""

    factor: float
    measured: float
    seconds: float
    low: float
    high: float
    score: float

    @property
    def covered(self) -> bool:
        """Return whether the interval contains the measured mean."""
        return self.low <= self.measured <= self.high

    @property
    def error(self) -> float:
        """Return predicted / measured - 1."""
        return self.seconds / self.measured - 1


@dataclass
class Program:
    """Measurements of one program: heap factor -> seconds of each invocation, and collector -> the same at 2 x minheap."""

    times: dict[float, list[float]] = field(default_factory=dict)
    collectors: dict[str, list[float]] = field(default_factory=dict)
    shares: dict[float, float] = field(default_factory=dict)

    def mean(self, factor: float) -> float:
        """Return the mean time at a heap factor in seconds."""
        return float(np.mean(self.times[factor]))

    def others(self, design: Sequence[float] = MEASURED) -> list[float]:
        """Return the heap factors to predict."""
        return sorted(factor for factor in self.times if factor not in design and factor >= 1)


# Data


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


def read_reference(path: Path = REFERENCE) -> dict[str, Program]:
    """Read the stored means of G1, and the stored ratios of the other collectors at 2 x minheap."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    programs: dict[str, Program] = defaultdict(Program)
    for row in csv.DictReader(lines):
        program, factor = programs[row["benchmark"]], float(row["heap_factor"])
        program.times[factor] = [float(text) for text in row["seconds"].split()]
        program.shares[factor] = number(row, "pause_share")
    for benchmark, ratios in RATIOS.items():
        known = zip(COLLECTORS, ratios, strict=True)
        programs[benchmark].collectors = {name: [ratio] for name, ratio in known if math.isfinite(ratio)}
    return dict(programs)


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
        if benchmark in programs:
            programs[benchmark].shares[factor] = pause_share(sorted(log))
    return dict(programs)


def pause_share(log: Sequence[tuple[float, float]]) -> float:
    """Return the share of the run time in pauses, from the second half of the logged time: the first is warm-up.

    Args:
        log: start of each pause in seconds since the start of the process, ascending, and its duration in milliseconds, at least 0.

    Returns:
        Sum of pauses / time from the first to the last counted start; NaN with fewer than three pauses.
    """
    starts, pauses = np.array(log).T
    counted = starts >= (starts[0] + starts[-1]) / 2
    # The last pause is outside of the time between the starts.
    elapsed = float(np.ptp(starts[counted]))
    if counted.sum() < 3 or elapsed <= 0:
        return math.nan
    return float(min(pauses[counted][:-1].sum() / 1e3 / elapsed, 0.99))


# Predictions


def held_out(program: Program, design: Sequence[float], priors: HeapPriors) -> list[Held]:
    """Predict all heaps that are not in the design. The unit of heaps is the minimum heap, so it cancels."""
    if not set(design) <= set(program.times):
        return []
    points = [
        HeapPoint(factor, program.times[factor], program.shares.get(factor, math.nan)) for factor in design
    ]
    curve = fit_curve(points, 1.0, priors)
    found = []
    for factor in program.others(design):
        one, times, logs = curve.at(factor, LEVEL).time, curve.times_at(factor), np.log(program.times[factor])
        error = float(logs.std(ddof=1)) / math.sqrt(logs.size) if logs.size > 1 else 0.01
        sd = np.hypot(curve.model_errors(times), error)
        z = (math.log(program.mean(factor)) - np.log(times)) / sd
        score = float(np.logaddexp.reduce(-0.5 * z**2 - np.log(sd)) - math.log(z.size))
        found.append(Held(factor, program.mean(factor), one.point, one.low, one.high, score))
    return found


class LeaveOneOut:
    """Priors chosen without a program, and the predictions of that program."""

    def __init__(
        self,
        programs: Mapping[str, Program],
        designs: Sequence[Sequence[float]] = DESIGNS,
        values: Mapping[str, Sequence[float]] = VALUES,
    ) -> None:
        self.programs, self.designs, self.values = programs, designs, values
        self._known: dict[HeapPriors, dict[str, list[list[Held]]]] = {}

    def held(self, priors: HeapPriors, without: str = "") -> list[list[Held]]:
        """Return the predictions of each design for all programs but one."""
        if priors not in self._known:
            self._known[priors] = {
                name: [held_out(program, design, priors) for design in self.designs]
                for name, program in self.programs.items()
            }
        used = [found for name, found in self._known[priors].items() if name != without]
        return [list(itertools.chain.from_iterable(each)) for each in zip(*used, strict=True)]

    def chosen(self, without: str = "") -> HeapPriors:
        """Choose the priors for which the other programs are the most likely, each program predicted from some of its heaps.

        One value is chosen after the other until none changes. The model error is then the least with which the intervals
        contain the nominal share of the times of the other programs in each design: that error differs between programs, so that the most
        likely one is too small for some.

        Source: Gneiting and Raftery, "Strictly proper scoring rules, prediction, and estimation", JASA 102 (2007).
        """

        def score(priors: HeapPriors) -> float:
            return math.fsum(one.score for each in self.held(priors, without) for one in each)

        def enough(priors: HeapPriors) -> bool:
            return all(
                np.mean([one.covered for one in each]) >= LEVEL for each in self.held(priors, without) if each
            )

        best, before = START, None
        while best != before:
            before = best
            for name, values in self.values.items():
                best = max((replace(best, **{name: value}) for value in values), key=score)
        errors = [replace(best, model_sd=value) for value in MODEL_SDS]
        return next(filter(enough, errors), errors[-1])

    def predictions(self) -> dict[str, dict[Sequence[float], list[Held]]]:
        """Return program -> design -> predictions, with priors chosen without the program."""
        found = {}
        for name, program in self.programs.items():
            priors = self.chosen(name)
            found[name] = {design: held_out(program, design, priors) for design in self.designs}
        return found


def by_live(program: Program, factor: float, live: float) -> float:
    """Predict by a + k / (h - live) through the two measured heaps."""
    low, high = (program.mean(one) for one in MEASURED)
    x, y = (1 / (one - live) for one in MEASURED)
    k = (low - high) / (x - y)
    return high + k * (1 / (factor - live) - y)


def nearest(program: Program, factor: float) -> float:
    """Predict by the nearest measured factor; the larger of two equally near."""
    return program.mean(min(reversed(MEASURED), key=lambda one: abs(one - factor)))


def errors_of(
    programs: Mapping[str, Program], predicted: Callable[[Program, float], float]
) -> list[tuple[float, float]]:
    """Return heap factor and predicted / measured - 1 of one formula, over all programs."""
    return [
        (factor, predicted(program, factor) / program.mean(factor) - 1)
        for program in programs.values()
        for factor in program.others()
    ]


def collector_pairs(programs: Mapping[str, Program], firsts: Sequence[str] = COLLECTORS) -> dict[str, int]:
    """Decide every pair of collectors at 2 x minheap from the profile of G1 and from other programs.

    `firsts`: collectors that can be the first of a pair, in the order of COLLECTORS. In the result, `near` counts decided pairs
    that differ by at most 10 %; they count as wrong if the other one is faster.
    """
    counts = {"right": 0, "wrong": 0, "near": 0, "refused": 0}
    for name, program in programs.items():
        for a, b in itertools.combinations(COLLECTORS, 2):
            if a not in firsts or a not in program.collectors or b not in program.collectors:
                continue
            ratio = float(np.mean(program.collectors[a]) / np.mean(program.collectors[b]))
            differ = max(ratio, 1 / ratio) > RELEVANT
            choice = choose_collector(a, b, program.shares.get(2.0, math.nan), without=name)
            if not choice.faster:
                counts["refused"] += differ
            elif choice.faster == (b if ratio < 1 else a) and ratio != 1:
                counts["wrong"] += 1
            else:
                counts["right" if differ else "near"] += 1
    return counts


# Output


def error_row(name: str, found: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return median, 90th percentile and maximum of absolute errors, in percent; NaN without predictions."""
    errors = 100 * np.abs([error for _, error in found] or [math.nan])
    return {
        "name": name,
        "n": len(found),
        "median": float(np.median(errors)),
        "p90": float(np.percentile(errors, 90)),
        "max": float(errors.max()),
    }


def coverage_row(name: str, held: Sequence[Held]) -> dict[str, Any]:
    """Return the share of intervals that contain the measured mean, and half of their width, in percent of the prediction."""
    halves = [50 * (one.high - one.low) / one.seconds for one in held] or [math.nan]
    return {
        "name": name,
        "n": len(held),
        "covered": 100 * float(np.mean([float(one.covered) for one in held] or [math.nan])),
        "half_width": float(np.median(halves)),
        "half_width_p90": float(np.percentile(halves, 90)),
    }


def goal(name: str, value: float, bound: float, least: bool = False) -> dict[str, Any]:
    """Return a goal: at most `bound`, or at least."""
    met = value >= bound if least else value <= bound
    return {"name": name, "value": value, "goal": f"{'>=' if least else '<='} {bound:.2f}", "met": met}


def document_of(programs: Mapping[str, Program]) -> dict[str, Any]:
    """Return all figures and goals."""
    study = LeaveOneOut(programs)
    predictions = study.predictions()
    of_design = {design: [one for each in predictions.values() for one in each[design]] for design in DESIGNS}
    errors = {"Regatta": [(one.factor, one.error) for one in of_design[MEASURED]]}
    for live in LIVE:
        errors[FORMULA.format(live)] = errors_of(programs, partial(by_live, live=live))
    errors["nearest factor"] = errors_of(programs, nearest)
    tables = {
        title: [error_row(name, [one for one in found if keep(one[0])]) for name, found in errors.items()]
        for title, keep in RANGES.items()
    }
    coverage = [
        coverage_row(
            f"{' '.join(f'{one:g}' for one in design)}, {title}", [one for one in held if keep(one.factor)]
        )
        for design, held in of_design.items()
        for title, keep in RANGES.items()
        if title != REFUSED
    ]
    pairs = collector_pairs(programs)
    decided = pairs["right"] + pairs["wrong"] + pairs["near"]
    goals = [
        goal(f"coverage, {row['name']} (%)", row["covered"], 100 * COVERED, True)
        for row in coverage
        if row["n"]
    ]
    for title, rows in tables.items():
        p90 = {row["name"]: row["p90"] for row in rows}
        if title != REFUSED:
            goals.append(
                goal(f"90th percentile, {title} (%)", p90["Regatta"], p90[FORMULA.format(LIVE_OF_GOAL)])
            )
    goals.append(goal("wrong pairs of collectors (%)", 100 * pairs["wrong"] / max(decided, 1), 100 * WRONG))
    return {
        "programs": len(programs),
        "priors": {name: getattr(study.chosen(), name) for name in NAMES},
        "package": {name: getattr(HEAP_PRIORS, name) for name in NAMES},
        "errors": tables,
        "coverage": coverage,
        "pairs": pairs,
        "pairs_with_g1": collector_pairs(programs, ("G1",)),
        "goals": goals,
    }


def show(document: Mapping[str, Any]) -> None:
    """Print the figures as tables."""
    for title, rows in document["errors"].items():
        print(f"{document['programs']} programs, {title}: absolute relative error from 2 x and 6 x, %")
        for row in rows:
            print("  {name:28} n {n:4}  median {median:6.2f}  p90 {p90:6.2f}  max {max:6.1f}".format(**row))
    print(f"{100 * LEVEL:g} % intervals by measured heap factors: coverage and half width, %")
    for row in document["coverage"]:
        print(
            "  {name:31} n {n:4}  covered {covered:5.1f}  half width: median {half_width:5.2f}"
            "  p90 {half_width_p90:6.1f}".format(**row)
        )
    for name, title in (("pairs", "pairs of collectors"), ("pairs_with_g1", "pairs with G1")):
        print(f"{title}: " + ", ".join(f"{count} {verdict}" for verdict, count in document[name].items()))
    for name, title in (("priors", "priors chosen from all programs"), ("package", "priors of the package")):
        print(f"{title}: " + ", ".join(f"{key} {value:g}" for key, value in document[name].items()))
    for one in document["goals"]:
        print("{0}  {name}: {value:.2f}, goal {goal}".format("met   " if one["met"] else "MISSED", **one))


def main() -> int:
    """Print the errors and return the exit code: 0 if all goals are met, else 1; 3 without data."""
    parser = argparse.ArgumentParser(description="Errors of heap predictions, leaving one program out.")
    parser.add_argument(
        "folder", type=Path, nargs="?", help="folder with perf.csv.gz; default: the stored means"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    every = read_reference() if arguments.folder is None else read_programs(arguments.folder)
    programs = {name: one for name, one in every.items() if set(MEASURED) <= set(one.times) and one.others()}
    if len(programs) < 3:
        where = arguments.folder or REFERENCE
        expected = "expected three programs or more with G1 at 2 and 6 x minheap and another heap"
        print(f"{where}: {expected} · got {len(programs)}", file=sys.stderr)
        return 3
    for name in sorted(set(every) - set(programs)):
        print(f"{name}: skipped, because G1 at 2 and 6 x minheap or other heaps are missing", file=sys.stderr)
    document = document_of(programs)
    if arguments.json:
        print(json.dumps(document))
    else:
        show(document)
    return 0 if all(one["met"] for one in document["goals"]) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Show how often intervals of `regatta predict` contain the measured value, for applications and systems that were left out.

The data are the predicted and measured times of docs/vectors.md: six applications on six JVMs, and four web servers on three systems of
another machine; and the errors of docs/gc.md: collections of seven applications by the collectors of two JVMs, which are the systems. Their
intervals contain the errors of costs, counts and measurements. The model's own error is fitted to some of them
and added to the others: without one application, without one system, or without both. Ratios of all applications are fitted together,
times apart. A speedup is the ratio of the times of two applications on one system.

The columns are the shares of intervals, at five levels, that contain the difference between prediction and measurement. The Monte-Carlo
error of a share comes from the shares of the applications, whose values depend on each other. `x / ÷` is how far the model's own error
alone reaches, in the median. Of the ratios that were measured to differ from 1, `right`, `open` and `wrong` count the predicted intervals
above, around and below 1 in the measured direction. The last lines are the numbers of `regatta.models.predict.model_error` and
`regatta.models.gc.added_time`, fitted to all data. It takes three seconds.

    .venv/bin/python perf/accuracy/predicting.py
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from frame import ERRORS
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import norm

from regatta.models.gc.added_time import MODEL_ERRORS
from regatta.models.gc.collection_log import CYCLE, FULL, YOUNG
from regatta.models.predict.model_error import OF_LIBRARIES, OF_SYSTEM_CALLS
from regatta.models.vectors.model_error import ModelError

_DOCS = Path(__file__).resolve().parents[2] / "docs"
DOCUMENT, COLLECTIONS = _DOCS / "vectors.md", _DOCS / "gc.md"
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
#: per cent of intervals of 95 %
GOAL = (90.0, 97.0)
#: the systems on which the applications were traced
TRACED = ("17, traced", "bare")
#: half of an interval of 95 % in standard errors: Student's quantile with three degrees of freedom is 3.2, with four 2.8
_IN_ERRORS = 3.0
_NUMBER = r"([\d,.]+) \[([\d,.]+), ([\d,.]+)\]"


@dataclass(frozen=True)
class Cell:
    """Logarithms of a predicted and a measured time, and their variances."""

    application: str
    system: str
    predicted: float
    measured: float
    predicted_variance: float
    measured_variance: float


@dataclass(frozen=True)
class Error:
    """One value that is predicted and measured: log predicted - log measured, with the variances of both."""

    application: str
    #: of a time one, of a ratio two
    systems: tuple[str, ...]
    value: float
    predicted_variance: float
    measured_variance: float
    #: predicted, to the other system
    log_ratio: float
    #: of the ratio of two applications' times
    other: str = ""

    @property
    def applications(self) -> set[str]:
        """Return the application, or both."""
        return {self.application, self.other} - {""}

    @property
    def variance(self) -> float:
        """Return that of both errors."""
        return self.predicted_variance + self.measured_variance


def cells_of(text: str, systems: str = "JVM") -> list[Cell]:
    """Return the cells of all tables whose header is `| JVM | application: predicted, measured | ...`, or another word for it.

    Raises:
        ValueError: a cell is no pair of intervals.
    """
    found = []
    for table in re.findall(
        rf"^\| {systems} \|[^|]*: predicted, measured \|.*\n(?:\|.*\n)+", text, re.MULTILINE
    ):
        head, _, *rows = (
            [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()
        )
        for system, *cells in rows:
            for application, cell in zip(head[1:], cells, strict=True):
                match = re.fullmatch(f"{_NUMBER}, {_NUMBER}", cell)
                if match is None:
                    raise ValueError(f"{DOCUMENT}: expected `P [L, H], M [L, H]`, got {cell!r}")
                p, *p_ends, m, m_low, m_high = (float(one.replace(",", "")) for one in match.groups())
                name = application.partition(":")[0]
                variances = (_variance(*p_ends), _variance(m_low, m_high))
                found.append(Cell(name, system, math.log(p), math.log(m), *variances))
    return found


def _variance(low: float, high: float) -> float:
    return (math.log(high / low) / 2.0 / _IN_ERRORS) ** 2


def ratios_of(cells: Sequence[Cell]) -> list[Error]:
    """Return the errors of the ratios of each application's times on two systems.

    Errors of counts and own code are in both times, and cancel in a prediction. Those of costs are small. So everything but the errors
    of measurements counts as the model's own.
    """
    return [
        Error(
            a.application,
            (a.system, b.system),
            (a.predicted - b.predicted) - (a.measured - b.measured),
            0.0,
            a.measured_variance + b.measured_variance,
            a.predicted - b.predicted,
        )
        for a, b in combinations(cells, 2)
        if a.application == b.application
    ]


def speedups_of(cells: Sequence[Cell]) -> list[Error]:
    """Return the errors of the ratios of two applications' times on each system, as `ratios_of` does."""
    return [
        Error(
            a.application,
            (a.system,),
            (a.predicted - b.predicted) - (a.measured - b.measured),
            0.0,
            a.measured_variance + b.measured_variance,
            0.0,
            b.application,
        )
        for a, b in combinations(cells, 2)
        if a.system == b.system
    ]


def times_of(cells: Sequence[Cell]) -> list[Error]:
    """Return the errors of the times on the systems where the applications were not traced."""
    traced = {cell.application: cell.predicted for cell in cells if cell.system in TRACED}
    return [
        Error(
            cell.application,
            (cell.system,),
            cell.predicted - cell.measured,
            cell.predicted_variance,
            cell.measured_variance,
            cell.predicted - traced[cell.application],
        )
        for cell in cells
        if cell.system not in TRACED
    ]


def collections_of(text: str, kind: str) -> list[Error]:
    """Return the errors of the time of one kind of collections, from the table with a row for each collector and release.

    Raises:
        ValueError: no such row.
    """
    found = []
    for row in re.findall(rf"^\| {kind}s?, (.*) \|$", text, re.MULTILINE):
        system, *cells, _ = (cell.strip() for cell in row.split("|"))
        for application, cell in enumerate(cells):
            if cell:
                error = math.log1p(float(cell.removesuffix(" %").replace("−", "-")) / 100.0)
                found.append(Error(f"application {application}", (system,), error, 0.0, 0.0, 0.0))
    if not found:
        raise ValueError(f"{COLLECTIONS}: expected a table with rows `| {kind}, COLLECTOR, RELEASE | ...`")
    return found


def fitted(errors: Sequence[Error]) -> ModelError:
    """Return the model's own error by maximum likelihood: normal errors of both kinds, all pairs as if independent."""
    value, variance, log_ratio = (
        np.array([getattr(one, name) for one in errors]) for name in ("value", "variance", "log_ratio")
    )

    def loss(logs: np.ndarray) -> float:
        whole = variance + math.exp(2 * logs[0]) + (math.exp(logs[1]) * log_ratio) ** 2
        return float(np.sum(np.log(whole) + value**2 / whole))

    applications = len(set().union(*(one.applications for one in errors)))
    if not log_ratio.any():
        found = minimize_scalar(
            lambda base: loss(np.array([base, -50.0])), bounds=(-6.0, 1.0), method="bounded"
        )
        return ModelError(math.exp(found.x), 0.0, applications)
    starts = [(base, slope) for base in (-3.0, -2.0) for slope in (-4.0, -2.0)]
    best = min((minimize(loss, start, method="Nelder-Mead") for start in starts), key=lambda found: found.fun)
    base, per_log = np.exp(best.x)
    return ModelError(float(base), float(per_log), applications)


@dataclass(frozen=True)
class Tried:
    """A value that was left out, and the model's own error from the others."""

    error: Error
    model: ModelError

    def half_width(self, level: float, is_measured: bool = True) -> float:
        """Return half the length of the interval of the difference, as `regatta predict` adds the parts."""
        part = float(norm.ppf(0.5 + level / 2) / norm.ppf(0.975)) * _IN_ERRORS
        variance = self.error.variance if is_measured else self.error.predicted_variance
        return math.hypot(part * math.sqrt(variance), self.model.half_width(self.error.log_ratio, level))

    @property
    def verdict(self) -> str:
        """Return the verdict on a ratio at 95 %: right, open or wrong; "" if the measured one does not differ from 1."""
        measured = self.error.log_ratio - self.error.value
        if abs(measured) <= _IN_ERRORS * math.sqrt(self.error.measured_variance):
            return ""
        if abs(self.error.log_ratio) <= self.half_width(0.95, is_measured=False):
            return "open"
        return "right" if self.error.log_ratio * measured > 0.0 else "wrong"

    def contains(self, level: float) -> bool:
        """Return whether prediction and measurement agree within both errors."""
        return abs(self.error.value) <= self.half_width(level)


def left_out(errors: Sequence[Error], folds: Iterator[Callable[[Error], tuple[bool, bool]]]) -> list[Tried]:
    """Try each fold, which says of a value whether the fit may use it, and whether it is tried."""
    found = []
    for fold in folds:
        uses = [(one, *fold(one)) for one in errors]
        model = fitted([one for one, is_used, _ in uses if is_used])
        found += [Tried(one, model) for one, _, is_tried in uses if is_tried]
    return found


def folds_of(errors: Sequence[Error], what: str) -> Iterator[Callable[[Error], tuple[bool, bool]]]:
    """Yield the folds that leave out one application, one system, or one of each."""
    applications = sorted(set().union(*(one.applications for one in errors))) if what != "a system" else [""]
    systems = sorted({name for one in errors for name in one.systems}) if what != "an application" else [""]
    for application in applications:
        for system in systems:

            def fold(one: Error, name: str = application, where: str = system) -> tuple[bool, bool]:
                of_it, on_it = name in one.applications, where in one.systems
                return not of_it and not on_it, (of_it or not name) and (on_it or not where)

            yield fold


def share_of(tried: Sequence[Tried], level: float) -> tuple[float, float]:
    """Return the percentage of intervals that contain the measured value, and its error by the jackknife over applications."""
    hits = [one.contains(level) for one in tried]
    names = sorted(set().union(*(one.error.applications for one in tried)))
    without = [
        float(
            np.mean([hit for one, hit in zip(tried, hits, strict=True) if name not in one.error.applications])
        )
        for name in names
    ]
    count = len(names)
    error = math.sqrt((count - 1) / count * float(np.sum((np.array(without) - np.mean(without)) ** 2)))
    # At least the error of one value more or less.
    return 100.0 * float(np.mean(hits)), 100.0 * max(error, 1.0 / len(tried))


@dataclass(frozen=True)
class Row:
    """A line of the table. `of`: the kind of the values and their applications."""

    of: str
    left_out: str
    tried: Sequence[Tried]

    @property
    def shares(self) -> str:
        """Return the percentages by level, that of 95 % with its error, as in docs/predict.md."""
        shares = [share_of(self.tried, level) for level in LEVELS]
        return " | ".join(
            f"{share:.1f} ± {error:.1f}" if level == 0.95 else f"{share:.1f}"
            for level, (share, error) in zip(LEVELS, shares, strict=True)
        )

    @property
    def verdicts(self) -> tuple[int, int, int]:
        """Return how many ratios that differ are right, open and wrong."""
        counts = Counter(one.verdict for one in self.tried)
        return counts["right"], counts["open"], counts["wrong"]


def fits_of() -> dict[str, tuple[list[Error], ModelError]]:
    """Return what is fitted together, and the error that the product uses for it."""
    text, collections = DOCUMENT.read_text(), COLLECTIONS.read_text()
    java, servers = cells_of(text), cells_of(text, "System")
    return {
        "ratios": ([*ratios_of(java), *ratios_of(servers)], OF_LIBRARIES.ratios),
        "times of Java": (times_of(java), OF_LIBRARIES.times),
        "times of servers": (times_of(servers), OF_SYSTEM_CALLS.times),
        "speedups of Java": (speedups_of(java), OF_LIBRARIES.speedups),
        "speedups of servers": (speedups_of(servers), OF_SYSTEM_CALLS.speedups),
        "young collections": (collections_of(collections, YOUNG), MODEL_ERRORS[YOUNG]),
        "full collections": (collections_of(collections, FULL), MODEL_ERRORS[FULL]),
        "concurrent cycles": (collections_of(collections, CYCLE), MODEL_ERRORS[CYCLE]),
    }


def rows_of() -> list[Row]:
    """Return all lines of the table."""
    servers = {cell.application for cell in cells_of(DOCUMENT.read_text(), "System")}
    found = []
    for name, (errors, _) in fits_of().items():
        for what in ("an application", "a system", "one of each"):
            tried = left_out(errors, folds_of(errors, what))
            if name != "ratios":
                found.append(Row(name, what, tried))
                continue
            for kind, is_server in (("Java", False), ("servers", True)):
                own = [one for one in tried if (one.error.application in servers) == is_server]
                found.append(Row(f"ratios of {kind}", what, own))
    return found


def main() -> int:
    """Print the table; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    levels = " | ".join(f"{100 * level:.0f} %" for level in LEVELS)
    print(f"{'':20} | left out       | values | {levels} | x / ÷ | right, open, wrong")
    missed = 0
    for row in rows_of():
        width = math.exp(np.median([one.model.half_width(one.error.log_ratio, 0.95) for one in row.tried]))
        is_ratio = row.of.startswith("ratios")
        verdicts = ", ".join(map(str, row.verdicts)) if is_ratio else ""
        print(
            f"{row.of:20} | {row.left_out:14} | {len(row.tried):6} | {row.shares} | {width:5.2f} | {verdicts}"
        )
        share, error = share_of(row.tried, 0.95)
        missed += is_ratio and not GOAL[0] - ERRORS * error <= share <= GOAL[1] + ERRORS * error
    print(
        f"\ngoal for ratios: {GOAL[0]:.0f} to {GOAL[1]:.0f} % of intervals of 95 %, within {ERRORS:.0f} errors"
    )
    for name, (errors, used) in fits_of().items():
        bare = [Tried(one, ModelError(0.0, 0.0, used.applications)) for one in errors]
        found = fitted(errors)
        print(
            f"{name}: base {found.base:.3f}, per log {found.per_log:.3f} from all values of {found.applications}"
            f" applications; the product uses {used.base:.3f} and {used.per_log:.3f};"
            f" without it {sum(one.contains(0.95) for one in bare)} of {len(bare)} contain the measured value"
        )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())

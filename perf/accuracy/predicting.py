"""Show how often intervals of `regatta predict` contain the measured value, for applications and systems that were left out.

The data are the predicted and measured times of docs/vectors.md: six applications on six JVMs, and four web servers on three systems of
another machine. Their intervals contain the errors of costs, counts and measurements. The model's own error is fitted to some of them
and added to the others: without one application, without one system, or without both. Ratios of all applications are fitted together,
times apart. A speedup is the ratio of the times of two applications on one system.

The columns are the shares of intervals, at five levels, that contain the difference between prediction and measurement. The Monte-Carlo
error of a share comes from the shares of the applications, whose values depend on each other. `x / ÷` is how far the model's own error
alone reaches, in the median. Of the ratios that were measured to differ from 1, `right`, `open` and `wrong` count the predicted intervals
above, around and below 1 in the measured direction. The last lines are the numbers of `regatta.models.predict.model_error`, fitted to
all data. It takes five seconds.

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

from regatta.models.predict.model_error import OF_LIBRARIES, OF_SYSTEM_CALLS, ModelError

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "vectors.md"
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
#: per cent of intervals of 95 %
GOAL = (90.0, 97.0)
TRACED = "17, traced"
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
    """Return the errors of the ratios of each application's times on two systems."""
    return [
        Error(
            a.application,
            (a.system, b.system),
            (a.predicted - b.predicted) - (a.measured - b.measured),
            a.predicted_variance + b.predicted_variance,
            a.measured_variance + b.measured_variance,
            a.predicted - b.predicted,
        )
        for a, b in combinations(cells, 2)
        if a.application == b.application
    ]


def speedups_of(cells: Sequence[Cell]) -> list[Error]:
    """Return the errors of the ratios of two applications' times on each system; both applications are named."""
    return [
        Error(
            a.application,
            (a.system,),
            (a.predicted - b.predicted) - (a.measured - b.measured),
            a.predicted_variance + b.predicted_variance,
            a.measured_variance + b.measured_variance,
            0.0,
            b.application,
        )
        for a, b in combinations(cells, 2)
        if a.system == b.system
    ]


def times_of(cells: Sequence[Cell]) -> list[Error]:
    """Return the errors of the times themselves; without a traced system its distance is 0."""
    traced = {cell.application: cell.predicted for cell in cells if cell.system == TRACED}
    return [
        Error(
            cell.application,
            (cell.system,),
            cell.predicted - cell.measured,
            cell.predicted_variance,
            cell.measured_variance,
            cell.predicted - traced.get(cell.application, cell.predicted),
        )
        for cell in cells
    ]


def fitted(errors: Sequence[Error]) -> ModelError:
    """Return the model's own error by maximum likelihood: normal errors of both kinds, all pairs as if independent."""
    value, variance, log_ratio = (
        np.array([getattr(one, name) for one in errors]) for name in ("value", "variance", "log_ratio")
    )

    def loss(logs: np.ndarray) -> float:
        whole = variance + math.exp(2 * logs[0]) + (math.exp(logs[1]) * log_ratio) ** 2
        return float(np.sum(np.log(whole) + value**2 / whole))

    if not log_ratio.any():
        found = minimize_scalar(
            lambda base: loss(np.array([base, -50.0])), bounds=(-6.0, 1.0), method="bounded"
        )
        return ModelError(math.exp(found.x), 0.0, len(set().union(*(one.applications for one in errors))))
    starts = [(base, slope) for base in (-3.0, -2.0) for slope in (-4.0, -2.0)]
    best = min((minimize(loss, start, method="Nelder-Mead") for start in starts), key=lambda found: found.fun)
    base, per_log = np.exp(best.x)
    return ModelError(float(base), float(per_log), len(set().union(*(one.applications for one in errors))))


@dataclass(frozen=True)
class Tried:
    """A value that was left out, and the model's own error from the others."""

    error: Error
    model: ModelError

    @property
    def verdict(self) -> str:
        """Return the verdict on a ratio at 95 %: right, open or wrong; "" if the measured one does not differ from 1."""
        quantile = float(norm.ppf(0.975))
        measured = self.error.log_ratio - self.error.value
        if abs(measured) <= quantile * math.sqrt(self.error.measured_variance):
            return ""
        half = math.hypot(
            quantile * math.sqrt(self.error.predicted_variance),
            self.model.half_width(self.error.log_ratio, 0.95),
        )
        if abs(self.error.log_ratio) <= half:
            return "open"
        return "right" if self.error.log_ratio * measured > 0.0 else "wrong"

    def contains(self, level: float) -> bool:
        """Return whether the interval contains the measured value."""
        of_both = math.sqrt(self.error.variance) * float(norm.ppf(0.5 + level / 2))
        return abs(self.error.value) <= math.hypot(
            of_both, self.model.half_width(self.error.log_ratio, level)
        )


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
    """Return the percentage of intervals that contain the measured value, and its Monte-Carlo error."""
    by_application: dict[str, list[bool]] = {}
    for one in tried:
        by_application.setdefault(one.error.application, []).append(one.contains(level))
    shares = [100.0 * float(np.mean(each)) for each in by_application.values()]
    # At least the error of one value more or less.
    least = 100.0 / len(tried)
    return float(np.mean(shares)), max(float(np.std(shares, ddof=1)) / math.sqrt(len(shares)), least)


def main() -> int:
    """Print the table; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    text = DOCUMENT.read_text()
    java, servers = cells_of(text), cells_of(text, "System")
    ratios = [*ratios_of(java), *ratios_of(servers)]
    programs = {
        "Java": {cell.application for cell in java},
        "servers": {cell.application for cell in servers},
    }
    #: what is fitted together, and the error that the product uses for it
    fits = {
        "ratios": (ratios, OF_LIBRARIES.ratios),
        "times of Java": (times_of(java), OF_LIBRARIES.times),
        "times of servers": (times_of(servers), OF_SYSTEM_CALLS.times),
        "speedups of Java": (speedups_of(java), OF_LIBRARIES.speedups),
        "speedups of servers": (speedups_of(servers), OF_SYSTEM_CALLS.speedups),
    }
    levels = "".join(f"{100 * level:>7.0f} %" for level in LEVELS)
    print(f"{'':21}{'left out':16}{'values':>7}{levels}{'error of 95 %':>15}{'x / ÷':>7}  right, open, wrong")
    missed = 0
    for name, (errors, _) in fits.items():
        for what in ("an application", "a system", "one of each"):
            tried = left_out(errors, folds_of(errors, what))
            if name != "ratios":
                print(row_of(name, what, tried))
                continue
            for kind, own in programs.items():
                some = [one for one in tried if one.error.application in own]
                verdicts = Counter(one.verdict for one in some)
                print(
                    row_of(f"ratios of {kind}", what, some),
                    *(verdicts[key] for key in ("right", "open", "wrong")),
                )
                share, error = share_of(some, 0.95)
                missed += not GOAL[0] - ERRORS * error <= share <= GOAL[1] + ERRORS * error
    print(
        f"\ngoal for ratios: {GOAL[0]:.0f} to {GOAL[1]:.0f} % of intervals of 95 %, within {ERRORS:.0f} errors"
    )
    for name, (errors, used) in fits.items():
        found = fitted(errors)
        print(
            f"{name}: base {found.base:.3f}, per log {found.per_log:.3f} from all values of {found.applications}"
            f" applications; the product uses {used.base:.3f} and {used.per_log:.3f}"
        )
    return int(missed > 0)


def row_of(name: str, what: str, tried: Sequence[Tried]) -> str:
    """Return a line of the table: shares in per cent, and how far the model's own error alone reaches, as a factor."""
    shares = "".join(f"{share_of(tried, level)[0]:>9.1f}" for level in LEVELS)
    width = math.exp(np.median([one.model.half_width(one.error.log_ratio, 0.95) for one in tried]))
    return f"{name:21}{what:16}{len(tried):>7}{shares}{share_of(tried, 0.95)[1]:>15.1f}{width:>7.2f} "


if __name__ == "__main__":
    sys.exit(main())

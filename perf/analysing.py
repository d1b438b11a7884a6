"""Cost of analysis: intervals, analyses of variance, resampling, change points, and reduction of iterations."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from command import run_command
from experiments import Unfit
from reducing import measure_reducing
from rows import Row, say
from turns import row_beside, take_turns

from regatta.answers.spine.families.compute import judge_families
from regatta.answers.spine.names import Names
from regatta.answers.spine.parts import Place, Sample
from regatta.answers.spine.samples import PlannedCell, Samples, Series
from regatta.host.values.experiment import Heap
from regatta.stats import quadrature, studentized_range
from regatta.stats.bca import bca_means
from regatta.stats.change_points import change_points, default_penalty
from regatta.stats.factorial import factorial_anova
from regatta.stats.intervals import mean_interval

BENCHMARKS, HEAPS, ROUNDS = 14, 21, 30
COLLECTORS = ("serial", "parallel", "g1", "shenandoah", "z")
#: share of values, drawn at random, that are removed for the unbalanced three-way table
LACKING = 0.1
BOOT_CELLS, RESAMPLES, SERIES = 1000, 9999, 2000


@dataclass(frozen=True)
class _Table:
    """Values in ns, and the codes of their factor levels."""

    values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    codes: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]

    @property
    def logs(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return np.log(self.values)

    def factors(self) -> list[tuple[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]]:
        return [(name, self.codes[name]) for name in ("benchmark", "heap", "collector")]


def _measured() -> _Table:
    """Generate benchmarks x heaps x blocks x collectors; blocks and collectors have effects of some percent."""
    random = np.random.default_rng(1)
    shape = (BENCHMARKS, HEAPS, ROUNDS, len(COLLECTORS))
    codes = dict(
        zip(("benchmark", "heap", "block", "collector"), (x.ravel() for x in np.indices(shape)), strict=True)
    )
    logs = (
        random.normal(20.0, 1.0, (BENCHMARKS, 1, 1, 1))
        + random.normal(0.0, 0.05, (BENCHMARKS, HEAPS, 1, len(COLLECTORS)))
        + random.normal(0.0, 0.03, (BENCHMARKS, HEAPS, ROUNDS, 1))
        + random.normal(0.0, 0.015, shape)
    )
    return _Table(np.exp(logs).ravel(), codes)


def _samples(table: _Table) -> Samples:
    """Return the same values as the product has them after loading."""
    samples = Samples()
    cells = table.values.reshape(BENCHMARKS, HEAPS, ROUNDS, len(COLLECTORS)).transpose(0, 1, 3, 2)
    for number, place in enumerate(np.ndindex(*cells.shape[:3])):
        benchmark, heap, collector = place
        cell = PlannedCell(
            number,
            Place("local", "local", f"suite/b{benchmark}", "jdk", COLLECTORS[collector], "none",
                  Heap(1.0 + heap / 4, 64 + 16 * heap)),
            f"{number:016x}", "", "elapsed", "lower", ROUNDS,
        )  # fmt: skip
        values = cells[place].copy()
        block = benchmark * HEAPS + heap
        measured = [
            Sample(f"{number}-{round}", value, round, block, collector, round, False)
            for round, value in enumerate(values.tolist())
        ]
        by_block = {("plan", one.round, block): one.value for one in measured}
        samples.cells.append(cell)
        samples.series[number].append(
            Series(cell, "elapsed", "ns", "", tuple(measured), (), values, by_block)
        )
    return samples


def _forget() -> None:
    """Clear the caches of the distributions."""
    for kept in (
        studentized_range.quantile, studentized_range._polynomial, quadrature.scale_rule, quadrature.normal_rule,
    ):  # fmt: skip
        kept.cache_clear()


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@cache
def _why_no_r(package: str = "stats") -> str:
    """Return why R cannot be used; "" if it can."""
    if not shutil.which("Rscript"):
        return "R: NOT INSTALLED; apt-get install r-base-core r-cran-boot"
    has = subprocess.run(
        ["Rscript", "-e", f"quit(status = !requireNamespace('{package}', quietly = TRUE))"],
        capture_output=True,
    )
    return f"R's {package}: NOT INSTALLED" if has.returncode else ""


def _r(place: Path, task: str, count: int, times: float = 1.0) -> Callable[[], float]:
    def ask() -> float:
        return float(ask_r(place, task, count)[0]) * times

    return ask


def ask_r(place: Path, task: str, count: int) -> list[str]:
    """Run a task of peers.R; return the words of its output.

    Raises:
        Unfit: it fails.
    """
    script = Path(__file__).with_name("peers.R")
    done = subprocess.run(["Rscript", script, task, place, str(count)], capture_output=True, text=True)
    if done.returncode:
        raise Unfit(f"Rscript {task}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout.split()


def _families(place: Path, quick: bool, table: _Table) -> list[Row]:
    samples = _samples(table)
    names = Names(samples.cells)
    families = BENCHMARKS * HEAPS
    of_r, of_scipy = (21, 2) if quick else (families, 6)
    rows = table.logs.reshape(families, ROUNDS, len(COLLECTORS))

    def ours() -> float:
        _forget()
        return _seconds(
            lambda: (
                [mean_interval(many[0].values) for many in samples.series.values()],
                judge_families(samples, 0.95, names),
            )
        )

    def scipy() -> float:
        from scipy import stats

        def each() -> None:
            for one in rows[:of_scipy]:
                for column in one.T:
                    stats.t.interval(0.95, ROUNDS - 1, column.mean(), stats.sem(column))
                stats.f_oneway(*one.T)
                stats.tukey_hsd(*one.T).confidence_interval()

        return _seconds(each) * families / of_scipy

    absent = _why_no_r()
    r, python = (
        _of("R: t.test, aov, TukeyHSD", of_r, families),
        _of("scipy: one-way, no blocks", of_scipy, families),
    )
    contenders = {"ours": ours, python: scipy}
    if not absent:
        contenders[r] = _r(place, "families", of_r, families / of_r)
    found = take_turns(contenders, 1 if quick else 5)
    what = f"{table.values.size} rows: 1,470 intervals, {families} families with Tukey, sentences"
    return [row_beside(what, "s", found, r, 0.3, absent), row_beside(what, "s", found, python, 0.3)]


def _of(name: str, some: int, every: int) -> str:
    return name if some == every else f"{name} (of {some}, time x {every / some:g})"


def _factors(place: Path, quick: bool, table: _Table) -> list[Row]:
    # The time of R grows superlinearly with the table, so that scaling up favours R.
    heaps = 3 if quick else HEAPS
    absent = _why_no_r()
    r = _of("R: anova(lm), balanced", heaps, HEAPS)
    kept = np.random.default_rng(2).random(table.values.size) >= LACKING
    lacking = _Table(table.values[kept], {name: codes[kept] for name, codes in table.codes.items()})
    logs, unbalanced = table.logs, lacking.logs
    contenders = {"ours": lambda: _seconds(lambda: factorial_anova(logs, table.factors()))}
    for kind in (1, 2, 3):
        contenders[f"type {kind}"] = lambda kind=kind: _seconds(
            lambda: factorial_anova(unbalanced, lacking.factors(), kind)
        )
    found = take_turns(contenders, 1 if quick else 5)
    if not absent:
        # Once only: it takes minutes.
        seconds = _r(place, "factors", heaps, HEAPS / heaps)()
        found[r] = [seconds] * len(found["ours"])
    shape = f"three-way ANOVA, {table.values.size} rows"
    return [
        row_beside(shape, "s", found, r, 0.5, absent),
        *(
            row_beside(
                f"the same, {LACKING:.0%} lacking, type {kind}", "s", {**found, "ours": found[f"type {kind}"]}, r, 2.0,
                absent,
            )
            for kind in (1, 2, 3)
        ),
    ]  # fmt: skip


def _resampling(place: Path, quick: bool) -> list[Row]:
    random = np.random.default_rng(3)
    table = random.lognormal(0.0, 0.1, (BOOT_CELLS, ROUNDS))
    table.tofile(place / "boot.f64")
    some = 2 if quick else 10

    def scipy() -> float:
        from scipy import stats

        def each() -> None:
            for row in table[:some]:
                stats.bootstrap((row,), np.mean, n_resamples=RESAMPLES, method="BCa", rng=random)

        return _seconds(each) * BOOT_CELLS / some

    absent = _why_no_r("boot")
    r, python = _of("R: boot, boot.ci", some, BOOT_CELLS), _of("scipy.stats.bootstrap", some, BOOT_CELLS)
    contenders = {
        "ours": lambda: _seconds(
            lambda: bca_means(table, resamples=RESAMPLES, generator=np.random.default_rng(4))
        ),
        python: scipy,
    }
    if not absent:
        contenders[r] = _r(place, "boot", some, BOOT_CELLS / some)
    found = take_turns(contenders, 1 if quick else 5)
    what = f"BCa of {BOOT_CELLS} cells of {ROUNDS}, {RESAMPLES} resamples"
    return [row_beside(what, "s", found, r, 0.5, absent), row_beside(what, "s", found, python, 0.5)]


def _every_partition(x: np.ndarray[tuple[int, ...], np.dtype[np.float64]], penalty: float) -> list[int]:
    """Find change points of mean and variance over all pairs of ends with numpy, without pruning of starts."""
    n = len(x)
    sums, squares = np.append(0.0, np.cumsum(x)), np.append(0.0, np.cumsum(x * x))
    best, before = np.full(n + 1, math.inf), np.zeros(n + 1, dtype=int)
    best[0] = -penalty
    for end in range(2, n + 1):
        starts = np.arange(end - 1)
        long = end - starts
        mean = (sums[end] - sums[starts]) / long
        variance = np.maximum((squares[end] - squares[starts]) / long - mean**2, 1e-12)
        costs = best[starts] + long * np.log(variance) + penalty
        before[end] = int(costs.argmin())
        best[end] = costs[before[end]]
    found, end = [], n
    while end > 0:
        end = int(before[end])
        found.append(end)
    return found[-2::-1]


def _shifts(place: Path, quick: bool) -> list[Row]:
    random = np.random.default_rng(5)
    level = np.repeat([3.0, 1.4, 1.05, 1.0, 1.02], [40, 160, 500, 900, 400])
    series = level * np.exp(random.normal(0.0, 0.01, SERIES))
    series.tofile(place / "series.f64")
    plain = "numpy, all pairs of ends"
    r = "R's changepoint: cpt.meanvar, PELT"
    absent = _why_no_r("changepoint")
    contenders = {
        "ours": lambda: _seconds(lambda: change_points(series)),
        plain: lambda: _seconds(lambda: _every_partition(series, default_penalty(SERIES))),
    }
    if not absent:
        contenders[r] = _r(place, "shifts", 1)
    found = take_turns(contenders, 1 if quick else 15)
    what = f"change points of {SERIES} iterations"
    return [
        row_beside(what, "s", found, plain, 0.1, ahead=False),
        row_beside(what, "s", found, r, None, absent),
    ]


def _quantiles(place: Path, quick: bool) -> list[Row]:
    absent = _why_no_r()
    times = 20

    def cold() -> float:
        _forget()
        return 1e3 * _seconds(lambda: studentized_range.quantile(0.95, 5, 116.0))

    def kept() -> float:
        return (
            1e3 / times * _seconds(lambda: [studentized_range.quantile(0.95, 5, 116.0) for _ in range(times)])
        )

    def scipy() -> float:
        from scipy import stats

        return 1e3 * _seconds(lambda: stats.studentized_range.ppf(0.95, 5, 116))

    r, python = "R: qtukey", "scipy: studentized_range.ppf"
    contenders = {"ours": cold, python: scipy}
    if not absent:
        contenders[r] = _r(place, "qtukey", times, 1e3 / times)
    found = take_turns(contenders, 1 if quick else 9)
    again = {**found, "ours": [kept() for _ in found["ours"]]}
    what = "studentized range, q(0.95; 5, 116)"
    return [
        row_beside(f"{what}, first", "ms", found, r, 10.0, absent),
        row_beside(f"{what}, first", "ms", found, python, 10.0),
        row_beside(f"{what}, again", "ms", again, r, 0.1, absent),
        row_beside(f"{what}, again", "ms", again, python, 0.1),
    ]


def measure_analysing(place: Path, quick: bool) -> list[Row]:
    """Return all rows."""
    table = _measured()
    table.values.tofile(place / "families.f64")
    for name, codes in table.codes.items():
        codes.astype(np.int32).tofile(place / f"families-{name}.i32")
    rows = []
    for told, part in (
        ("intervals, blocks and Tukey", lambda: _families(place, quick, table)),
        ("three factors; R takes minutes", lambda: _factors(place, quick, table)),
        ("resampling", lambda: _resampling(place, quick)),
        ("iterations to invocations", lambda: measure_reducing(place, quick, _why_no_r(), ask_r)),
        ("change points", lambda: _shifts(place, quick)),
        ("quantiles", lambda: _quantiles(place, quick)),
    ):
        say(told)
        rows += part()
    return rows


if __name__ == "__main__":
    sys.exit(run_command("Costs of analysis, compared with R and scipy in the same run.", measure_analysing))

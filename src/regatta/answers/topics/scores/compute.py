"""Compute scores against a reference machine: copies x reference time / elapsed time, and their geometric mean.

Source: J. Bucek, K.-D. Lange, J. von Kistowski, SPEC CPU2017: Next-Generation Compute Benchmark, ICPE 2018 (ratios, speed
and rate, geometric means); Fleming and Wallace, CACM 29 (1986).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from regatta.answers.spine.groups import grouped
from regatta.answers.spine.names import heap_words
from regatta.answers.spine.result import CellAnswer
from regatta.answers.spine.rounds import FEW_ROUNDS, relative_round_means
from regatta.answers.spine.words import counted, listed
from regatta.host.units import UNITS
from regatta.host.values.benchmark_label import LabelParts, parts_of_label
from regatta.spec.home import known_home, reference_path
from regatta.stats.estimate import Interval
from regatta.stats.moments import mean_and_variance
from regatta.stats.suite_mean import Together, suite_ratio

if TYPE_CHECKING:
    from regatta.spec.references import Reference


@dataclass(frozen=True)
class BenchmarkScore:
    """Score of one benchmark: copies x reference time / mean elapsed time."""

    #: complete label
    benchmark: str
    name: str
    reference_s: float
    elapsed_s: Interval
    score: Interval


@dataclass(frozen=True)
class SuiteScore:
    """One host, configuration, size and number of copies: the scores of its benchmarks and their geometric mean."""

    host: str
    suite: str
    size: str
    machine: str
    #: `speed`: one copy; `rate`: several parallel copies
    kind: Literal["speed", "rate"]
    copies: int
    #: other chosen parameters that do not change the work, such as the placement of copies
    parameters: Mapping[str, str]
    #: with its heap, if any
    configuration: str
    members: tuple[BenchmarkScore, ...]
    #: excluded benchmarks with reasons
    left_out: tuple[tuple[str, str], ...]
    #: geometric mean of the members' scores, with an interval for exactly these benchmarks
    overall: Interval
    words: str

    @property
    def of(self) -> int:
        """Return the number of benchmarks of the suite in this size."""
        return len(self.members) + len(self.left_out)

    @property
    def complete(self) -> bool:
        """Return whether the mean includes every benchmark of the suite."""
        return not self.left_out


METRIC = "elapsed"
COPIES = "copies"
#: chosen parameters that do not change the work of a copy, so that its reference time applies
SAME_WORK = frozenset({COPIES, "placement"})
METHOD = "reference/mean"


@dataclass(frozen=True)
class Run:
    """The elapsed time of one cell with one number of copies, or its absence."""

    cell: CellAnswer
    parts: LabelParts
    copies: int
    #: why its time is not comparable with a reference; "" if it is
    reason: str = ""


def find_references(cells: Sequence[CellAnswer]) -> dict[str, Reference]:
    """Return the references of the suites of some cells, from the home of this process; empty without a home.

    Raises:
        SpecError: a reference is invalid.
    """
    suites = {parts_of_label(label).suite for label in {cell.place.benchmark for cell in cells}} - {""}
    if not suites:
        return {}
    home = known_home()
    with_one = [suite for suite in sorted(suites) if home and reference_path(home, suite).is_file()]
    if home is None or not with_one:
        return {}
    # Importing the schemas is slow, and most answers do not need them.
    from regatta.spec.references import read_references

    return read_references(home, with_one)


def judge_scores(
    cells: Sequence[CellAnswer], references: Mapping[str, Reference], level: float, several_hosts: bool
) -> tuple[SuiteScore, ...]:
    """Score every benchmark whose suite has a reference machine.

    Args:
        references: suite -> its reference.
        level: confidence of each interval, between 0 and 1.
        several_hosts: whether sentences name the host.

    Returns:
        One for each host, suite, size, configuration and number of copies, in plan order. The interval of a score is the
        inverted interval of the mean elapsed time. The interval of the geometric mean is for exactly these benchmarks,
        with s² / n of the means over all benchmarks of n rounds, each value relative to its benchmark's mean. A benchmark
        without a score is listed with the reason.
    """
    groups: dict[tuple[object, ...], list[Run]] = {}
    for run in runs_of(cells, references):
        cell, parts = run.cell, run.parts
        others = tuple(sorted((k, v) for k, v in parts.chosen.items() if k in SAME_WORK - {COPIES}))
        key = (
            cell.place.host, parts.suite, parts.size, cell.place.configuration, cell.place.heap.factor, cell.place.heap.mib, run.copies, others,
        )  # fmt: skip
        groups.setdefault(key, []).append(run)
    return tuple(
        _suite_score(runs, references[runs[0].parts.suite], level, several_hosts) for runs in groups.values()
    )


def runs_of(cells: Sequence[CellAnswer], suites: Collection[str]) -> list[Run]:
    """Return the runs of the benchmarks of some suites, in plan order."""
    labels = {cell.place.benchmark for cell in cells} if suites else set()
    scored = {label for label in labels if parts_of_label(label).suite in suites}
    by_cell = grouped(
        (cell for cell in cells if cell.place.benchmark in scored),
        lambda cell: (cell.place.host, cell.cell_id),
    )
    return [run for series in by_cell.values() for run in _of_cell(series)]


def _of_cell(series: Sequence[CellAnswer]) -> list[Run]:
    """Return one run per number of copies in the cell's records."""
    first, parts = series[0], parts_of_label(series[0].place.benchmark)
    asked = int(parts.chosen[COPIES]) if parts.chosen.get(COPIES, "").isdecimal() else 1
    changed = sorted(set(parts.chosen) - SAME_WORK)
    if changed:
        reason = f"the spec changes {listed(changed)}, so the work differs from the reference"
        return [Run(first, parts, asked, reason)]
    own = [cell for cell in series if cell.metric == METRIC and cell.parameters.keys() <= {COPIES}]
    if not own:
        reason = f"no {METRIC} time" if first.metric != METRIC else "elapsed times have parameters"
        return [Run(first, parts, asked, reason)]
    return [Run(cell, parts, _copies(cell, asked)) for cell in own]


def _copies(cell: CellAnswer, asked: int) -> int:
    value = cell.parameters.get(COPIES, asked)
    return value if isinstance(value, int) and value >= 1 else asked


def _suite_score(runs: Sequence[Run], reference: Reference, level: float, several_hosts: bool) -> SuiteScore:
    first = runs[0]
    # If a program was measured both like the reference and with other work, only the former has a score.
    alike = {run.parts.name for run in runs if not run.reason}
    runs = [run for run in runs if not run.reason or run.parts.name not in alike]
    members: list[tuple[Run, BenchmarkScore]] = []
    left_out: dict[str, str] = {}
    for run in runs:
        found = _score(run, reference, level)
        if isinstance(found, str):
            left_out[run.parts.name] = found
        elif any(run.parts.name == other.parts.name for other, _ in members):
            left_out[run.parts.name] = "several elapsed times, so the score is ambiguous"
        else:
            members.append((run, found))
    members = [(run, score) for run, score in members if run.parts.name not in left_out]
    size = first.parts.size
    seen = {run.parts.name for run in runs}
    wanted = {
        name for name, sizes in (*reference.programs.items(), *reference.times_s.items()) if size in sizes
    }
    left_out.update(dict.fromkeys(sorted(wanted - seen), "not measured"))
    score = SuiteScore(
        host=first.cell.place.host,
        suite=reference.suite,
        size=size,
        machine=reference.machine,
        kind="speed" if first.copies == 1 else "rate",
        copies=first.copies,
        parameters={key: text for key, text in first.parts.chosen.items() if key in SAME_WORK - {COPIES}},
        configuration=first.cell.place.configuration + heap_words(first.cell.place.heap),
        members=tuple(score for _, score in members),
        left_out=tuple(left_out.items()),
        overall=_overall(members, level),
        words="",
    )
    return replace(score, words=_words(score, several_hosts))


def elapsed_s(run: Run) -> Interval | str:
    """Return the mean elapsed time of a run in s, or the reason for its absence."""
    if run.reason:
        return run.reason
    dimension, factor = UNITS.get(run.cell.unit, ("", math.nan))
    mean = run.cell.estimate
    if mean.inconclusive:
        return mean.inconclusive
    if dimension != "time" or not mean.point > 0.0:
        return "the elapsed time is not a positive time"
    return replace(mean, point=mean.point * factor, low=mean.low * factor, high=mean.high * factor)


def _score(run: Run, reference: Reference, level: float) -> BenchmarkScore | str:
    """Return the score, or the reason for its absence."""
    reference_s = reference.times_s.get(run.parts.name, {}).get(run.parts.size)
    if reference_s is None:
        return f"no reference time on {reference.machine}"
    elapsed = elapsed_s(run)
    if isinstance(elapsed, str):
        return elapsed
    work_s = run.copies * reference_s
    low, high, reason = work_s / elapsed.high, math.nan, elapsed.reason
    if elapsed.low > 0.0:
        high = work_s / elapsed.low
    elif not math.isnan(elapsed.low):
        low, reason = math.nan, "the interval of the mean elapsed time includes 0"
    score = Interval(elapsed.n, work_s / elapsed.point, low, high, level, METHOD, reason)
    return BenchmarkScore(run.cell.place.benchmark, run.parts.name, reference_s, elapsed, score)


def _overall(members: Sequence[tuple[Run, BenchmarkScore]], level: float) -> Interval:
    logs, variances, dfs = [], [], []
    for run, member in members:
        values = np.array([sample.value for sample in run.cell.samples], dtype=np.float64)
        logs.append(math.log(member.score.point))
        n = values.size
        mean, variance = mean_and_variance(values) if n > 1 else (math.nan, math.nan)
        variances.append(variance / n / mean**2)
        dfs.append(float(n - 1))
    return suite_ratio(logs, variances, dfs, level, _together([run for run, _ in members], logs)).these


def _together(runs: Sequence[Run], logs: Sequence[float]) -> Together | None:
    """Return the mean score with the variance of its rounds, whose programs share conditions; None with fewer than two programs."""
    if len(runs) < 2:
        return None
    # Values relative to their mean: the variance of a logarithm, by the delta method.
    means = relative_round_means([run.cell.samples for run in runs])
    n = means.size
    known = n >= 2
    variance = mean_and_variance(means)[1] / n if known else math.nan
    return Together(
        tuple(range(len(runs))), sum(logs) / len(logs), variance, n - 1.0, "" if known else FEW_ROUNDS
    )


def _words(score: SuiteScore, several_hosts: bool) -> str:
    what = "speed" if score.kind == "speed" else f"rate of {score.copies} copies"
    chosen = "".join(f", {key} {value}" for key, value in sorted(score.parameters.items()))
    host = f" on host {score.host}" if several_hosts else ""
    where = f"{score.suite} {score.size}, {what}{chosen} ({score.configuration}){host}"
    reasons: dict[str, list[str]] = {}
    for name, reason in score.left_out:
        reasons.setdefault(reason, []).append(name)
    missing = "; ".join(f"{listed(names)}: {reason}" for reason, names in reasons.items())
    if not score.members:
        return f"{where}: no score relative to {score.machine} ({missing})"
    of = (
        f"all {counted(score.of, 'benchmark')}"
        if score.complete
        else f"{len(score.members)} of {counted(score.of, 'benchmark')}"
    )
    overall = score.overall
    interval = (
        f" (no CI: {overall.reason})"
        if math.isnan(overall.low)
        else f" [{overall.low:.4g}, {overall.high:.4g}]"
    )
    text = f"{where}: {overall.point:.4g}{interval} times {score.machine}, geometric mean of {of}"
    return text if score.complete else f"{text}; excluded: {missing}"

"""Audit an experiment: compare the claims of prevalent methods with the intervals.

Source: Georges, Buytaert, Eeckhout, Statistically Rigorous Java Performance Evaluation, OOPSLA 2007, sections 6.2 and 6.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from regatta.answers.audit.result import Audit, AuditedPair, Group, Precision, PrevalentMethod, Tally
from regatta.answers.audit.samples import (
    AuditFactor,
    Material,
    Runs,
    choose_factor,
    prepare,
    read_iterations,
    runs_of,
)
from regatta.answers.audit.words import findings_of
from regatta.answers.spine.facts import read_facts
from regatta.answers.spine.families.compute import ONLY_COLLECTORS, judge_families
from regatta.answers.spine.families.result import Family
from regatta.answers.spine.names import Names
from regatta.answers.spine.parts import FamilyPair, shared_heap
from regatta.answers.spine.result import CellAnswer
from regatta.answers.spine.samples import PlannedCell, Samples, Series, load_samples
from regatta.answers.spine.verdicts import shows_difference
from regatta.answers.spine.words import counted
from regatta.host.units import is_positive
from regatta.host.values.cell import NO_MODIFIERS
from regatta.stats.estimate import Floats
from regatta.stats.intervals import mean_interval
from regatta.stats.precision import interval_widths, invocations_needed, invocations_until
from regatta.stats.prevalent import CLASSES, STATISTICS, STEADY_STATISTICS, class_shares, relative_difference
from regatta.store.database import Progress, open_database

#: widths of the whole interval in percent of the mean: that of the paper's figure 17, and a stricter one
WIDTHS_PERCENT = (2.0, 1.0)
#: maximum number of invocations, as in figure 17
MAXIMUM = 30


def precisions_of(samples: Samples, level: float) -> Iterator[Precision]:
    """Compute the precision of every series of the compared metric, in plan order."""
    for cell in samples.cells:
        for series in samples.own(cell):
            if series.samples:
                yield _precision(series, level)


def _precision(series: Series, level: float) -> Precision:
    widths = interval_widths(series.values, level)
    mean = float(series.values.mean())
    spread = float(series.values.std(ddof=1)) if len(series.values) > 1 else math.nan
    variation = spread / mean if mean > 0 and spread > 0 else math.nan
    return Precision(
        cell=answer_of(series, level),
        widths_percent=tuple((widths * 100.0).tolist()),
        needed=tuple(
            (
                width,
                invocations_until(widths, width / 100.0),
                invocations_needed(variation, width / 100.0, level, MAXIMUM),
            )
            for width in WIDTHS_PERCENT
        ),
    )


def answer_of(series: Series, level: float) -> CellAnswer:
    """Convert a series to the form that the report's figures take."""
    cell = series.cell
    return CellAnswer(
        cell_id=cell.cell_id,
        place=cell.place,
        metric=series.metric,
        unit=series.unit,
        better=cell.better,
        parameters=series.parameters,
        estimate=mean_interval(series.values, level, positive=is_positive(series.unit)),
        samples=series.samples,
        perturbed=series.perturbed,
        statuses={},
        planned=cell.planned,
    )


#: invocations in the paper's figure 4
INVOCATIONS = (3, 5, 10, 30)
#: invocations and iterations in the paper's figure 12
STEADY_INVOCATIONS, STEADY_ITERATIONS = (1, 3, 5), (3, 5, 10, 30)
#: thresholds in the paper's figure 5, in percent
SWEEP_PERCENT = tuple(step * 0.25 for step in range(13))
#: phase of `iterations: {method: replay}` -> its equivalent without controlled compilation
_UNCONTROLLED = {"mix": "startup", "stable": "steady state"}
#: Draws of the runs. The percentage is then known to about 3 points for one comparison, and half a point for fifty.
DRAWS = 200


@dataclass(frozen=True)
class _Compared:
    """One comparison with the runs of both sides."""

    pair: AuditedPair
    a: Runs
    b: Runs


def audit_experiment(
    experiment_dir: Path,
    thetas_percent: Sequence[float] = (1.0, 2.0),
    method: str = "regatta",
    factor: AuditFactor | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Compare the claims of prevalent methods with the intervals of an experiment.

    Args:
        experiment_dir: `results/<experiment>`, planned, with or without records.
        thetas_percent: thresholds in percent, each >= 0; smaller differences of the reported numbers count as small.
        method: method of the rigorous answer: "regatta", or "georges2007" (one-way, on the values).
        factor: the factor that alternatives differ in; None: collectors, else runtimes, else modifiers, whichever are
            compared.
        progress: called while the database is built, with (bytes read, total bytes).

    Returns:
        Every comparison of two alternatives with values, with tallies of the class of each method's claim. `left_out`
        lists the comparisons that cannot be judged.

    Raises:
        StoreError: the folder has no plan, or cannot be read or written.
    """
    facts = read_facts(experiment_dir)
    with open_database(experiment_dir, progress) as connection:
        samples = load_samples(connection, facts.steady)
        tables = read_iterations(connection)
    material = prepare(samples, factor or choose_factor(samples.cells))
    runs: dict[tuple[int, str, str], Runs] = {}

    def run(series: Series) -> Runs:
        key = series.cell.number, series.unit, series.parameters_text
        if key not in runs:
            runs[key] = runs_of(series, tables, facts.seed, DRAWS)
        return runs[key]

    compared, families = _compare(material, facts.level, method, run)
    compared = _with_compilation(compared, material.factor, facts.controlled)
    thetas = tuple(sorted({float(theta) for theta in thetas_percent}))
    tallies = tuple(_tallies(compared, thetas))
    audit = Audit(
        experiment=facts.name,
        question=facts.question,
        method=method,
        level=facts.level,
        factor=material.factor,
        thetas_percent=thetas,
        draws=DRAWS,
        seed=facts.seed,
        maximum=MAXIMUM,
        pairs=tuple(one.pair for one in compared),
        tallies=tallies,
        precisions=tuple(precisions_of(samples, facts.level)),
        findings=(),
        left_out=(*material.left_out, *_not_judged(compared, families)),
        telling=_telling(compared, thetas),
    )
    return findings_of(audit)


def _compare(
    material: Material, level: float, method: str, run: Callable[[Series], Runs]
) -> tuple[list[_Compared], list[Family]]:
    if not material.factor:
        return [], []
    samples = material.samples
    found: dict[tuple[object, ...], Series] = {}
    for many in samples.series.values():
        for series in many:
            cell = series.cell
            found.setdefault((*_group(cell, series), cell.place.collector), series)
    families, _ = judge_families(samples, level, Names(samples.cells), method, ONLY_COLLECTORS)
    compared = []
    for family in families:
        place = _group(family, family)
        for pair in family.pairs:
            a, b = (found.get((*place, name)) for name in (pair.a_name, pair.b_name))
            if a is not None and b is not None and np.isfinite([pair.ratio.low, pair.ratio.high]).all():
                compared.append(_Compared(_pair(material, pair, a, b), run(a), run(b)))
    return compared, families


def _with_compilation(
    compared: Sequence[_Compared], factor: AuditFactor | Literal[""], controlled: Sequence[str]
) -> list[_Compared]:
    """Name the kind of compilation of each comparison, if some are replays or have controlled compilation.

    The reference of a mix replay is startup, that of a stable replay is steady state (figures 13 to 15).
    """
    names = []
    for one in compared:
        modifiers = "" if factor == "modifiers" else one.pair.place.modifiers
        phase = str(one.pair.parameters.get("phase", ""))
        under = modifiers in controlled
        parts = [
            "plain" if modifiers == NO_MODIFIERS else modifiers,
            phase if under else _UNCONTROLLED.get(phase, phase),
        ]
        names.append((", ".join(filter(None, parts)), under or bool(phase)))
    if not any(replayed for _, replayed in names):
        return list(compared)
    return [
        replace(one, pair=replace(one.pair, compilation=name))
        for one, (name, _) in zip(compared, names, strict=True)
    ]


def _group(of: PlannedCell | Family, series: Series | Family) -> tuple[object, ...]:
    return of.place.family, of.metric, tuple(sorted(series.parameters.items()))


def _pair(material: Material, pair: FamilyPair, a: Series, b: Series) -> AuditedPair:
    cell = material.planned[a.cell.number]
    return AuditedPair(
        place=replace(cell.place, heap=shared_heap((a.cell.place, b.cell.place))),
        metric=cell.metric,
        parameters=a.parameters,
        a=pair.a_name,
        b=pair.b_name,
        n_a=len(a.samples),
        n_b=len(b.samples),
        ratio=pair.ratio,
        verdict=(1 if pair.ratio.point > 1.0 else -1) if shows_difference(pair.ratio) else 0,
    )


def _not_judged(compared: Sequence[_Compared], families: Sequence[Family]) -> list[str]:
    said = []
    pairs = sum(len(family.names) * (len(family.names) - 1) // 2 for family in families)
    if pairs > len(compared):
        told = {family.reason for family in families}
        told |= {pair.ratio.reason for family in families for pair in family.pairs}
        reasons = sorted(told - {""})
        why = f" ({'; '.join(reasons[:3])})" if reasons else ""
        said.append(
            f"excluded: {counted(pairs - len(compared), 'comparison')} of {pairs} without an interval{why}"
        )
    largest = max((min(c.pair.n_a, c.pair.n_b) for c in compared), default=0)
    missing = [str(k) for k in INVOCATIONS if k > largest]
    if compared and missing:
        said.append(
            f"methods over {', '.join(missing)} invocations excluded: no comparison has more than {largest} on both sides"
        )
    if compared and not any(c.a.iterations for c in compared):
        said.append("steady-state methods excluded: one iteration per invocation")
    return said


def _methods(compared: Sequence[_Compared]) -> list[PrevalentMethod]:
    """Return the methods for which at least one comparison has enough runs."""
    largest = max((min(c.pair.n_a, c.pair.n_b) for c in compared), default=0)
    ks = [k for k in INVOCATIONS if k <= largest]
    if any(c.pair.n_a != c.pair.n_b or c.pair.n_a not in ks for c in compared):
        ks.append(0)
    methods = [PrevalentMethod("startup", statistic, k) for statistic in STATISTICS for k in ks]
    longest = max((len(one) for c in compared for one in c.a.iterations), default=0)
    return methods + [
        PrevalentMethod("steady", statistic, x, y)
        for statistic in STEADY_STATISTICS
        for x in STEADY_INVOCATIONS
        for y in STEADY_ITERATIONS
        if x <= largest and y <= longest
    ]


def _claims(method: PrevalentMethod, runs: Runs) -> Floats | None:
    if method.regime == "startup":
        return runs.reported(method.statistic, method.invocations)
    return runs.reported_steady(method.statistic, method.invocations, method.iterations)


def _differences(
    method: PrevalentMethod, compared: Sequence[_Compared]
) -> tuple[list[_Compared], NDArray[np.int_], Floats]:
    """Return comparisons with enough runs, their verdicts (p,), and relative differences (p, draws + 1)."""
    reported: dict[int, Floats | None] = {}
    for runs in (side for one in compared for side in (one.a, one.b)):
        if id(runs) not in reported:
            reported[id(runs)] = _claims(method, runs)
    sides = [(one, reported[id(one.a)], reported[id(one.b)]) for one in compared]
    enough = [(one, a, b) for one, a, b in sides if a is not None and b is not None]
    verdicts = np.array([one.pair.verdict for one, _, _ in enough], dtype=np.int_)
    a, b = (np.array([side[at] for side in enough], dtype=np.float64) for at in (1, 2))
    return [one for one, _, _ in enough], verdicts, relative_difference(a, b)


def _tallies(compared: Sequence[_Compared], thetas: Sequence[float]) -> Iterator[Tally]:
    sweep = sorted({*SWEEP_PERCENT, *thetas})
    for method in _methods(compared):
        kept, verdicts, differences = _differences(method, compared)
        if not kept:
            continue
        levels = np.array(sweep) / 100.0
        drawn = class_shares(verdicts, differences[:, 1:], levels)
        first = class_shares(verdicts, differences[:, :1], levels)
        for group, of, rows in _groups(kept):
            for t, theta in enumerate(sweep):
                if group == "all" or theta in thetas:
                    yield _tally(method, group, of, theta, drawn[rows, t], first[rows, t])


def _tally(
    method: PrevalentMethod, group: Group, of: str, theta: float, drawn: Floats, first: Floats
) -> Tally:
    known = ~np.isnan(drawn[:, 0])
    shares = drawn[known].mean(axis=0) if known.any() else np.zeros(len(CLASSES))
    counts = first[known].sum(axis=0)
    return Tally(
        method, group, of, theta, int(known.sum()),
        tuple(shares.tolist()), tuple(round(count) for count in counts.tolist()),
    )  # fmt: skip


def _groups(compared: Sequence[_Compared]) -> Iterator[tuple[Group, str, list[int]]]:
    """Group the comparisons by each kind of group; skip a group that contains all of them."""
    yield "all", "", list(range(len(compared)))
    sides: list[tuple[Group, list[tuple[str, ...]]]] = [
        ("platform", [(one.pair.place.platform,) for one in compared]),
        ("host", [(one.pair.place.host,) for one in compared]),
        ("compilation", [(one.pair.compilation,) for one in compared]),
        ("benchmark", [(one.pair.place.benchmark,) for one in compared]),
        ("alternative", [(one.pair.a, one.pair.b) for one in compared]),
    ]
    for group, names in sides:
        known = list(dict.fromkeys(name for each in names for name in each))
        if len(known) > 1:
            for name in known:
                yield group, name, [i for i, each in enumerate(names) if name in each]


def _telling(compared: Sequence[_Compared], thetas: Sequence[float]) -> tuple[tuple[int, ...], ...]:
    """Rank families by how often the best of all runs is wrong: by incorrect claims, then by misleading ones."""
    families: dict[tuple[object, ...], list[int]] = {}
    for index, one in enumerate(compared):
        cell = one.a.series.cell
        key = cell.place.family, one.a.series.parameters_text
        families.setdefault(key, []).append(index)
    if not compared or not thetas:
        return ()
    method = PrevalentMethod("startup", "best", 0)
    _, verdicts, differences = _differences(method, compared)
    shares = class_shares(verdicts, differences[:, :1], np.array([thetas[0] / 100.0]))[:, 0]
    weights = np.array(
        [2.0 if name == "incorrect" else 1.0 if name.startswith("misleading") else 0.0 for name in CLASSES]
    )
    astray = np.nan_to_num(shares) @ weights
    order = sorted(families.values(), key=lambda rows: -float(astray[rows].mean()))
    return tuple(tuple(rows) for rows in order)

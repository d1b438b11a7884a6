"""From an experiment's folder to its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from regatta.analysis.aa import judge_gates
from regatta.analysis.baseline import check_baseline
from regatta.analysis.comparisons import compare_all, estimate_of
from regatta.analysis.facts import Facts, read_facts
from regatta.analysis.families import judge_families
from regatta.analysis.headline import headline
from regatta.analysis.names import Names
from regatta.analysis.outliers import find_outliers, outlier_words
from regatta.analysis.samples import PlannedCell, Samples, Series, load_samples
from regatta.analysis.words import counted, listed
from regatta.model.answer import Answer, CellAnswer
from regatta.model.experiment import Baseline, SteadyState
from regatta.stats.estimate import undefined
from regatta.stats.intervals import mean_interval
from regatta.store.database import Progress, open_database


def answer_experiment(
    experiment_dir: Path, baseline: Baseline | None = None, progress: Progress | None = None
) -> Answer:
    """Answer an experiment from its records.

    Args:
        experiment_dir: `results/<experiment>`, planned, with or without records.
        baseline: what to compare with; None takes the experiment's own, and where that has none the first listed.
        progress: told about the making of the database (bytes read, bytes in all).

    Returns:
        Cells with t intervals, comparisons with the baseline, families of collectors, failures, and sentences. What
        cannot be estimated is NaN with a reason.

    Raises:
        StoreError: the folder holds no plan, or cannot be read or written.
        SpecError: `baseline` names what the experiment has not.
    """
    facts = read_facts(experiment_dir)
    with open_database(experiment_dir, progress) as connection:
        samples = load_samples(connection, facts.steady)
    if baseline is not None:
        check_baseline(baseline, samples.cells)
    names = Names(samples.cells)
    cells = _cell_answers(samples, facts)
    comparisons, apart = compare_all(samples, baseline or facts.baseline, facts.level, names)
    families, unblocked = judge_families(samples, facts.level, names)
    gates = judge_gates(samples, facts.level)
    outliers = find_outliers(samples, baseline or facts.baseline, facts.level, names)
    findings = {
        "Outliers": outlier_words(outliers, names),
        "A/A test": tuple(gate.words for gate in gates),
    }
    return Answer(
        experiment=facts.name,
        question=facts.question,
        seed=facts.seed,
        order=facts.order,
        level=facts.level,
        hosts=facts.hosts,
        runtimes=facts.runtimes,
        cells=tuple(cells),
        comparisons=tuple(comparisons),
        families=tuple(families),
        failures=tuple(samples.failures),
        impossible=facts.impossible,
        warnings=(*_warnings(samples, facts.steady), *apart, *unblocked),
        planned=sum(cell.planned for cell in samples.measured_cells),
        recorded=samples.recorded,
        headline=tuple(headline(samples.cells, cells, comparisons, families, names))
        if samples.recorded
        else (),
        findings={topic: sentences for topic, sentences in findings.items() if sentences},
        gates=gates,
        outliers=outliers,
    )


def _cell_answers(samples: Samples, facts: Facts) -> list[CellAnswer]:
    units = {
        (series.cell.benchmark, series.metric): series.unit
        for many in samples.series.values()
        for series in many
    }
    answers = []
    for cell in samples.cells:
        many = samples.series.get(cell.number, [])
        statuses = samples.statuses.get(cell.number, {})
        if not any(series.metric == cell.metric for series in many):
            answers.append(
                _without_values(cell, statuses, units.get((cell.benchmark, cell.metric), ""), facts.level)
            )
        answers += [_with_values(series, statuses, facts.level) for series in many]
    return answers


def _with_values(series: Series, statuses: dict[str, int], level: float) -> CellAnswer:
    estimate = estimate_of(mean_interval(series.values, level))
    if not series.samples:
        estimate = replace(estimate, reason=_why_nothing(statuses))
    empty = _without_values(series.cell, statuses, series.unit, level)
    return replace(
        empty,
        metric=series.metric,
        parameters=series.parameters,
        # Only the cell's own metric has a direction; of the others less is taken to be better (user, system, max_rss).
        better=series.cell.better if series.metric == series.cell.metric else "lower",
        estimate=estimate,
        samples=series.samples,
        perturbed=series.perturbed,
    )


def _without_values(cell: PlannedCell, statuses: dict[str, int], unit: str, level: float) -> CellAnswer:
    return CellAnswer(
        cell_id=cell.cell_id,
        host=cell.host,
        platform=cell.platform,
        benchmark=cell.benchmark,
        runtime=cell.runtime,
        collector=cell.collector,
        modifiers=cell.modifiers,
        heap_factor=cell.heap_factor,
        heap_mib=cell.heap_mib,
        metric=cell.metric,
        unit=unit,
        better=cell.better,
        parameters={},
        estimate=estimate_of(undefined(0, level, "t", _why_nothing(statuses))),
        samples=(),
        perturbed=(),
        statuses=dict(statuses),
        planned=cell.planned,
    )


def _why_nothing(statuses: dict[str, int]) -> str:
    total = sum(statuses.values())
    if not total:
        return "not measured yet"
    if statuses.get("ok"):
        return f"none of {counted(statuses['ok'], 'valid invocation')} gave a value after warm-up"
    each = listed([f"{count} {status}" for status, count in sorted(statuses.items())])
    return f"no valid invocation among {total} ({each})"


def _warnings(samples: Samples, steady: SteadyState) -> list[str]:
    warnings = []
    missing = sum(
        max(0, c.planned - sum(samples.statuses.get(c.number, {}).values())) for c in samples.measured_cells
    )
    if missing:
        warnings.append(f"{counted(missing, 'planned invocation')} not recorded yet")
    failed = sum(failure.count for failure in samples.failures)
    if failed:
        warnings.append(f"{counted(failed, 'invocation')} failed and are in no estimate; see the failures")
    perturbed = sum(statuses.get("perturbed", 0) for statuses in samples.statuses.values())
    if perturbed:
        warnings.append(f"{counted(perturbed, 'invocation')} perturbed and left out of the estimates")
    silent = sum(_without_number(cell, samples) for cell in samples.cells)
    if silent:
        warmup = f" after {counted(steady.warmup, 'warm-up iteration')}" if steady.method == "fixed" else ""
        warnings.append(f"{counted(silent, 'valid invocation')} gave no value of the cell's metric{warmup}")
    unplanned_cells, unplanned = samples.unplanned
    if unplanned_cells:
        warnings.append(
            f"{counted(unplanned_cells, 'cell')} ({counted(unplanned, 'invocation')}) recorded but no longer planned: left out"
        )
    return warnings


def _without_number(cell: PlannedCell, samples: Samples) -> int:
    """Valid invocations of a cell that are in no series of its own metric."""
    own: Sequence[Series] = [s for s in samples.series.get(cell.number, ()) if s.metric == cell.metric]
    with_number = {sample.invocation_id for series in own for sample in series.samples}
    return samples.statuses.get(cell.number, {}).get("ok", 0) - len(with_number)

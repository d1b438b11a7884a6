"""The input of topics: the samples of an experiment and the answers that several topics share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from regatta.answers.spine.across import Across, across_platforms
from regatta.answers.spine.baseline import check_baseline
from regatta.answers.spine.cell_answers import cell_answers
from regatta.answers.spine.comparisons import (
    PairContrast,
    compare_pairs,
    contrasts_by_the_paper,
    contrasts_of,
    with_disturbed,
)
from regatta.answers.spine.facts import Facts
from regatta.answers.spine.families.compute import judge_families
from regatta.answers.spine.families.result import Family
from regatta.answers.spine.methods import REGATTA
from regatta.answers.spine.multiplicity import Adjusted, adjusted
from regatta.answers.spine.names import Names
from regatta.answers.spine.pairs import Pair, pairs_of
from regatta.answers.spine.platforms import Platform, impossible_by_platform, planned_platforms
from regatta.answers.spine.result import CellAnswer, Comparison
from regatta.answers.spine.samples import Samples, load_samples
from regatta.answers.spine.stops import Stops, read_stops
from regatta.answers.spine.verdicts import Verdicts, judge
from regatta.host.values.levels import CROSSED, Levels, compared_factors
from regatta.stats.intervals import GEORGES_2007
from regatta.stats.multiplicity import holm
from regatta.store.folder import Folder


@dataclass(frozen=True)
class Options:
    """Options of the answer; see `regatta.answers.report.answer.answer_experiment`."""

    baseline: Levels | None = None
    method: str = REGATTA
    random_hosts: bool = False
    anova_type: int = 2


@dataclass(frozen=True)
class Context:
    """An experiment as topics see it."""

    folder: Folder
    #: connection to the experiment's database, with the temporary tables of its samples; open while topics compute
    connection: duckdb.DuckDBPyConnection
    facts: Facts
    options: Options
    samples: Samples
    names: Names
    #: every series with its mean
    cells: Sequence[CellAnswer]
    #: the baseline of the options, or of the experiment
    baseline: Levels
    #: factors that are compared on each host
    compared: tuple[str, ...]
    #: factors whose levels are ranked together: the compared ones, and the crossings of the spec
    ranked: tuple[str, ...]
    #: every cell with its baseline
    pairs: Sequence[Pair]
    #: the ratio of each pair on logarithms, and by the method of the options
    ratios: Sequence[PairContrast]
    contrasts: Sequence[PairContrast]
    #: on each pair of series, from all comparisons and families that it belongs to
    verdicts: Verdicts
    comparisons: Sequence[Comparison]
    #: all levels of each ranked factor at each place, on one host
    families: Sequence[Family]
    #: block groups with a variable number of rounds
    stops: Stops
    platforms: tuple[Platform, ...]
    #: every cell on a platform with the baseline among the platforms, and p adjusted together with `comparisons` (Holm)
    across: Across
    across_p_holm: Sequence[float]
    #: impossible cells, as (cell, reason)
    impossible: tuple[tuple[str, str], ...]
    #: sentences about comparisons and families that are weaker than they look
    warnings: tuple[str, ...]


def make_context(
    experiment_dir: Path, connection: duckdb.DuckDBPyConnection, facts: Facts, options: Options
) -> Context:
    """Load the samples and compute the answers that all topics share.

    Raises:
        StoreError: a plan cannot be read.
        SpecError: the baseline of the options names something the experiment does not have.
    """
    folder = Folder(experiment_dir)
    samples = load_samples(connection, facts.steady)
    samples.set_apart(facts.canary)
    if options.baseline is not None:
        check_baseline(options.baseline, samples.cells)
    baseline = options.baseline or facts.baseline
    compared = compared_factors(facts.compare, baseline)
    ranked = (*compared, *(factor for factor in facts.compare if CROSSED in factor))
    names = Names(samples.cells)
    pairs, lacking = pairs_of(samples, baseline, compared)
    stops = read_stops(folder, samples)
    ratios = contrasts_of(pairs, facts.level, stops)
    by_the_paper = options.method == GEORGES_2007
    contrasts = contrasts_by_the_paper(pairs, facts.level) if by_the_paper else ratios
    # The paper adjusts for multiple comparisons by Tukey's intervals only.
    platforms = planned_platforms(folder, samples, facts)
    across = across_platforms(samples, platforms, facts.compare, baseline, facts.level)
    further = [one.difference.these.p for one in across.sides]
    extra = None if by_the_paper else adjusted(pairs, [one.contrast for one in contrasts], further)
    verdicts = _verdicts(pairs, contrasts, extra, facts.theta_percent)
    every = holm([*further, *(one.contrast.p for one in contrasts)])[: len(further)].tolist()
    families, unblocked = judge_families(
        samples, facts.level, names, options.method, ranked, facts.theta_percent, verdicts, stops.looks
    )
    shown = with_disturbed(pairs, contrasts, facts.level, by_the_paper)
    comparisons, apart = compare_pairs(pairs, shown, names, facts.theta_percent, extra, verdicts)
    return Context(
        folder=folder,
        connection=connection,
        facts=facts,
        options=options,
        samples=samples,
        names=names,
        cells=cell_answers(samples, facts, options.method),
        baseline=baseline,
        compared=compared,
        ranked=ranked,
        pairs=pairs,
        ratios=ratios,
        contrasts=contrasts,
        verdicts=verdicts,
        comparisons=comparisons,
        families=families,
        stops=stops,
        platforms=platforms,
        across=across,
        across_p_holm=[math.nan] * len(further) if by_the_paper else every,
        impossible=impossible_by_platform(facts.impossible, platforms),
        warnings=(*apart, *lacking, *unblocked),
    )


def _verdicts(
    pairs: Sequence[Pair],
    contrasts: Sequence[PairContrast],
    extra: Sequence[Adjusted] | None,
    theta_percent: float,
) -> Verdicts:
    """Return the verdicts of the comparisons with the baseline."""
    found = Verdicts()
    for place, (pair, one) in enumerate(zip(pairs, contrasts, strict=True)):
        p_holm = math.nan if extra is None else extra[place].p_holm
        if pair.keys is not None:
            found.add(*pair.keys, judge(one.contrast.interval, theta_percent, p_holm))
    return found

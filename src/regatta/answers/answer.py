"""From an experiment's folder to its answer."""

from __future__ import annotations

from pathlib import Path

from regatta.answers.baseline import asks_beyond_collectors, check_baseline
from regatta.answers.cell_answers import cell_answers
from regatta.answers.comparisons import compare_pairs, contrasts_by_the_paper, contrasts_of
from regatta.answers.coverage import coverage_words
from regatta.answers.facts import Facts, read_facts
from regatta.answers.headline import headline
from regatta.answers.methods import GEORGES_2007, REGATTA, check_method, method_words
from regatta.answers.names import Names
from regatta.answers.pairs import pairs_of
from regatta.answers.result import Answer
from regatta.answers.samples import load_samples
from regatta.answers.shortfalls import damaged_lines, shortfalls
from regatta.answers.topics.aa.compute import judge_gates
from regatta.answers.topics.chat.compute import judge_chat, why_uncounted
from regatta.answers.topics.chat.words import chat_words, first_words
from regatta.answers.topics.collectors.compute import judge_overheads
from regatta.answers.topics.collectors.words import collector_words
from regatta.answers.topics.dependence.compute import dependence_words, dependences
from regatta.answers.topics.effects.compute import effect_words, judge_effects
from regatta.answers.topics.families.compute import judge_families
from regatta.answers.topics.hosts.over_hosts import judge_hosts, planned_platforms
from regatta.answers.topics.hosts.platforms import impossible_by_platform, shortfalls_of_hosts
from regatta.answers.topics.hosts.words import host_words
from regatta.answers.topics.levels.compute import level_words, variance_by_level
from regatta.answers.topics.load.compute import judge_scaling, usable_cpus
from regatta.answers.topics.load.words import scaling_words
from regatta.answers.topics.memory.compute import memory_words
from regatta.answers.topics.outliers.compute import find_outliers, outlier_words
from regatta.answers.topics.replay.compute import judge_control
from regatta.answers.topics.scores.compute import find_references, judge_scores
from regatta.answers.topics.sleeps.compute import sleep_words
from regatta.answers.topics.steady.compute import judge_steadiness
from regatta.answers.topics.steady.words import steadiness_words, summary_words
from regatta.answers.topics.stopping.compute import judge_stops, read_stops, stop_words
from regatta.answers.topics.suites.compute import judge_suites
from regatta.host.values.experiment import Baseline
from regatta.store.database import Progress, open_database
from regatta.store.folder import Folder
from regatta.store.left_out import hosts_left_out


def answer_experiment(
    experiment_dir: Path,
    baseline: Baseline | None = None,
    progress: Progress | None = None,
    method: str = REGATTA,
    random_hosts: bool = False,
    anova_type: int = 2,
) -> Answer:
    """Answer an experiment from its records.

    Args:
        experiment_dir: `results/<experiment>`, planned, with or without records.
        baseline: what to compare with; None takes the experiment's own, and where that has none the first listed.
        progress: told about the making of the database (bytes read, bytes in all).
        method: `regatta`: ratios on logs, paired by block. `georges2007`: as in the paper, differences of means, unpaired.
        random_hosts: what is said over hosts is for hosts like these, not only for these.
        anova_type: of the sums of squares over all factors: 1, 2 or 3.

    Returns:
        Cells with their intervals, comparisons with the baseline, families of collectors, what suites and hosts say together,
        failures, and sentences. What cannot be estimated is NaN with a reason.

    Raises:
        StoreError: the folder holds no plan, or cannot be read or written.
        SpecError: `baseline` names what the experiment has not, or there is no such method.
    """
    check_method(method)
    facts = read_facts(experiment_dir)
    with open_database(experiment_dir, progress) as connection:
        samples = load_samples(connection, facts.steady)
        levels = variance_by_level(connection, samples, facts.steady)
        names = Names(samples.cells)
        cpus = usable_cpus(connection, facts)
        uncounted = why_uncounted(connection)
        damaged = damaged_lines(connection)
        steadiness = judge_steadiness(
            connection, samples, facts.steady, facts.level, facts.theta_percent, names
        )
    if baseline is not None:
        check_baseline(baseline, samples.cells)
    cells = cell_answers(samples, facts, method)
    pairs, lacking = pairs_of(samples, baseline or facts.baseline)
    stops = read_stops(experiment_dir, samples)
    ratios = contrasts_of(pairs, facts.level, stops.pilot_pairs)
    found = contrasts_by_the_paper(pairs, facts.level) if method == GEORGES_2007 else ratios
    # The paper adjusts for many comparisons by Tukey's intervals alone.
    comparisons, apart = compare_pairs(
        pairs, found, facts.level, names, facts.theta_percent, adjust=method != GEORGES_2007
    )
    suites = judge_suites(pairs, [r.contrast for r in ratios], facts.level, facts.theta_percent, names)
    scores = judge_scores(cells, find_references(cells), facts.level, len({c.host for c in cells}) > 1)
    families, unblocked = judge_families(samples, facts.level, names, method)
    gates = judge_gates(samples, facts.level)
    outliers = find_outliers(samples, baseline or facts.baseline, facts.level, names, stops.pilot_pairs)
    folder = Folder(experiment_dir)
    platforms = planned_platforms(folder, samples, facts)
    impossible = impossible_by_platform(facts.impossible, platforms)
    over_hosts = judge_hosts(samples, platforms, pairs, comparisons, families, facts, names, random_hosts)
    effects = judge_effects(samples, anova_type, facts.level, names)
    depending = dependences(cells, facts.level)
    overheads = judge_overheads(samples, facts.level, facts.seed)
    scaling = judge_scaling(samples, facts.level, facts.theta_percent, cpus, stops.pilot_pairs)
    chat = judge_chat(cells, uncounted, facts.level)
    stopped = judge_stops(stops, samples, facts.level, names)
    compilation = judge_control(families, facts.controlled, facts.steady.method)
    findings = {
        "What ran": coverage_words(cells, samples.failures, impossible),
        "The paper's own way": method_words(
            method, [f.contrast for f in found], [r.contrast for r in ratios]
        ),
        "Stopping": stop_words(stopped),
        "Over a suite": tuple(suite.words for suite in suites),
        "Scores": tuple(score.words for score in scores),
        "Hosts": host_words(over_hosts),
        "Startup and steady state": (
            *summary_words(samples.cells, names),
            *steadiness_words(steadiness, facts.steady),
        ),
        "Collectors": collector_words(overheads, samples, cells, names),
        "Load": scaling_words(scaling, facts.theta_percent),
        "Chat": chat_words(chat),
        "Memory": memory_words(cells, facts.hosts),
        "Sleeps": sleep_words(cells),
        "What explains how much": effect_words(effects),
        "Where the variance is": level_words(levels, names),
        "Outliers": outlier_words(outliers, names),
        "Order of the invocations": dependence_words(depending, facts.level),
        "Compilation control": tuple(one.words for one in compilation),
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
        impossible=impossible,
        warnings=(
            *_kept_minheaps(facts),
            *shortfalls_of_hosts(samples, platforms, hosts_left_out(folder)),
            *damaged,
            *shortfalls(samples, facts.steady),
            *apart,
            *lacking,
            *unblocked,
        ),
        planned=sum(cell.planned for cell in samples.measured_cells),
        recorded=samples.recorded,
        headline=tuple(
            headline(
                samples.cells,
                cells,
                [c for c in comparisons if c.a not in chat.cell_ids],
                families,
                names,
                over_hosts,
                (*findings["Scores"], *findings["Load"], *first_words(chat)),
                findings["What ran"],
                {point.cell_id for curve in scaling.curves for point in curve.points} | chat.cell_ids,
                asks_beyond_collectors(baseline or facts.baseline),
            )
        )
        if samples.recorded
        else (),
        findings={topic: sentences for topic, sentences in findings.items() if sentences},
        method=method,
        theta_percent=facts.theta_percent,
        suites=tuple(suites),
        scores=scores,
        over_hosts=over_hosts,
        effects=effects,
        levels=tuple(levels),
        overheads=overheads,
        scaling=scaling,
        chat=chat,
        stopping=stopped,
        steadiness=steadiness,
        compilation=compilation,
        gates=gates,
        outliers=outliers,
        dependences=depending,
    )


def _kept_minheaps(facts: Facts) -> list[str]:
    """A factor of a kept minheap is the same heap on every runtime, however little one of them needs."""
    return [
        f"heap factors of {suite} are multiples of the minheap of {source}, on every runtime"
        for suite, source in facts.minheaps_of.items()
    ]

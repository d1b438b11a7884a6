"""Answer an experiment from its folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regatta.answers.kit.headline import headline
from regatta.answers.kit.topic import together
from regatta.answers.report import registry
from regatta.answers.spine.context import Context, Options, make_context
from regatta.answers.spine.doubtful_values import doubtful_values
from regatta.answers.spine.facts import Facts, read_facts
from regatta.answers.spine.methods import REGATTA, check_method
from regatta.answers.spine.platforms import shortfalls_of_hosts
from regatta.answers.spine.result import Answer
from regatta.answers.spine.shortfalls import damaged_lines, shortfalls
from regatta.host.values.levels import Levels
from regatta.store.database import Progress, open_database
from regatta.store.receipts import hosts_left_out


def answer_experiment(
    experiment_dir: Path,
    baseline: Levels | None = None,
    progress: Progress | None = None,
    method: str = REGATTA,
    random_hosts: bool = False,
    anova_type: int = 2,
    slow: bool = True,
) -> Answer:
    """Answer an experiment from its records.

    Args:
        experiment_dir: `results/<experiment>`, planned, with or without records.
        baseline: the configuration to compare with; None: the baseline of the experiment, or else the first listed.
        progress: called while the database is built, with (bytes read, total bytes).
        method: `regatta`: ratios of logarithms, paired by block. `georges2007`: unpaired differences of means, as in the
            paper.
        random_hosts: treat the hosts as a random sample, so that results over hosts apply to similar hosts.
        anova_type: type of the sums of squares over all factors: 1, 2 or 3.
        slow: whether to compute topics that take long; the first screen has none of them.

    Returns:
        Cells with their intervals, comparisons with the baseline, families of collectors, failures, and the result and
        sentences of every topic. An undefined estimate is NaN with a reason.

    Raises:
        StoreError: the folder has no plan, or cannot be read or written.
        SpecError: `baseline` names something that the experiment does not have, or the method is unknown.
    """
    check_method(method)
    facts = read_facts(experiment_dir)
    with open_database(experiment_dir, progress) as connection:
        context = make_context(
            experiment_dir, connection, facts, Options(baseline, method, random_hosts, anova_type)
        )
        topics = {
            topic.key: topic.empty
            if topic.compute is None or (topic.slow and not slow)
            else topic.compute(context)
            for topic in registry.TOPICS
        }
        findings = {
            topic.key: tuple(words.of(topics[topic.key], context))
            for topic, words in registry.in_order(lambda topic: topic.words)
        }
        return Answer(
            experiment=facts.name,
            question=facts.question,
            seed=facts.seed,
            order=facts.order,
            level=facts.level,
            hosts=facts.hosts,
            runtimes=facts.runtimes,
            cells=tuple(context.cells),
            comparisons=tuple(context.comparisons),
            families=tuple(context.families),
            failures=tuple(context.samples.failures),
            impossible=context.impossible,
            platforms={host: one.name for one in context.platforms for host in one.hosts},
            warnings=_warnings(context),
            planned=sum(cell.planned for cell in context.samples.measured_cells),
            recorded=context.samples.recorded,
            statuses=sum(map(Counter, context.samples.statuses.values()), Counter()),
            headline=_headline(context, topics),
            method=method,
            theta_percent=facts.theta_percent,
            findings={key: sentences for key, sentences in findings.items() if sentences},
            topics=topics,
        )


def _warnings(context: Context) -> tuple[str, ...]:
    samples, facts = context.samples, context.facts
    return (
        *doubtful_values(samples, context.names, facts.theta_percent),
        *_kept_minheaps(facts),
        *shortfalls_of_hosts(samples, context.platforms, hosts_left_out(context.folder)),
        *damaged_lines(context.connection),
        *shortfalls(samples, facts.steady, context.connection),
        *context.warnings,
    )


def _headline(context: Context, topics: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the first sentences: from the topic that replaces the headline, else from cells, comparisons and families."""
    if not context.samples.recorded:
        return ()
    lead = together(
        topic.lead(topics[topic.key], context) for topic in registry.TOPICS if topic.lead is not None
    )
    for topic in registry.TOPICS:
        whole = None if topic.headline is None else topic.headline(topics[topic.key], context, lead)
        if whole is not None:
            return tuple(whole)
    return tuple(headline(context, lead))


def _kept_minheaps(facts: Facts) -> list[str]:
    """Warn that a factor of a kept minheap is the same heap on every runtime, even one that needs less."""
    return [
        f"heap factors of {suite} are multiples of the minheap of {source}, on every runtime"
        for suite, source in facts.minheaps_of.items()
    ]

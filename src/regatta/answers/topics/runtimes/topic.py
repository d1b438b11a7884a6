"""The topic of runtimes: each one relative to the first, for the dashboards, regardless of the baseline of the experiment."""

from __future__ import annotations

from regatta.answers.kit.topic import Topic
from regatta.answers.spine.comparisons import compare_pairs, contrasts_by_the_paper, contrasts_of
from regatta.answers.spine.context import Context
from regatta.answers.spine.multiplicity import adjusted
from regatta.answers.spine.pairs import pairs_of
from regatta.answers.spine.result import Comparison
from regatta.stats.intervals import GEORGES_2007


def compare_runtimes(context: Context) -> tuple[Comparison, ...]:
    """Compare every runtime with the runtime of the baseline, or else with the first listed; the rest is equal.

    Returns:
        Comparisons of the cells' own metrics, in plan order; p is adjusted over all of them. Empty with one runtime.
    """
    runtimes = list(dict.fromkeys(cell.place.runtime for cell in context.samples.cells))
    if len(runtimes) < 2:
        return ()
    baseline = {"runtime": context.baseline.get("runtime", runtimes[0])}
    if baseline == context.baseline:
        return tuple(context.comparisons)
    facts, by_the_paper = context.facts, context.options.method == GEORGES_2007
    pairs, _ = pairs_of(context.samples, baseline)
    contrasts = (
        contrasts_by_the_paper(pairs, facts.level)
        if by_the_paper
        else contrasts_of(pairs, facts.level, context.stops)
    )
    extra = None if by_the_paper else adjusted(pairs, [one.contrast for one in contrasts])
    compared, _ = compare_pairs(pairs, contrasts, context.names, facts.theta_percent, extra, context.verdicts)
    return tuple(compared)


RUNTIMES: Topic[tuple[Comparison, ...]] = Topic(
    "runtimes", title="Runtimes", empty=(), compute=compare_runtimes
)

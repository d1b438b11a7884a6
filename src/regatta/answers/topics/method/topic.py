"""The topic of the method: how the paper's method differs from Regatta's."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.answers.kit.topic import Topic, Words
from regatta.answers.kit.view import View
from regatta.figures.section import Section
from regatta.stats.estimate import Contrast
from regatta.stats.intervals import GEORGES_2007


def method_words(method: str, paper: Sequence[Contrast], paired: Sequence[Contrast]) -> tuple[str, ...]:
    """Describe how the results of the paper's method differ from Regatta's, and in how many comparisons; else empty.

    Args:
        paper: all comparisons by the paper's method.
        paired: the same by Regatta's method.
    """
    if method != GEORGES_2007:
        return ()
    words = (
        f"method of Georges et al. 2007 ({GEORGES_2007}): means with Student's t, or the normal distribution from 30 invocations;"
        " two alternatives: difference of means relative to the baseline; more alternatives: one-way ANOVA and Tukey."
        " Unlike the method `regatta`, it uses no blocks, no logarithms and no p adjusted over all comparisons"
    )
    both = [(a, b) for a, b in zip(paper, paired, strict=True) if not (math.isnan(a.p) or math.isnan(b.p))]
    if not both:
        return (words,)
    other = sum(_verdict(a) != _verdict(b) for a, b in both)
    return (words, f"conclusions that differ from ratios paired by block: {other} of {len(both)}")


def _verdict(contrast: Contrast) -> int:
    """Return -1, 0 or 1: significantly below, no significant difference, significantly above."""
    return int(contrast.interval.low > 1.0) - int(contrast.interval.high < 1.0)


def _section(sentences: Sequence[str], view: View) -> Section | None:
    return Section("method") if sentences else None


METHOD: Topic[tuple[str, ...]] = Topic(
    "method",
    title="Method of Georges et al. (2007)",
    empty=(),
    compute=lambda context: method_words(
        context.options.method,
        [one.contrast for one in context.contrasts],
        [one.contrast for one in context.ratios],
    ),
    words=Words(20, "The paper's own way", lambda sentences, _: sentences),
    section=_section,
)

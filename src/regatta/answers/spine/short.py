"""Show the comparisons of an answer in few columns: for the first screen, and during an experiment."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.answers.spine.result import Answer, Comparison
from regatta.figures.section import Table
from regatta.figures.text import show_ci, show_heap, show_p, show_percent, show_ratio, show_significance
from regatta.host.values.levels import ALWAYS, parameters_in

#: in place of the level of a factor in which the alternatives differ
_COMPARED = "(compared)"
_PLACES = ("host", "benchmark", "parameters", "heap", "metric", "comparison", "configuration")
#: better direction -> how to read a ratio
_BETTER = {"lower": "A ratio below 1 is better.", "higher": "A ratio above 1 is better."}
_OF_ROWS = "Each CI is for its ratio alone."
_ADJUSTED = "adj. p accounts for all comparisons."
#: if a conclusion is about more than two alternatives
_OF_CONCLUSIONS = "Intervals in the conclusions hold for all pairs of a conclusion at once, and are wider."


def short_comparisons(comparisons: Sequence[Comparison], level: float, judged: bool) -> Table:
    """Return ratios with their intervals, one row per comparison.

    A place that all comparisons share (host, benchmark, heap, metric) is in the title instead of a column.

    Args:
        comparisons: at least one.
        level: confidence of the intervals, between 0 and 1.
        judged: whether to show adjusted p and significance, which are valid for a finished experiment only.
    """
    # The factors that the spec compares beyond the usual ones are the question.
    comparisons = sorted(comparisons, key=lambda one: (set(one.factors) <= set(ALWAYS), one.factors))
    places = [(*_place(one), *_pair(one)) for one in comparisons]
    varies = [len({place[at] for place in places}) > 1 for at in range(len(_PLACES))]
    # The alternatives of a row are never part of the title.
    varies[_PLACES.index("comparison")] = True
    shared = [text for text, varied in zip(places[0], varies, strict=True) if text and not varied]
    columns = [name for name, varied in zip(_PLACES, varies, strict=True) if varied]
    numbers = ["ratio", f"{show_percent(level)} CI", *(("adj. p", "practical") if judged else ("n",))]
    rows = []
    for one, place in zip(comparisons, places, strict=True):
        judgement = (
            (show_p(one.p_holm), show_significance(one.verdict.practical)) if judged else (str(one.ratio.n),)
        )
        own = (text for text, varied in zip(place, varies, strict=True) if varied)
        rows.append((*own, show_ratio(one.ratio.point), show_ci(one.ratio), *judgement))
    first = len(columns)
    return Table(", ".join(shared), (*columns, *numbers), rows, frozenset(range(first, first + 3)))


def judged_title(answer: Answer, table: Table) -> str:
    """Return the title of a table of `short_comparisons`: the criterion of practical significance, and the place that all rows share."""
    alpha = f"{1 - answer.level:.3g}"
    title = f"Comparisons (practical: adj. p < {alpha} and interval beyond ±{answer.theta_percent:g} %)"
    return f"{title}: {table.title}" if table.title else title


def legend_of(answer: Answer) -> list[str]:
    """Explain the ratios, intervals and p values of the table, in one or two lines."""
    compared = {cell_id for one in answer.comparisons for cell_id in (one.a, one.b)}
    directions = {cell.better for cell in answer.cells if cell.cell_id in compared}
    better = [_BETTER[direction] for direction in directions if len(directions) == 1]
    adjusted = [_ADJUSTED] if any(math.isfinite(one.p_holm) for one in answer.comparisons) else []
    several = any(
        len(family.pairs) > 1 and not math.isnan(pair.ratio.low)
        for family in answer.families
        for pair in family.pairs
    )
    return [" ".join([*better, _OF_ROWS, *adjusted]), *([_OF_CONCLUSIONS] if several else [])]


def _place(one: Comparison) -> tuple[str, ...]:
    # A benchmark with parameters of the spec has the label `suite/name:size parameter=value`.
    benchmark, *chosen = one.place.benchmark.split(" ")
    own = [text for name, value in one.parameters.items() if (text := f"{name}={value}") not in chosen]
    hidden = tuple(f"{name}=" for name in parameters_in(one.factors))
    parameters = " ".join(text for text in (*chosen, *own) if not text.startswith(hidden))
    heap = _COMPARED if "heap" in one.factors else show_heap(one.place.heap)
    benchmark = _COMPARED if "benchmark" in one.factors else benchmark
    return one.place.host, benchmark, parameters or _COMPARED * bool(hidden), heap, one.metric


def _pair(one: Comparison) -> tuple[str, str]:
    """Return both names without shared words, and the shared words."""
    a, b = one.a_name.split(" "), one.b_name.split(" ")
    shared = [word for word in a if word in b]
    own = [" ".join(word for word in words if word not in shared) for words in (a, b)]
    if not all(own):
        return f"{one.a_name} / {one.b_name}", ""
    return " / ".join(own), " ".join(shared)

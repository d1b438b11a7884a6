"""The comparisons of an answer in as few columns as possible: for the first screen, and while an experiment runs."""

from __future__ import annotations

from collections.abc import Sequence

from regatta.answers.result import Comparison
from regatta.figures.section import Table
from regatta.figures.text import parameters_text, show_ends, show_heap, show_p, show_percent, show_ratio

_PLACES = ("host", "benchmark", "heap", "metric")


def short_comparisons(comparisons: Sequence[Comparison], level: float, judged: bool) -> Table:
    """Ratios with their intervals, one row per comparison.

    A place that all comparisons share (host, benchmark, heap, metric) stands in the title instead of a column.

    Args:
        comparisons: at least one.
        level: of the intervals, between 0 and 1.
        judged: whether to show the adjusted p and the practical significance, which hold for a finished experiment only.
    """
    places = [_place(one) for one in comparisons]
    varies = [len({place[at] for place in places}) > 1 for at in range(len(_PLACES))]
    shared = [places[0][at] for at in range(len(_PLACES)) if not varies[at] and places[0][at]]
    columns = [name for at, name in enumerate(_PLACES) if varies[at]]
    numbers = ["ratio", f"{show_percent(level)} CI", "n"]
    if judged:
        numbers[2:] = ["adj. p", "significant"]
    rows = []
    for one, place in zip(comparisons, places, strict=True):
        values = [show_ratio(one.ratio.point), show_ends(one.ratio), str(one.ratio.n)]
        if judged:
            values[2:] = [show_p(one.p_holm), one.practical]
        rows.append((*(text for at, text in enumerate(place) if varies[at]), _pair(one), *values))
    first = len(columns) + 1
    numeric = frozenset(range(first, first + 3))
    return Table(", ".join(shared), (*columns, "comparison", *numbers), rows, numeric)


def _place(one: Comparison) -> tuple[str, ...]:
    given = parameters_text(one.parameters)
    metric = f"{one.metric}, {given}" if given else one.metric
    return one.place.host, one.place.benchmark, show_heap(one.place.heap), metric


def _pair(one: Comparison) -> str:
    """Both names; words that they share are said once."""
    a, b = one.a_name.split(" "), one.b_name.split(" ")
    shared = [word for word in a if word in b]
    own = [" ".join(word for word in words if word not in shared) for words in (a, b)]
    if not shared or not all(own):
        return f"{one.a_name} / {one.b_name}"
    return f"{' / '.join(own)} ({' '.join(shared)})"

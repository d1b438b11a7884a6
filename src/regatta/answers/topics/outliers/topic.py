"""The topic of outliers: listed, kept, and their influence on every comparison."""

from __future__ import annotations

from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.topics.outliers.compute import Outliers, find_outliers, outlier_words
from regatta.figures.section import Section, Table
from regatta.figures.text import show_ci, show_interval, show_quantity, show_ratio

_FAR_OUT = ("cell", "invocation", "metric", "value", "value / median", "host")
_OTHERWISE = ("comparison", "ratio", "without outliers", "with perturbed", "same conclusion", "host")


def outliers_section(outliers: Outliers, view: View) -> Section | None:
    """Explain how to read them; None without outliers and perturbed values."""
    if not outliers.far_out and not outliers.comparisons:
        return None
    return Section(
        "outliers",
        words="Outliers are values beyond Tukey's outer fences. They are included in all estimates; perturbed invocations are "
        "excluded, except from disturbed estimates. The sensitivity table shows each ratio without outliers and with perturbed invocations.",
    )


def outliers_tables(outliers: Outliers, view: View) -> list[Table]:
    """Return the outliers, and the comparisons with and without them."""
    far = [
        (
            one.cell,
            one.invocation_id,
            one.metric,
            show_quantity(one.value, one.unit, 4),
            show_ratio(one.times_median),
            view.host(one.host),
        )
        for one in outliers.far_out
    ]
    otherwise = [
        (
            one.place,
            *(
                show_interval(ratio) if show_ci(ratio) else ratio.reason
                for ratio in (one.ratio, one.without_far_out, one.with_perturbed)
            ),
            "no" if one.changes else "yes",
            view.host(one.host),
        )
        for one in outliers.comparisons
    ]
    return [
        Table("Outliers", _FAR_OUT, far, frozenset({3, 4})),
        Table("Sensitivity of ratios", _OTHERWISE, otherwise),
    ]


OUTLIERS: Topic[Outliers] = Topic(
    "outliers",
    title="Outliers",
    empty=Outliers(),
    compute=find_outliers,
    words=Words(150, "Outliers", lambda outliers, context: outlier_words(outliers, context.names)),
    document=Document(130, "outliers"),
    section=outliers_section,
    tables=outliers_tables,
)

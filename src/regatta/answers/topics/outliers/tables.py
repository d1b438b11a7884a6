"""The tables of `regatta analyze --outliers`: what lies far out, and what each comparison would say otherwise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from regatta.host.printable import printable
from regatta.host.units import display_scale

if TYPE_CHECKING:
    from rich.console import Console

    from regatta.answers.topics.outliers.result import Outliers
    from regatta.stats.estimate import Interval


def show_outliers(console: Console, outliers: Outliers) -> None:
    """Print both tables, or that there is nothing to show."""
    from rich.table import Table
    from rich.text import Text

    console.print()
    if not outliers.far_out and not outliers.comparisons:
        console.print("Nothing lies far out, and nothing was perturbed.")
        return
    found = Table(title="far from the rest of their cell (in all estimates)", title_justify="left")
    for column in ("host", "cell", "invocation", "metric", "value", "x median"):
        found.add_column(column, overflow="fold")
    for one in outliers.far_out:
        factor, unit = display_scale(one.value, one.unit)
        texts = (
            one.host, one.cell, one.invocation_id, one.metric,
            f"{one.value * factor:.4g} {unit}", f"{one.times_median:.3f}",
        )  # fmt: skip
        found.add_row(*(Text(printable(text)) for text in texts))
    console.print(found)
    other = Table(title="ratios as they are, and otherwise", title_justify="left")
    for column in ("comparison", "as it is", "without far out", "with perturbed", "changes"):
        other.add_column(column, overflow="fold")
    for row in outliers.comparisons:
        shown = (row.ratio, row.without_far_out, row.with_perturbed)
        other.add_row(
            Text(printable(row.place)), *(_ratio(ratio) for ratio in shown), "yes" if row.changes else "no"
        )
    console.print(other)


def _ratio(ratio: Interval) -> str:
    if math.isnan(ratio.low):
        return ratio.reason
    return f"{ratio.point:.4f} ({ratio.low:.4f} to {ratio.high:.4f})"

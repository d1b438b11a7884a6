"""The table of an analysis of variance of several factors, for pages and terminals."""

from __future__ import annotations

import math

from regatta.figures.section import Table
from regatta.figures.text import show_df, show_number, show_p
from regatta.stats.strata import StrataAnova

_COLUMNS = ("source", "stratum", "df", "SS", "F", "approximate df", "p", "partial η²", "partial ω²", "note")


def anova_table(title: str, found: StrataAnova, reason: str = "") -> Table:
    """Return one row per factor and interaction, then the error of each stratum.

    Args:
        reason: why it is undefined, shown at its errors.
    """
    rows: list[tuple[str, ...]] = [
        (
            row.source,
            row.stratum,
            str(row.df) if math.isnan(row.f) else show_dfs(row.df, row.df_error),
            show_number(row.ss, 4),
            show_number(row.f, 4),
            "" if math.isnan(row.f) else show_dfs(row.df_approx, row.df_error_approx),
            show_p(row.p),
            show_number(row.eta2_partial, 3),
            show_number(row.omega2_partial, 3),
            row.reason or row.note,
        )
        for row in found.rows
    ]
    rows += [
        ("error", one.name, str(one.df_error), show_number(one.ss_error, 4), "", "", "", "", "", reason)
        for one in found.strata
    ]
    return Table(title, _COLUMNS, rows, frozenset(range(2, 9)))


def show_dfs(between: float, error: float) -> str:
    """Format both degrees of freedom of an F: `2, 17.9`."""
    return f"{show_df(between)}, {show_df(error)}"

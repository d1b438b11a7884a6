"""How many series an experiment would have in InfluxDB: told with its plan, and refused where there is a limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from regatta.host.errors import Problem, SpecError

if TYPE_CHECKING:
    from rich.console import Console

    from regatta.cli.options import Ready
    from regatta.host.values.cell import Cell


def series_of(ready: Ready, cells: Sequence[Cell]) -> dict[str, Any]:
    """The estimate, and the limit of the InfluxDB that is configured (null: none is).

    Raises:
        SpecError: there are more than the limit, or the settings are wrong.
    """
    from regatta.influx.series import estimate_series, measured_series
    from regatta.influx.settings import find_settings

    estimate = estimate_series(cells, measured_series(ready.folder))
    settings = find_settings(ready.home)
    if settings is not None and estimate.series > settings.series_limit:
        raise SpecError(
            [
                Problem(
                    settings.where("series_limit"), f"at most {settings.series_limit} series",
                    f"about {estimate.series} of {len(cells)} cells on {len(ready.hosts)} hosts",
                    "every series costs InfluxDB memory for ever: plan fewer cells in one experiment, or raise the limit",
                )
            ]
        )  # fmt: skip
    return {
        "estimate": estimate.series,
        "known_cells": estimate.known_cells,
        "limit": None if settings is None else settings.series_limit,
    }


def show_series(console: Console, series: dict[str, Any]) -> None:
    """Say it in a line."""
    limit = "" if series["limit"] is None else f" of the {series['limit']:,} that the settings allow"
    console.print(f"about {series['estimate']:,} series in InfluxDB{limit}", markup=False)

"""Experiments of several days, of which one collector becomes slower."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from helpers.synthetic_journal import START_NS, cell, record, write_experiment

CELLS = [cell("serial"), cell("g1")]
ROUNDS = 8
DAY_NS = 86_400 * 10**9


def write_day(
    directory: Path,
    day: int,
    levels: tuple[float, float] = (1.0, 1.0),
    cells: list[dict[str, Any]] = CELLS,
    **facts: Any,
) -> Path:
    """Write the experiment of a day. `levels`: the time of each cell in s."""
    rng = np.random.default_rng(100 + day)
    records = [
        record(
            one, r, [float(1e9 * levels[i] * np.exp(rng.normal(0, 0.01)))], position=i,
            started=START_NS + day * DAY_NS + (10 * r + i) * 10**9,
        )
        for r in range(ROUNDS)
        for i, one in enumerate(cells)
    ]  # fmt: skip
    return write_experiment(directory, cells, records, ROUNDS, **{"method": "fixed", **facts})


def write_week(folder: Path) -> list[Path]:
    """Write seven days, of which g1 is 20 % slower from the fifth on."""
    return [
        write_day(folder / f"day-{day}", day, (1.0, 1.2 if day >= 4 else 1.0), labels={"commit": f"c{day}"})
        for day in range(7)
    ]

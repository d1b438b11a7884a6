"""The input of the runner's stopping rule: the rule with its numbers, and the compared pairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from regatta.host.journal.stopping import PER_CELL, WITHOUT_TARGET
from regatta.host.values.cell import Cell
from regatta.host.values.digest import digest_of
from regatta.host.values.experiment import Experiment, Stopping
from regatta.host.values.levels import Levels, baseline_pairs, levels_of_cell

#: An alternative and its counterpart, by index into the cells of the plan; None: it is alone in its group.
IndexPair = tuple[int, int | None]


def stopping_header(
    experiment: Experiment, cells: Sequence[Cell], group_sizes: Sequence[int]
) -> dict[str, Any] | None:
    """Return `stopping` of `plan.json`; None if the number of rounds is fixed.

    Args:
        experiment: with its rule.
        cells: in the order of their block groups.
        group_sizes: number of cells of each group.
    """
    stopping = experiment.stopping
    if stopping is None:
        return None
    quantiles = (
        {} if stopping.rule in WITHOUT_TARGET else {"t": t_quantiles(experiment.level, stopping.maximum - 1)}
    )
    return {
        **_told(stopping),
        "level": experiment.level,
        **quantiles,
        "steady": vars(experiment.steady),
        "groups": block_groups(experiment, stopping, cells, group_sizes),
    }


def block_groups(
    experiment: Experiment, stopping: Stopping, cells: Sequence[Cell], group_sizes: Sequence[int]
) -> list[dict[str, Any]]:
    """Return each block group, or with `javastats-cell` each cell: its `cells` and `pairs` by index, and a `key` that hashes the inputs of a decision."""
    groups = []
    first = 0
    alone = stopping.rule == PER_CELL
    for size in [1] * len(cells) if alone else group_sizes:
        pairs = [(0, None)] if alone else compared_pairs(cells[first : first + size], experiment.baseline)
        members = range(first, first + size)
        placed = [(first + a, None if b is None else first + b) for a, b in pairs]
        identity = {
            "cells": sorted(cells[i].cell_id for i in members),
            "pairs": sorted(sorted(cells[i].cell_id for i in pair if i is not None) for pair in placed),
            "rule": _told(stopping),
            "level": experiment.level,
            "steady": vars(experiment.steady),
            "seed": experiment.seed,
        }
        # The mean is not named, so that existing decisions stay valid.
        if summaries := sorted({cells[i].benchmark.summary for i in members} - {"mean"}):
            identity["summary"] = " ".join(summaries)
        # A spec can change the metric of a benchmark without changing its cells. The usual one is not named, as above.
        if metrics := sorted({cells[i].benchmark.metric for i in members} - {"elapsed"}):
            identity["metric"] = " ".join(metrics)
        # They determine which rounds are the pilot. The usual number is not named, as above.
        if experiment.discarded is not None:
            identity["discarded"] = experiment.discarded
        groups.append(
            {"key": digest_of(identity), "cells": list(members), "pairs": [list(p) for p in placed]}
        )
        first += size
    return groups


def _told(stopping: Stopping) -> dict[str, Any]:
    """Return the rule without the parameters that it does not have."""
    return {name: value for name, value in vars(stopping).items() if value is not None}


def compared_pairs(group: Sequence[Cell], baseline: Levels) -> list[IndexPair]:
    """Return the compared pairs of a block group, by index.

    If the group has a cell that matches the baseline, each alternative is compared with it, as in the analysis. Otherwise all
    pairs of one metric are compared. The twin of an A/A test is compared with its original. Without any pair, cells are
    judged by their own means.
    """
    own = [i for i, cell in enumerate(group) if not cell.twin_of]
    levels = [levels_of_cell(group[i]) for i in own]
    with_baseline = baseline_pairs(levels, baseline, ())[0] if baseline else []
    pairs: list[IndexPair] = [(own[a], own[b]) for a, b in with_baseline] or list(combinations(own, 2))
    pairs = [(a, b) for a, b in pairs if b is None or _metric(group[a]) == _metric(group[b])]
    ids = {group[i].cell_id: i for i in own}
    pairs += [(i, ids[cell.twin_of]) for i, cell in enumerate(group) if cell.twin_of in ids]
    return pairs or [(i, None) for i in own]


def _metric(cell: Cell) -> tuple[str, str]:
    return cell.benchmark.metric, cell.benchmark.better


def t_quantiles(level: float, df: int) -> list[float]:
    """Return two-sided quantiles of Student's t for 1 to `df` degrees of freedom, because the runner cannot compute them."""
    from scipy.special import stdtrit

    return [float(t) for t in stdtrit(np.arange(1, df + 1), 0.5 + level / 2)]

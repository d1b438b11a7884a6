"""The input of the runner's stopping rule: the rule with its numbers, and the compared pairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from regatta.host.values.cell import Cell
from regatta.host.values.digest import digest_of
from regatta.host.values.experiment import Baseline, Experiment, Stopping

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
    return {
        **vars(stopping),
        "level": experiment.level,
        "t": t_quantiles(experiment.level, stopping.maximum - 1),
        "steady": vars(experiment.steady),
        "groups": block_groups(experiment, stopping, cells, group_sizes),
    }


def block_groups(
    experiment: Experiment, stopping: Stopping, cells: Sequence[Cell], group_sizes: Sequence[int]
) -> list[dict[str, Any]]:
    """Return each block group: its `cells` and `pairs` by index, and a `key` that hashes the inputs of a decision."""
    groups = []
    first = 0
    for size in group_sizes:
        pairs = compared_pairs(cells[first : first + size], experiment.baseline)
        members = range(first, first + size)
        placed = [(first + a, None if b is None else first + b) for a, b in pairs]
        identity = {
            "cells": sorted(cells[i].cell_id for i in members),
            "pairs": sorted(sorted(cells[i].cell_id for i in pair if i is not None) for pair in placed),
            "rule": vars(stopping),
            "level": experiment.level,
            "steady": vars(experiment.steady),
            "seed": experiment.seed,
        }
        # The cells of a group are of one benchmark. The mean is not named, so that existing decisions stay valid.
        if (summary := cells[first].benchmark.summary) != "mean":
            identity["summary"] = summary
        groups.append(
            {"key": digest_of(identity), "cells": list(members), "pairs": [list(p) for p in placed]}
        )
        first += size
    return groups


def compared_pairs(group: Sequence[Cell], baseline: Baseline) -> list[IndexPair]:
    """Return the compared pairs of a block group, by index.

    If the group has a cell that matches the baseline, each alternative is compared with it, as in the analysis. Otherwise all
    pairs are compared. The twin of an A/A test is compared with its original. A single cell is judged by its own mean.
    """
    own = [i for i, cell in enumerate(group) if not cell.twin_of]
    pairs = _with_baseline([(i, group[i]) for i in own], baseline) or list(combinations(own, 2))
    ids = {group[i].cell_id: i for i in own}
    pairs += [(i, ids[cell.twin_of]) for i, cell in enumerate(group) if cell.twin_of in ids]
    return [*pairs] or [(own[0], None)]


def _with_baseline(group: Sequence[tuple[int, Cell]], baseline: Baseline) -> list[tuple[int, int]]:
    where = {(_heap(cell), (cell.runtime, cell.collector, cell.modifiers)): i for i, cell in group}
    pairs = []
    for i, cell in group:
        wanted = baseline.of(cell.runtime, cell.collector, cell.modifiers)
        found = None if wanted is None else where.get((_heap(cell), wanted))
        if found is not None and found != i:
            pairs.append((i, found))
    return pairs


def _heap(cell: Cell) -> float | None:
    return cell.heap_factor if cell.heap_factor is not None else cell.heap_mib


def t_quantiles(level: float, df: int) -> list[float]:
    """Return two-sided quantiles of Student's t for 1 to `df` degrees of freedom, because the runner cannot compute them."""
    from scipy.special import stdtrit

    return [float(t) for t in stdtrit(np.arange(1, df + 1), 0.5 + level / 2)]
